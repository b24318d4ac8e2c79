package sqlfront

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
)

// heard collects what a framer tells.
type heard struct{ all []string }

func (h *heard) want(kind byte, size uint32) uint32 { return min(size, 8) }

func (h *heard) message(kind byte, body []byte) {
	h.all = append(h.all, fmt.Sprintf("%c%x", kind, body))
}

// FuzzFramer: wherever a stream is cut, the same messages are found in it, those that a plain
// reading of the whole finds.
func FuzzFramer(f *testing.F) {
	f.Add(ask("SELECT 1", 1), uint8(3))
	f.Add(append(msg('Q', "SELECT 'a long one'"), msg('Z', byte('I'))...), uint8(1))
	f.Add([]byte{'S', 0, 0, 0, 3, 'S', 0, 0, 0, 4}, uint8(2))
	f.Add([]byte{'d', 0xff, 0xff, 0xff, 0xff, 1, 2, 3}, uint8(5))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		var got heard
		var fr framer
		for rest := stream; len(rest) > 0; {
			n := min(int(step%17)+1, len(rest))
			fr.feed(rest[:n], &got)
			rest = rest[n:]
		}
		var want []string
		rest, broken := stream, false
		for len(rest) >= headSize && !broken {
			size := binary.BigEndian.Uint32(rest[1:])
			if broken = size < 4; broken || uint64(len(rest)) < uint64(size)+1 {
				break
			}
			body := rest[headSize : size+1]
			want = append(want, fmt.Sprintf("%c%x", rest[0], body[:min(len(body), 8)]))
			rest = rest[size+1:]
		}
		if fmt.Sprint(got.all) != fmt.Sprint(want) || fr.broken != broken || fr.within() != (len(rest) > 0) {
			t.Errorf("found %v (broken: %v, within: %v), want %v, %v, %d bytes more", got.all, fr.broken,
				fr.within(), want, broken, len(rest))
		}
	})
}

// FuzzStartup: a packet is refused or read whole, and not a byte behind it.
func FuzzStartup(f *testing.F) {
	f.Add(startupPacket("user", "u", "database", "d"))
	f.Add(cancelPacket([]byte("12345678")))
	f.Add([]byte{0, 0, 0, 8, 4, 210, 22, 47, 'Q'})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{0, 0, 0, 9, 0, 3, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		s, err := readStartup(r)
		if err != nil {
			return
		}
		if used := len(b) - r.Len(); used != len(s.packet) || !bytes.Equal(s.packet, b[:used]) {
			t.Errorf("%d bytes are used for a packet of %d", used, len(s.packet))
		}
		s.asks()
		s.parameter("user")
		s.cancelKey()
	})
}
