package h2_test

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/httpserve/h2"
)

// FuzzStep: whatever comes, in whichever pieces, the protocol neither panics nor takes more
// than there is, and what it sends is whole frames. Whether the connection ends does not
// depend on the pieces.
func FuzzStep(f *testing.F) {
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, p := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/hit/a"}} {
		_ = enc.WriteField(hpack.HeaderField{Name: p[0], Value: p[1]})
	}
	_ = fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 3})
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, EndStream: true,
		BlockFragment: block.Bytes()})
	f.Add(bytes.Clone(b.Bytes()))
	_ = fr.WritePing(false, [8]byte{})
	_ = fr.WriteWindowUpdate(1, 100)
	_ = fr.WritePriority(1, http2.PriorityParam{})
	_ = fr.WriteRSTStream(1, 0)
	_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0x82}})
	_ = fr.WriteContinuation(3, true, []byte{0x87, 0x84, 0x41, 1, 'a'})
	f.Add(bytes.Clone(b.Bytes()))
	_ = fr.WriteDataPadded(3, true, []byte("abc"), []byte{0, 0})
	f.Add(bytes.Clone(b.Bytes()))
	f.Fuzz(func(t *testing.T, in []byte) {
		in = append([]byte(http2.ClientPreface), in...)
		whole, wholeNext := steps(t, in, len(in))
		parts, partsNext := steps(t, in, 1)
		if wholeNext != partsNext {
			t.Errorf("at once: %q, %v\nbyte by byte: %q, %v", whole, wholeNext, parts, partsNext)
		}
		wantFrames(t, whole)
		wantFrames(t, parts)
	})
}

// wantFrames ends a test unless b is whole frames.
func wantFrames(t *testing.T, b []byte) {
	t.Helper()
	for len(b) > 0 {
		n := 9
		if len(b) >= 9 {
			n += int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		}
		if n > len(b) {
			t.Fatalf("a frame is cut off: %q", b)
		}
		b = b[n:]
	}
}

// steps gives in to the protocol, so many bytes more at a time.
func steps(t *testing.T, in []byte, more int) ([]byte, eventloop.Next) {
	p, c := h2.New(hits{}), eventloop.NewTestConn(nil)
	out := p.Open(c, nil)
	defer p.End(c)
	for from, to := 0, 0; to < len(in); {
		to = min(to+more, len(in))
		n, grown, next := p.Step(c, in[from:to], out)
		if n < 0 || n > to-from {
			t.Fatalf("%d bytes of %d were taken", n, to-from)
		}
		out = grown
		if from += n; next == eventloop.Close {
			return out, next
		}
	}
	return out, eventloop.More
}

// hits answers every request at once, for one that hands over or waits needs a server.
type hits struct{ words }

func (hits) Step(c *eventloop.Conn, in, out []byte) (int, []byte, eventloop.Next) {
	n, grown, next := words{}.Step(c, in, out)
	if next == eventloop.Parked || next == eventloop.HandOver {
		return len(in), append(out, "HTTP/1.1 404 \r\nContent-Length: 2\r\n\r\nno"...), eventloop.More
	}
	return n, grown, next
}
