package sqlfront

import "encoding/binary"

// A message of PostgreSQL's protocol is a byte that says what it is, four bytes of its length,
// which counts them and not that byte, and its body.

// headSize is how many bytes stand in front of a body.
const headSize = 5

// Messages of clients.
const (
	msgBind      = 'B'
	msgClose     = 'C'
	msgCopyData  = 'd'
	msgCopyDone  = 'c'
	msgCopyFail  = 'f'
	msgDescribe  = 'D'
	msgExecute   = 'E'
	msgFlush     = 'H'
	msgFunction  = 'F'
	msgParse     = 'P'
	msgQuery     = 'Q'
	msgSync      = 'S'
	msgPassword  = 'p'
	msgTerminate = 'X'
)

// Messages of servers.
const (
	msgParsed         = '1'
	msgBound          = '2'
	msgClosed         = '3'
	msgParameters     = 't'
	msgAuthentication = 'R'
	msgKey            = 'K'
	msgError          = 'E'
	msgNotice         = 'N'
	msgNotification   = 'A'
	msgStatus         = 'S'
	msgRowDescription = 'T'
	msgDataRow        = 'D'
	msgComplete       = 'C'
	msgSuspended      = 's'
	msgNoData         = 'n'
	msgEmpty          = 'I'
	msgReady          = 'Z'
)

// A framer finds the messages in a stream that is cut anywhere. It changes and keeps nothing
// of the stream but the part of a body that somebody wants.
type framer struct {
	head   [headSize]byte
	have   int    // bytes of the head
	left   uint32 // bytes of the body that are to come
	body   []byte // what is wanted of it and has come, if it did not come in one piece
	wanted int    // bytes of the body
	broken bool   // what has come is no message: nothing that follows is one
}

// A listener is told of messages by a framer.
type listener interface {
	// want returns how many bytes of the body of a message are wanted.
	want(kind byte, size uint32) uint32
	// message tells of a message whose end has come. body is what is wanted of it, and valid
	// during the call only.
	message(kind byte, body []byte)
}

// feed takes the next bytes of the stream.
func (f *framer) feed(p []byte, to listener) {
	for len(p) > 0 && !f.broken {
		if f.have < headSize {
			n := copy(f.head[f.have:], p)
			f.have += n
			p = p[n:]
			if f.have < headSize {
				return
			}
			size := binary.BigEndian.Uint32(f.head[1:])
			if size < headSize-1 {
				f.broken = true
				return
			}
			f.left = size - (headSize - 1)
			f.wanted = int(min(to.want(f.head[0], f.left), f.left))
		}
		p = f.take(p, to)
	}
}

// one takes bytes of one message only, and returns how many: to its end, or all.
func (f *framer) one(p []byte, to listener) int {
	begin := len(p)
	if f.have < headSize {
		n := copy(f.head[f.have:], p)
		if f.have+n < headSize {
			f.feed(p[:n], to)
			return n
		}
		whole := binary.BigEndian.Uint32(f.head[1:])
		n += int(min(max(whole, headSize-1)-(headSize-1), uint32(begin-n)))
		f.feed(p[:n], to)
		return n
	}
	n := int(min(f.left, uint32(begin)))
	f.feed(p[:n], to)
	return n
}

// take takes bytes of the body, and tells of its end. It returns what is behind it.
func (f *framer) take(p []byte, to listener) []byte {
	n := min(uint32(len(p)), f.left)
	whole := n == f.left && len(f.body) == 0 // it is in one piece, so that nothing is copied
	body := p[:n]
	if whole {
		body = body[:f.wanted]
	} else if missing := f.wanted - len(f.body); missing > 0 {
		f.body = append(f.body, body[:min(len(body), missing)]...)
		body = f.body
	} else {
		body = f.body
	}
	if f.left -= n; f.left == 0 {
		f.have = 0
		to.message(f.head[0], body)
		f.body = nil
	}
	return p[n:]
}

// within reports whether the stream has ended within a message.
func (f *framer) within() bool { return f.have > 0 || f.broken }
