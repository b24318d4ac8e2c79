package sqlfront

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
	"github.com/hotrow/hotrow/internal/front"
)

// A plain is the socket of a leg without TLS. It waits for bytes without memory for them, so
// that idle sessions have none.
type plain struct {
	raw   syscall.RawConn // nil: there is none
	share *front.ClientShare

	// What a call of the functions below is about: a closure of its own would be garbage.
	in       *chunk
	n        int        // bytes in it
	inFailed unix.Errno // of a read
	reads    func(fd uintptr) bool

	out       []byte
	counted   int // bytes of it that are counted as not taken
	outFailed unix.Errno
	writes    func(fd uintptr) bool
}

// begin takes a socket, if it is one.
func (p *plain) begin(socket net.Conn, share *front.ClientShare) {
	sc, ok := socket.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	p.share, p.raw, p.reads, p.writes = share, raw, p.read, p.write
}

func (p *plain) ready() bool { return p.raw != nil }

// read is called when there may be bytes, and reports whether it is done.
func (p *plain) read(fd uintptr) bool {
	c := chunks.Get().(*chunk)
	for {
		p.n, p.inFailed = nonblock.Recv(int(fd), c[:])
		switch {
		case p.inFailed == unix.EINTR:
			continue
		case p.inFailed == 0 && p.n > 0:
			p.in = c
			return true
		}
		chunks.Put(c)
		return p.inFailed != unix.EAGAIN
	}
}

func (p *plain) receive() ([]byte, *chunk, error) {
	p.in, p.inFailed = nil, 0
	err := p.raw.Read(p.reads)
	c := p.in
	p.in = nil
	switch {
	case c != nil:
		return c[:p.n], c, nil
	case err != nil:
		return nil, nil, err
	case p.inFailed != 0:
		return nil, nil, os.NewSyscallError("recv", p.inFailed)
	}
	return nil, nil, io.EOF
}

// write is called when the socket may take bytes, and reports whether it is done.
func (p *plain) write(fd uintptr) bool {
	for len(p.out) > 0 {
		n, e := nonblock.Send(int(fd), p.out)
		switch {
		case e == unix.EAGAIN:
			p.share.Add(int64(len(p.out) - p.counted))
			p.counted = len(p.out)
			return false
		case e == unix.EINTR:
		case e != 0:
			p.outFailed = e
			return true
		}
		p.out = p.out[n:]
	}
	return true
}

func (p *plain) send(b []byte) error {
	p.out, p.outFailed = b, 0
	err := p.raw.Write(p.writes)
	p.out = nil
	if p.counted > 0 {
		p.share.Add(-int64(p.counted))
		p.counted = 0
	}
	if err == nil && p.outFailed != 0 {
		err = os.NewSyscallError("send", p.outFailed)
	}
	return err
}
