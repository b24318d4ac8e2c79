package sqlfront

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/hotrow/hotrow/internal/front"
)

// What a connection may begin with, in place of a version of the protocol.
const (
	codeCancel = 80877102
	codeTLS    = 80877103
	codeGSS    = 80877104
)

// leastStartup is the size of the shortest packet: its length and a code.
const leastStartup = 8

// tlsHello is the first byte of a handshake of TLS, which no startup packet has.
const tlsHello = 0x16

// errStartup says that a connection does not begin as one of PostgreSQL's protocol.
var errStartup = errors.New("the connection does not begin as PostgreSQL's protocol does")

// A startup is a packet that a connection begins with.
type startup struct {
	packet []byte // as it came
	code   uint32 // one of those above, or a version
}

// readStartup reads a packet, and no byte behind it.
func readStartup(r io.Reader) (startup, error) {
	head := make([]byte, leastStartup)
	if _, err := io.ReadFull(r, head); err != nil {
		return startup{}, err
	}
	size := binary.BigEndian.Uint32(head)
	s := startup{code: binary.BigEndian.Uint32(head[4:])}
	if size < leastStartup || size > front.SQLStartup {
		return s, errStartup
	}
	s.packet = make([]byte, size)
	n := copy(s.packet, head)
	_, err := io.ReadFull(r, s.packet[n:])
	return s, err
}

// asks reports whether the packet asks for something on the way to a session.
func (s *startup) asks() bool {
	return (s.code == codeTLS || s.code == codeGSS) && len(s.packet) == leastStartup
}

// parameter returns what the packet says of a parameter of the session.
func (s *startup) parameter(name string) string {
	rest := s.packet[leastStartup:]
	for {
		key, after, ok := bytes.Cut(rest, []byte{0})
		if !ok || len(key) == 0 {
			return ""
		}
		value, after, ok := bytes.Cut(after, []byte{0})
		if !ok {
			return ""
		}
		if string(key) == name {
			return string(value)
		}
		rest = after
	}
}

// cancelKey returns what a request to cancel says of the session: its process and its secret.
func (s *startup) cancelKey() string { return string(s.packet[leastStartup:]) }

// cancelPacket returns the request to cancel a session.
func cancelPacket(key []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(leastStartup+len(key)))
	return append(binary.BigEndian.AppendUint32(b, codeCancel), key...)
}
