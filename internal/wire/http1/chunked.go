package http1

import "bytes"

// The limits of the chunked coding.
const (
	maxChunkLine = 256      // bytes of a size with its extensions
	maxChunkSize = 15       // hexadecimal digits, so that no sum overflows
	maxTrailers  = 16 << 10 // bytes of the trailer section
)

// A Chunked decodes the chunked transfer coding (RFC 9112 7.1) and takes nothing
// that two readers might read differently. The zero value is ready.
type Chunked struct {
	// Trailers are the lines of the trailer section, each with its CRLF, when
	// Done. They may point into the bytes of the last call.
	Trailers []byte

	// Drop leaves fields out of Trailers that no trailer section may have, as it is done of
	// responses. Without it they are an error.
	Drop bool

	state chunkState
	left  int64 // of the chunk's data
}

type chunkState uint8

const (
	chunkSize chunkState = iota
	chunkData
	chunkEnd // the CRLF behind the data
	chunkTrailers
	chunkDone
)

// Done reports whether the end of the body has been read.
func (c *Chunked) Done() bool { return c.state == chunkDone }

// Next consumes n bytes at the beginning of b, and returns the data among them.
// When n is 0 more is needed, unless Done. An error is a *HeadError, and is for
// ever.
func (c *Chunked) Next(b []byte) (n int, data []byte, err error) {
	for {
		rest := b[n:]
		switch c.state {
		case chunkSize:
			used, err := c.size(rest)
			if used == 0 {
				return n, nil, err
			}
			n += used
		case chunkData:
			take := int(min(c.left, int64(len(rest))))
			if c.left -= int64(take); c.left == 0 {
				c.state = chunkEnd
			}
			return n + take, rest[:take], nil
		case chunkEnd:
			switch {
			case len(rest) > 0 && rest[0] != '\r', len(rest) > 1 && rest[1] != '\n':
				return n, nil, errChunk
			case len(rest) < 2:
				return n, nil, nil
			}
			c.state = chunkSize
			n += 2
		case chunkTrailers:
			used, err := c.trailers(rest)
			return n + used, nil, err
		default:
			return n, nil, nil
		}
	}
}

// size reads the line in front of a chunk.
func (c *Chunked) size(b []byte) (int, error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		if len(b) > maxChunkLine || !canBeSize(b) {
			return 0, errChunk
		}
		return 0, nil
	}
	if end == 0 || end > maxChunkLine || b[end-1] != '\r' {
		return 0, errChunk
	}
	line := b[:end-1]
	digits := 0
	var size int64
	for digits < len(line) && isHex(line[digits]) {
		size = size<<4 | int64(unhex(line[digits]))
		digits++
	}
	// Blanks may stand before an extension (RFC 9112 7.1.1), and some old servers pad
	// the size with them. Who relays the chunk writes its size anew.
	rest := bytes.TrimLeft(line[digits:], " \t")
	if digits == 0 || digits > maxChunkSize ||
		len(rest) > 0 && rest[0] != ';' || hasControl(rest) {
		return 0, errChunk
	}
	c.left, c.state = size, chunkData
	if size == 0 {
		c.state = chunkTrailers
	}
	return end + 1, nil
}

// canBeSize refuses early what cannot become the line in front of a chunk.
func canBeSize(b []byte) bool {
	blank := false
	for i, c := range b {
		switch {
		case c == ';' && i > 0, c == '\r' && i > 0 && i == len(b)-1:
			return true
		case i > 0 && (c == ' ' || c == '\t'):
			blank = true
		case blank || !isHex(c) || i >= maxChunkSize:
			return false
		}
	}
	return true
}

// unhex returns the value of a hexadecimal digit.
func unhex(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	if c >= 'A' {
		return c - 'A' + 10
	}
	return c - '0'
}

// trailers reads the trailer section when all of it is there.
func (c *Chunked) trailers(b []byte) (int, error) {
	forbidden := false
	for at := 0; ; {
		length := bytes.IndexByte(b[at:], '\n')
		end := at + length
		switch {
		case length < 0 && len(b) > maxTrailers, end > maxTrailers:
			return 0, errTrailer
		case length < 0:
			return 0, nil
		case length == 0 || b[end-1] != '\r':
			return 0, errTrailer
		case length == 1:
			c.Trailers, c.state = b[:at], chunkDone
			if forbidden {
				c.Trailers = withoutForbidden(b[:at])
			}
			return end + 1, nil
		}
		line := b[at : end-1]
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 || !allToken(line[:colon]) || hasControl(line[colon+1:]) {
			return 0, errTrailer
		}
		if !MayTrail(line[:colon]) {
			if !c.Drop {
				return 0, errTrailer
			}
			forbidden = true
		}
		at = end + 1
	}
}

// withoutForbidden returns the lines of a trailer section that may be there, elsewhere.
func withoutForbidden(lines []byte) []byte {
	kept := make([]byte, 0, len(lines))
	for line := range bytes.Lines(lines) {
		if name, _, _ := bytes.Cut(line, []byte{':'}); MayTrail(name) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// MayTrail reports whether a field may be in a trailer section: it decides about no framing,
// no route and no connection (RFC 9110 6.5.1).
func MayTrail(name []byte) bool {
	return relayKind(name) == EndToEnd && !isName(name, "trailer")
}
