package row

import "unsafe"

// Alias returns b as a string without a copy. The string is good for as long
// as nobody writes to b: use it to look something up, and never keep it.
func Alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Place returns where the bytes of d are: two documents with one place are one. It is to be
// compared, not read.
func (d *Document) Place() *byte { return unsafe.StringData(d.text) }

// BytesOf returns s as bytes without a copy. Nobody may write to them.
func BytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
