package h2_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// alive ends a test unless the heap is soon no more than most bytes above before. What is
// garbage while it is looked at counts, too.
func alive(t *testing.T, before, most int64) {
	t.Helper()
	var more int64
	eventually(t, "what is alive is within its bound", func() bool {
		more = heap() - before
		return more <= most
	})
	t.Logf("%d KiB more alive", more>>10)
}

// fill writes what f gives until the server takes no more, ends the connection, or has
// taken most bytes.
func (p *peer) fill(most int, f func(i int) []byte) (taken int, ended bool) {
	for i := 0; taken < most; i++ {
		_ = p.nc.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := p.nc.Write(f(i))
		taken += n
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return taken, false
		case err != nil:
			return taken, true
		}
	}
	return taken, false
}

// frames returns what g writes.
func frames(g func(*http2.Framer)) []byte {
	var b bytes.Buffer
	g(http2.NewFramer(&b, nil))
	return b.Bytes()
}

// TestH2_PeersThatReadNothingAreBounded: nothing more is read from who does not read what it
// is told, whatever it sends.
func TestH2_PeersThatReadNothingAreBounded(t *testing.T) {
	const most = 64 << 20 // more than the system has room for
	for name, g := range map[string]func(f *http2.Framer, i int){
		"pings":    func(f *http2.Framer, _ int) { _ = f.WritePing(false, [8]byte{}) },
		"settings": func(f *http2.Framer, _ int) { _ = f.WriteSettings() },
		"malformed requests": func(f *http2.Framer, i int) { // each is answered by a reset
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), EndHeaders: true,
				EndStream: true, BlockFragment: []byte{0x82}})
		},
		"data of a stream that is reset": func(f *http2.Framer, i int) {
			if i == 0 {
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: []byte{0x82}})
			}
			_ = f.WriteData(1, false, []byte("x"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				before, p := heap(), s.dial(t)
				i := 0
				taken, _ := p.fill(most, func(int) []byte {
					return frames(func(f *http2.Framer) {
						for range 1000 {
							g(f, i)
							i++
						}
					})
				})
				if taken >= most {
					t.Errorf("%d bytes were read from who reads nothing", taken)
				}
				alive(t, before, 2<<20)
				s.dial(t).ping()
			})
		})
	}
}

// TestH2_HeaderBlocksAreBounded: the parts of one are not kept, and it ends the connection
// when it goes on and on; of fields that are too large or too many none is kept.
func TestH2_HeaderBlocksAreBounded(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		before, p := heap(), s.dial(t)
		part := bytes.Clone(p.fields("x", strings.Repeat("y", 16_000)))
		p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: part}))
		for range 10 {
			_ = p.WriteContinuation(1, false, part) // it may be over by now
		}
		if h := p.hear(1, false); h.goAway != http2.ErrCodeEnhanceYourCalm || !h.closed {
			t.Errorf("a block without an end: %+v", h)
		}
		alive(t, before, 1<<20)
		var open []*peer
		for range 20 {
			p := s.dial(t)
			p.ask(1, "GET", "/hit/a", true, "x", strings.Repeat("x", 9000), "y", strings.Repeat("y", 9000))
			if h := p.hear(1, true); h.status != "431" {
				t.Errorf("fields of 18,000 bytes: %+v", h)
			}
			open = append(open, p)
		}
		alive(t, before, int64(len(open))*(160<<10))
	})
}

// TestH2_UnreadBodiesAreBounded: of requests whose bodies their handlers do not read.
func TestH2_UnreadBodiesAreBounded(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		before, p := heap(), s.dial(t)
		ids := make([]uint32, 60)
		for i := range ids {
			ids[i] = uint32(2*i + 1)
			p.ask(ids[i], "POST", "/slow", false, "content-length", "70000") // more than a window
			<-s.entered
		}
		sent := 0
		for i := 0; sent+16<<10 <= 1<<20; i++ { // as much as a connection may
			p.must(p.WriteData(ids[i%len(ids)], false, make([]byte, 16<<10)))
			sent += 16 << 10
		}
		p.ping() // it has come
		// Of each stream also what net/http makes of it: two buffers of 4 KiB, and a request.
		alive(t, before, 3<<20+int64(len(ids))*(48<<10))
		p.must(p.WriteData(ids[0], false, []byte("x")))
		if h := p.hear(1<<30+1, false); h.goAway != http2.ErrCodeFlowControl || !h.closed {
			t.Errorf("a byte more: %+v", h)
		}
	})
}

// TestH2_SlowFramesAreCut: a peer has the time of a request's header for a frame's, not for
// each of its bytes.
func TestH2_SlowFramesAreCut(t *testing.T) {
	for form, c := range forms {
		c.Header = time.Second
		s := open(t, c)
		p := s.dial(t)
		p.ping()
		block := bytes.Clone(p.fields(":method", "GET", ":scheme", "https", ":authority", "localhost",
			":path", "/hit/a", "x", strings.Repeat("x", 5000)))
		text := frames(func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, EndStream: true,
				BlockFragment: block})
		})
		every := time.NewTicker(20 * time.Millisecond)
		defer every.Stop()
		cut := false
		for i := 0; i < len(text)-1 && !cut; i++ {
			<-every.C
			_, err := p.nc.Write(text[i : i+1])
			cut = err != nil
		}
		if !cut {
			t.Errorf("%s: a frame that came for %d bytes was not cut", form, len(text))
		}
	}
}

// TestH2_IdleConnectionsAreSmall: both ends of each, for the client is within the test.
func TestH2_IdleConnectionsAreSmall(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.dial(t).ping()
		before := heap()
		const n = 100
		for range n {
			p := s.dial(t)
			p.ask(1, "GET", "/hit/a", true)
			p.want(1, "200", "/hit/a")
			p.ask(3, "GET", "/full/a", true)
			p.want(3, "200", "/full/a")
		}
		eventually(t, "net/http has let go", func() bool { return s.server.Stats().Returned == n })
		alive(t, before, n*(128<<10))
	})
}
