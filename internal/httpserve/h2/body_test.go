package h2_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/hotrow/hotrow/internal/eventloop"
)

// padded writes a body in frames with padding, with empty ones between them.
func (p *peer) padded(id uint32, body string, each int, end bool) {
	p.t.Helper()
	for len(body) > 0 {
		n := min(len(body), each)
		p.must(p.WriteDataPadded(id, false, []byte(body[:n]), make([]byte, 200)))
		p.must(p.WriteData(id, false, nil))
		body = body[n:]
	}
	p.must(p.WriteData(id, end, nil))
}

// patient runs a test over every form, of servers that wait for bodies as long as it takes.
func patient(t *testing.T, f func(t *testing.T, s *site)) {
	for form, c := range forms {
		c.Write = 20 * timeLimit
		t.Run("form="+form, func(t *testing.T) { f(t, open(t, c)) })
	}
}

// handed returns how many requests net/http has got.
func (s *site) handed() int64 { return s.server.Stats().HandedOver }

// TestH2_BodiesThatComeWhole are answered without net/http, with a length or without, as far
// as the windows go.
func TestH2_BodiesThatComeWhole(t *testing.T) {
	patient(t, func(t *testing.T, s *site) {
		c := s.client(t)
		for _, size := range []int{0, 1, 1600, 16384, 16385, 49_000, 65_535, 65_536, 500_000} {
			b := bytes.Repeat([]byte("hotrow-"), size/7+1)[:size]
			for _, r := range []io.Reader{bytes.NewReader(b), io.MultiReader(bytes.NewReader(b))} {
				_, sized := r.(*bytes.Reader)
				before := s.handed()
				if code, got := do(t, c, "POST", s.url("/take"), r); code != 200 || got != sumOf(b) {
					t.Errorf("%d bytes, with length %t: %d %q, want %q", size, sized, code, got, sumOf(b))
				}
				left := s.handed() - before
				if want := size > 65_535 || size > 49_151 && !sized; (left > 0) != want {
					t.Errorf("%d bytes, with length %t: %d were handed over", size, sized, left)
				}
			}
		}
	})
}

// TestH2_BodiesInFrames of any size, padded, empty, and with trailers behind them.
func TestH2_BodiesInFrames(t *testing.T) {
	body := strings.Repeat("0123456789", 1000)
	patient(t, func(t *testing.T, s *site) {
		p, id := s.dial(t), uint32(1)
		for _, length := range []string{"", "10000"} {
			for _, frame := range []int{500, 10_000} {
				for _, trailers := range []bool{false, true} {
					var more []string
					if length != "" {
						more = []string{"content-length", length}
					}
					p.ask(id, "POST", "/take", false, more...)
					p.padded(id, body, frame, !trailers)
					if trailers {
						p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true,
							EndStream: true, BlockFragment: p.fields("x-trailer", "1")}))
					}
					p.want(id, "200", sumOf([]byte(body)))
					id += 2
				}
			}
		}
		if n := s.handed(); n != 0 {
			t.Errorf("%d were handed over", n)
		}
		// Padding takes room in the window, too: then net/http reads the rest.
		p.ask(id, "POST", "/take", false, "content-length", "10000")
		p.padded(id, body[:5600], 20, false) // 61,880 bytes of 65,535
		eventually(t, "net/http waits for the rest", func() bool { return s.handed() == 1 })
		for opened := false; !opened; {
			f, err := p.ReadFrame()
			p.must(err)
			w, ok := f.(*http2.WindowUpdateFrame)
			opened = ok && w.StreamID == id
		}
		p.must(p.WriteData(id, true, []byte(body[5600:])))
		p.want(id, "200", sumOf([]byte(body)))
	})
}

// TestH2_BodiesThatEndEarly, of which each is a part of the window of the connection: it comes
// back, and so do the streams.
func TestH2_BodiesThatEndEarly(t *testing.T) {
	part := make([]byte, 16_000)
	for name, end := range map[string]func(p *peer, id uint32) http2.ErrCode{
		"shorter than its length": func(p *peer, id uint32) http2.ErrCode {
			p.must(p.WriteData(id, true, nil))
			return http2.ErrCodeProtocol
		},
		"longer than its length": func(p *peer, id uint32) http2.ErrCode {
			p.must(p.WriteData(id, false, part))
			return http2.ErrCodeProtocol
		},
		"shorter, by trailers": func(p *peer, id uint32) http2.ErrCode {
			p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true,
				EndStream: true, BlockFragment: p.fields("x-trailer", "1")}))
			return http2.ErrCodeProtocol
		},
		"wrong trailers": func(p *peer, id uint32) http2.ErrCode {
			p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true,
				EndStream: true, BlockFragment: p.fields(":path", "/")}))
			return http2.ErrCodeProtocol
		},
		"reset": func(p *peer, id uint32) http2.ErrCode {
			p.must(p.WriteRSTStream(id, http2.ErrCodeCancel))
			return noCode
		},
	} {
		t.Run(name, func(t *testing.T) {
			patient(t, func(t *testing.T, s *site) {
				p, id := s.dial(t), uint32(1)
				for range 120 { // 3.8 MB of a window of 1 MiB
					p.ask(id, "POST", "/take", false, "content-length", "40000")
					p.must(p.WriteData(id, false, part))
					p.must(p.WriteData(id, false, part))
					if want := end(p, id); want != noCode {
						if h := p.hear(id, true); h.reset != want {
							t.Fatalf("stream %d: %+v", id, h)
						}
					}
					id += 2
				}
				p.ask(id, "POST", "/take", false)
				p.must(p.WriteData(id, true, part))
				p.want(id, "200", sumOf(part))
				if n := s.handed(); n != 0 {
					t.Errorf("%d were handed over", n)
				}
			})
		})
	}
}

