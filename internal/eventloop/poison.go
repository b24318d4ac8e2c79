package eventloop

import (
	"bytes"
	"hash/crc32"
	"slices"
)

// Each buffer has one owner at a time, and nobody else may look at it:
//
//	loop.in         the connection that is read, until its step is over; while a batch
//	                is served, each of its connections owns a part, until its turn is over
//	loop.out        the connection that steps, until flush has sent or copied it
//	loop.sealedIn   the connection whose TLS reads, within secure.pull
//	loop.sealedOut  the connection whose output is sealed, until that is sent or copied
//	loop.rubbish    nobody: it takes what is thrown away
//	conn.in, .out   the connection, until they are consumed, taken by the peer, or handed over
//	secure.fed      the connection, but the loop within pull
//	Borrowed.Unread     the messageConn, until Return; what Return is given is the event loop's
//	Step's in       the protocol during the call, which must not change it
//	Step's out      the event loop; the protocol may append to it during the call
//	Prefetch's in   the protocol during the call
//	Pass            the caller's: what the peer does not take is copied
//	Resume, Send    the caller's and the event loop's for good: neither may change the bytes
//	stream.buf      the stream's goroutine
//	streams.outputs the stream that has got one, until it is written
//
// Nothing else may be read into or kept. poisoned says that a buffer is filled with
// garbage as soon as its owner gives it up, so that a test finds who still looks at it.
var poisoned bool

// garbage is what a buffer holds that nobody owns. It is the beginning of nothing.
const garbage = 0xdb

// PoisonBuffers is for TestMain, of a package with a Protocol too: from now on the event loop
// fills each buffer with garbage when its owner gives it up, and panics when bytes were
// changed that must not be. It costs too much for a benchmark of whole connections.
func PoisonBuffers() { poisoned = true }

// release says that nobody may look at b any more, up to its capacity.
func release(b []byte) {
	if poisoned {
		poison(b)
	}
}

func poison(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = garbage
	}
}

// step calls the Step of the connection's protocol.
func step(c *Conn, in, out []byte) (n int, grown []byte, next Next) {
	if poisoned {
		return stepAlone(c, in, out)
	}
	return c.proto.Step(c, in, out)
}

// stepAlone is step with an input that is gone when Step returns, whoever keeps a part
// of it, and sees to it that Step appends and does nothing else to the output.
func stepAlone(c *Conn, in, out []byte) (n int, grown []byte, next Next) {
	was := slices.Clone(in)
	alone, before := slices.Clone(in), slices.Clone(out)
	n, grown, next = c.proto.Step(c, alone, out)
	if !bytes.Equal(alone, was) {
		panic("BUG: Step has changed its input")
	}
	poison(alone)
	if len(grown) < len(before) || !bytes.Equal(grown[:len(before)], before) {
		panic("BUG: Step has changed earlier output")
	}
	return n, grown, next
}

// owned returns what a messageConn has given back, which the event loop owns from now on.
func owned(b []byte) []byte {
	if !poisoned {
		return b
	}
	own := slices.Clone(b)
	poison(b[:len(b):len(b)]) // the rest of its array may be another's
	return own
}

// sum returns a checksum of what must not change on its way to who sends it.
func sum(b []byte) int {
	if !poisoned {
		return 0
	}
	return int(crc32.ChecksumIEEE(b))
}

// unchanged panics if b is not what was.
func unchanged(b []byte, was int) {
	if poisoned && sum(b) != was {
		panic("BUG: bytes were changed that were given to Resume or Send")
	}
}
