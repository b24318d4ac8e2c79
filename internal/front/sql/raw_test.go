package sqlfront

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// A raw is a connection on which a test speaks the protocol by hand.
type raw struct {
	t *testing.T
	net.Conn
	said []byte // all that has come, with the key of the session left out
	key  []byte // of the session
}

// startupPacket returns the packet that begins a session.
func startupPacket(pairs ...string) []byte {
	b := []byte{0, 0, 0, 0, 0, 3, 0, 0}
	for _, p := range pairs {
		b = append(append(b, p...), 0)
	}
	b = append(b, 0)
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	return b
}

// dialRaw opens a connection to where a URL leads.
func dialRaw(t *testing.T, text string) *raw {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(waittest.Deadline(time.Minute))
	return &raw{t: t, Conn: nc}
}

// logIn begins a session as the URL's user, whom the server trusts.
func logIn(t *testing.T, text string, pairs ...string) *raw {
	t.Helper()
	r := dialRaw(t, text)
	u, _ := url.Parse(text)
	pairs = append([]string{"user", u.User.Username(), "database", strings.TrimPrefix(u.Path, "/")}, pairs...)
	r.write(startupPacket(pairs...))
	r.until(1)
	return r
}

func (r *raw) write(p []byte) {
	r.t.Helper()
	if _, err := r.Write(p); err != nil {
		r.t.Fatal(err)
	}
}

// until reads up to so many ReadyForQuery.
func (r *raw) until(ready int) {
	r.t.Helper()
	for ready > 0 {
		kind, body, err := r.message()
		if err != nil {
			r.t.Fatalf("after %q: %v", tail(r.said), err)
		}
		r.note(kind, body)
		if kind == msgReady {
			ready--
		}
	}
}

// rest reads to the end.
func (r *raw) rest() []byte {
	for {
		kind, body, err := r.message()
		if err != nil {
			return r.said
		}
		r.note(kind, body)
	}
}

func (r *raw) note(kind byte, body []byte) {
	r.said = append(r.said, kind)
	if kind == msgKey {
		r.key = body
		body = make([]byte, len(body))
	}
	r.said = append(binary.BigEndian.AppendUint32(r.said, uint32(len(body))), body...)
}

func (r *raw) message() (kind byte, body []byte, err error) {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	_, err = io.ReadFull(r, body)
	return head[0], body, err
}

func tail(b []byte) []byte { return b[max(0, len(b)-200):] }

// msg makes a message of texts, which end with a zero, numbers of 16 and 32 bits, and bytes.
func msg(kind byte, parts ...any) []byte {
	b := []byte{kind, 0, 0, 0, 0}
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b = append(append(b, p...), 0)
		case int16:
			b = binary.BigEndian.AppendUint16(b, uint16(p))
		case int32:
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		case byte:
			b = append(b, p)
		case []byte:
			b = append(b, p...)
		default:
			panic(fmt.Sprintf("%T", p))
		}
	}
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-1))
	return b
}

// ask returns the messages that run a statement without parameters, whose values come in a
// format, up to its Sync.
func ask(sql string, format int16) []byte {
	return bytes.Join([][]byte{msg('P', "", sql, int16(0)),
		msg('B', "", "", int16(0), int16(0), int16(1), format), msg('D', byte('P'), ""),
		msg('E', "", int32(0)), msg('S')}, nil)
}