// TestH2_ExpectIsAnswered before the body comes.
func TestH2_ExpectIsAnswered(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p := s.dial(t)
		p.ask(1, "POST", "/take", false, "expect", "100-continue", "content-length", "3")
		for status := ""; status != "100"; {
			f, err := p.ReadFrame()
			p.must(err)
			if m, ok := f.(*http2.MetaHeadersFrame); ok {
				status = m.PseudoValue("status")
			}
		}
		p.must(p.WriteData(1, true, []byte("abc")))
		p.want(1, "200", sumOf([]byte("abc")))

		c := s.client(t)
		c.Transport.(*http.Transport).ExpectContinueTimeout = timeLimit
		r, err := http.NewRequest("POST", s.url("/take"), strings.NewReader("abc"))
		p.must(err)
		r.Header.Set("Expect", "100-continue")
		a, err := c.Do(r)
		p.must(err)
		defer a.Body.Close()
		if b, err := io.ReadAll(a.Body); string(b) != sumOf([]byte("abc")) || err != nil {
			t.Errorf("%q, %v", b, err)
		}
	})
}

// TestH2_BodiesThatTakeLong: net/http has the time limits of a request.
func TestH2_BodiesThatTakeLong(t *testing.T) {
	for form, c := range forms {
		t.Run("form="+form, func(t *testing.T) {
			c.Write = 400 * time.Millisecond // each quarter it is looked at them
			s := open(t, c)
			p := s.dial(t)
			for i, fields := range [][]string{nil, {"content-length", "6"}} {
				id := uint32(2*i + 1)
				p.ask(id, "POST", "/take", false, fields...)
				p.must(p.WriteDataPadded(id, false, []byte("abc"), make([]byte, 5)))
				eventually(t, "net/http waits for the rest", func() bool { return s.handed() == int64(i+1) })
				p.must(p.WriteData(id, false, []byte("de")))
				p.must(p.WriteData(id, true, []byte("f")))
				p.want(id, "200", sumOf([]byte("abcdef")))
			}
		})
	}
}

// TestH2_BodiesInPartsAreBounded, and counted for the client. What is more net/http reads as it
// comes, until all have ended.
func TestH2_BodiesInPartsAreBounded(t *testing.T) {
	for form, c := range forms {
		t.Run("form="+form, func(t *testing.T) {
			g := new(gauge)
			c.Meter = func() eventloop.Meter { return g }
			c.Write = 20 * timeLimit
			s := open(t, c)
			part := bytes.Repeat([]byte("p"), 16_000)
			p := s.dial(t)
			const streams = 30 // twice 480 kB: the peer keeps to 1 MiB without a look at windows
			for i := range uint32(streams) {
				p.ask(2*i+1, "POST", "/take", false, "content-length", "32000")
				p.must(p.WriteData(2*i+1, false, part))
				if i == 9 {
					eventually(t, "all that has come is counted", func() bool { return g.Load() == 160_000 })
					if n := s.handed(); n != 0 {
						t.Errorf("%d were handed over", n)
					}
				}
			}
			eventually(t, "those beyond 256 KiB are handed over", func() bool { return s.handed() == streams-16 })
			eventually(t, "what net/http has read is not counted", func() bool { return g.Load() == 16*16_000 })
			for i := range uint32(streams) {
				p.must(p.WriteData(2*i+1, true, part))
			}
			want := sumOf(append(part, part...))
			for ended := 0; ended < streams; {
				f, err := p.ReadFrame()
				p.must(err)
				if d, ok := f.(*http2.DataFrame); ok {
					if ended++; string(d.Data()) != want || !d.StreamEnded() {
						t.Fatalf("%v %q", d, d.Data())
					}
				}
			}
			eventually(t, "nothing is counted", func() bool { return g.Load() == 0 })
		})
	}
}

// TestH2_ShutdownWaitsForBodies of requests that were begun.
func TestH2_ShutdownWaitsForBodies(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p, idle := s.dial(t), s.dial(t)
		p.ask(1, "POST", "/take", false)
		p.must(p.WriteData(1, false, []byte("abc")))
		p.ping()
		idle.ping()
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
			defer cancel()
			done <- s.stop(ctx)
		}()
		if h := idle.hear(3, true); !h.closed {
			t.Errorf("an idle connection: %+v", h)
		}
		p.must(p.WriteData(1, true, []byte("def")))
		if h := p.hear(1, true); h.status != "200" || h.body != sumOf([]byte("abcdef")) ||
			h.goAway != http2.ErrCodeNo {
			t.Errorf("the request that was begun: %+v", h)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
