// Package trace takes part in distributed traces: it reads W3C's traceparent, and sends spans
// to a collector of OpenTelemetry as OTLP over HTTP in its JSON form. Spans are recorded when
// they have ended, by whoever answered; nothing is held while they run.
//
// OpenTelemetry's own library does much more and makes the program 8 MB larger.
package trace

import (
	"encoding/hex"
	"math/rand/v2"
)

// A Context is a place in a trace: the span under which another begins.
type Context struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool // who came before records its spans
}

// lengths of a traceparent: version 00 has no more, later ones may go on after a dash.
const parentLength = 2 + 1 + 32 + 1 + 16 + 1 + 2

// Parse reads a traceparent (W3C Trace Context, level 1, section 3.2). ok is false for what
// is none: then a trace begins anew.
func Parse(traceparent string) (c Context, ok bool) {
	s := traceparent
	if len(s) < parentLength || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return Context{}, false
	}
	var version, flags [1]byte
	if !unhex(version[:], s[:2]) || !unhex(c.Trace[:], s[3:35]) || !unhex(c.Span[:], s[36:52]) ||
		!unhex(flags[:], s[53:55]) {
		return Context{}, false
	}
	switch {
	case version[0] == 0xff, version[0] == 0 && len(s) != parentLength,
		len(s) > parentLength && s[parentLength] != '-':
		return Context{}, false
	case c.Trace == [16]byte{}, c.Span == [8]byte{}:
		return Context{}, false
	}
	c.Sampled = flags[0]&1 != 0
	return c, true
}

// unhex reads lower-case hexadecimal digits, as traceparent has them.
func unhex(dst []byte, s string) bool {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'F' {
			return false
		}
	}
	n, err := hex.Decode(dst, []byte(s))
	return err == nil && n == len(dst)
}

// String returns c as a traceparent.
func (c Context) String() string {
	flags := "-00"
	if c.Sampled {
		flags = "-01"
	}
	return "00-" + hex.EncodeToString(c.Trace[:]) + "-" + hex.EncodeToString(c.Span[:]) + flags
}

// ID returns the trace's id, 32 hexadecimal digits.
func (c Context) ID() string { return hex.EncodeToString(c.Trace[:]) }

// newSpanID returns an id that is not zero.
func newSpanID() (id [8]byte) {
	for id == [8]byte{} {
		put(id[:], rand.Uint64())
	}
	return id
}

func newTraceID() (id [16]byte) {
	for id == [16]byte{} {
		put(id[:8], rand.Uint64())
		put(id[8:], rand.Uint64())
	}
	return id
}

func put(dst []byte, n uint64) {
	for i := range dst {
		dst[i] = byte(n >> (8 * i))
	}
}
