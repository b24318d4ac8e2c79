package http1

import "bytes"

// A RequestHead is the head of any request, for a relay: strict in what decides
// about framing and target, and free in all else. Its slices point into the
// bytes that were parsed.
type RequestHead struct {
	Message
	Method []byte
	// Target is what is asked for: it begins with "/", or is "*". That of
	// CONNECT is empty.
	Target []byte
	// Host is the authority of the request: of its target, else of its Host.
	Host []byte

	Absolute bool // the target had an authority
	Slashed  bool // Target lacks its leading "/": the target was "http://host?query"
	Connect  bool
	IsHead   bool // HEAD: the answer has no body
	Expect   bool // Expect: 100-continue
}

// Parse reads the head at the beginning of b into h, whatever h held before,
// and returns its length. It returns 0 without an error while the end of the
// head has not come. An error is a *HeadError.
func (h *RequestHead) Parse(b []byte) (int, error) {
	fields := h.Fields
	*h = RequestHead{}
	h.Fields = fields
	h.reset(b)
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return 0, unfinishedRelayLine(b)
	}
	if end > MaxRelayLine {
		return 0, errLongLine
	}
	if end == 0 || b[end-1] != '\r' {
		return 0, errLineEnd
	}
	if !h.requestLine(b[:end-1]) {
		return 0, errLine
	}
	n, err := h.scan(b, end+1)
	if n == 0 {
		return 0, err
	}
	return n, h.judge()
}

// unfinishedRelayLine refuses what cannot become a request line.
func unfinishedRelayLine(b []byte) error {
	if len(b) > MaxRelayLine {
		return errLongLine
	}
	for i, c := range b {
		switch {
		case c == ' ' && i > 0:
			return nil
		case !isToken[c] || i >= maxMethod:
			return errLine
		}
	}
	return nil
}

// judge draws the conclusions when the head has ended.
func (h *RequestHead) judge() error {
	if err := h.framing(); err != nil {
		return err
	}
	h.Expect = h.expects
	h.Upgrade = h.Upgrade && !h.HTTP10 // which has none (RFC 9110 7.8)
	if h.hosts == 0 && !h.HTTP10 || h.hosts > 0 && len(h.host) == 0 && !h.Connect {
		return errHost
	}
	if !h.Absolute && !h.Connect {
		h.Host = h.host
		return nil
	}
	if h.hosts > 0 && !bytes.EqualFold(h.Host, h.host) {
		return errAuthority
	}
	return nil
}

// requestLine reads "GET /path HTTP/1.1" without its end.
func (h *RequestHead) requestLine(line []byte) bool {
	const version = " HTTP/1.1"
	space := bytes.IndexByte(line, ' ')
	if space <= 0 || space > maxMethod || len(line) < space+2+len(version) {
		return false
	}
	h.Method = line[:space]
	if !allToken(h.Method) {
		return false
	}
	h.IsHead = string(h.Method) == "HEAD"
	h.Connect = string(h.Method) == "CONNECT"
	cut := len(line) - len(version)
	if string(line[cut:cut+8]) != version[:8] {
		return false
	}
	minor := line[len(line)-1]
	if !isDigit(minor) {
		return false
	}
	h.HTTP10 = minor == '0' // a later version of HTTP/1 is framed as HTTP/1.1 is
	return h.target(line[space+1 : cut])
}

// target reads the request target in any of its four forms (RFC 9112 3.2).
func (h *RequestHead) target(t []byte) bool {
	if len(t) == 0 || !allTarget(t) {
		return false
	}
	if h.Connect {
		h.Host = t
		return bytes.IndexByte(t, ':') > 0 && validHost(t)
	}
	if t[0] == '/' || string(t) == "*" && string(h.Method) == "OPTIONS" {
		h.Target = t
		return true
	}
	rest, ok := cutScheme(t)
	if !ok {
		return false
	}
	h.Absolute = true
	if i := bytes.IndexAny(rest, "/?"); i >= 0 {
		h.Target, rest = rest[i:], rest[:i]
	}
	h.Slashed = len(h.Target) == 0 || h.Target[0] != '/'
	h.Host = rest
	return len(rest) > 0 && validHost(rest)
}
