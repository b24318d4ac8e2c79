package row

import "unsafe"

// Alias returns b as a string without a copy. The string is good for as long
// as nobody writes to b: use it to look something up, and never keep it.
func Alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf returns s as bytes without a copy. Nobody may write to them.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// attachableOf returns the whole of a document that Attachable has returned: it is the first
// field of that.
func attachableOf(d *Document) *attachable { return (*attachable)(unsafe.Pointer(d)) }
