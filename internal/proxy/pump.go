package proxy

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

const (
	flushSize  = 32 << 10 // of output that is worth a write
	directSize = 4 << 10  // of a body that is worth not being copied
	replaySize = 64 << 10 // of a request that is kept to be sent again
)

// A bodyKind is how a message says where its body ends.
type bodyKind uint8

const (
	bodyNone bodyKind = iota
	bodyLength
	bodyChunked
	bodyToEOF
)

// A pump moves one body from a socket to another as it arrives. Framing is
// followed byte by byte and written anew, so that what comes out is framed by
// us, whatever came in.
type pump struct {
	c      *client
	upload bool // from the client to the upstream

	from *socket
	in   *buffer
	to   *socket
	out  []byte // not written yet; begins with the head

	kind    bodyKind
	left    int64 // of bodyLength
	chunks  http1.Chunked
	framed  bool // the output is chunked
	done    bool // all of the body is in out, or written
	starved bool // what is in the buffer is part of something
	total   int64

	saving bool // of what was written, for another try
	saved  []byte
	ending atomic.Bool // the last of an upload is being written

	readErr, writeErr error
}

// begin prepares p for a message whose body is of a kind.
func (p *pump) begin(kind bodyKind, length int64) {
	p.kind, p.left, p.framed = kind, length, false
	p.chunks = http1.Chunked{Drop: !p.upload}
	p.done = kind == bodyNone || kind == bodyLength && length == 0
	p.total, p.starved, p.saving, p.saved = 0, false, false, p.saved[:0]
	p.readErr, p.writeErr = nil, nil
	p.ending.Store(false)
}

// gather appends what was read to the output, framed as it should be. Who could write it from
// where it is has done so: see run.
func (p *pump) gather() {
	p.starved = false
	for !p.done && p.in.size() > 0 && len(p.out) < flushSize {
		b := p.in.bytes()
		switch p.kind {
		case bodyLength:
			b = b[:min(int64(len(b)), p.left)]
			p.left -= int64(len(b))
			p.put(b)
			p.in.consume(len(b))
			if p.left == 0 {
				p.finish(nil)
			}
		case bodyToEOF:
			p.put(b)
			p.in.consume(len(b))
		default:
			if !p.gatherChunks(b) {
				return
			}
		}
	}
}

// gatherChunks is gather for the chunked coding. It reports false when there is
// nothing more to be had from b.
func (p *pump) gatherChunks(b []byte) bool {
	n, data, err := p.chunks.Next(b)
	if err != nil {
		p.readErr = err
		return false
	}
	p.put(data)
	if p.chunks.Done() {
		p.finish(p.chunks.Trailers)
	}
	p.in.consume(n)
	p.starved = n == 0
	return n > 0
}

// put appends data.
func (p *pump) put(data []byte) {
	if len(data) == 0 {
		return
	}
	p.total += int64(len(data))
	if !p.framed {
		p.out = append(p.out, data...)
		return
	}
	p.out = append(strconv.AppendInt(p.out, int64(len(data)), 16), "\r\n"...)
	p.out = append(append(p.out, data...), "\r\n"...)
}

// finish appends the end of the body.
func (p *pump) finish(trailers []byte) {
	p.done = true
	if p.framed {
		p.out = append(append(append(p.out, "0\r\n"...), trailers...), "\r\n"...)
	}
}

// flush writes the output.
func (p *pump) flush() bool {
	if len(p.out) == 0 {
		return true
	}
	p.save(p.out)
	p.c.beforeWrite(p.upload)
	_, p.writeErr = p.to.write(p.out)
	p.out = p.out[:0]
	return p.writeErr == nil
}

// save keeps what is being written for another try, while it is short.
func (p *pump) save(b []byte) {
	if !p.saving {
		return
	}
	if len(p.saved)+len(b) > replaySize {
		p.saving, p.saved = false, p.saved[:0]
		return
	}
	p.saved = append(p.saved, b...)
}

// run moves the rest of the body. It reports whether all went well; else
// readErr or writeErr says what did not.
func (p *pump) run() bool {
	for {
		if p.direct() {
			if !p.writeDirect() {
				return false
			}
			continue
		}
		p.gather()
		if p.readErr != nil {
			p.flush() // what was good so far has a right to arrive
			return false
		}
		switch {
		case p.done && p.upload:
			p.ending.Store(true)
		case p.done:
			p.c.bodyEnded()
		}
		if !p.flush() {
			return false
		}
		if p.done {
			return true
		}
		if !p.starved && p.in.size() > 0 {
			continue
		}
		if !p.fill() {
			return false
		}
	}
}

// fill reads once.
func (p *pump) fill() bool {
	p.c.beforeRead(p.upload)
	_, err := p.in.fill(p.from)
	p.c.afterRead(p.upload)
	switch {
	case err == nil:
		return true
	case errors.Is(err, io.EOF) && p.kind == bodyToEOF:
		p.finish(nil)
		return true
	case p.upload:
		err = clientError(err)
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	p.readErr = err
	return false
}

// clientError returns what an error of reading from the client says about the request.
// A deadline is ours: who has set it knows why.
func clientError(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errBodyEnded
	case errors.Is(err, os.ErrDeadlineExceeded):
		return err
	}
	return errClientGone
}

// direct reports whether what was read can be written from where it is: a
// middle part of a large body.
func (p *pump) direct() bool {
	return len(p.out) == 0 && !p.framed && p.in.size() >= directSize &&
		(p.kind == bodyToEOF || p.kind == bodyLength && p.left > int64(p.in.size()))
}

// writeDirect writes what was read.
func (p *pump) writeDirect() bool {
	b := p.in.bytes()
	p.save(b)
	p.c.beforeWrite(p.upload)
	_, p.writeErr = p.to.write(b)
	p.left -= int64(len(b))
	p.total += int64(len(b))
	p.in.consume(len(b))
	return p.writeErr == nil
}
