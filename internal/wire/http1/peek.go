package http1

import "bytes"

// PeekTarget returns the target of the GET that b seems to begin with, or nil. It
// judges nothing: for whoever wants to prepare for what Parse will find.
func PeekTarget(b []byte) []byte {
	const get = "GET "
	if len(b) < len(get) || string(b[:len(get)]) != get {
		return nil
	}
	target := b[len(get):]
	return target[:max(bytes.IndexByte(target, ' '), 0)]
}
