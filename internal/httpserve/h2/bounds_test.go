package h2_test

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/hotrow/hotrow/internal/eventloop"
)

// TestH2_EndsConnectionsOfWrongFrames: RFC 9113 says so of each.
func TestH2_EndsConnectionsOfWrongFrames(t *testing.T) {
	const protocol, size, flow = http2.ErrCodeProtocol, http2.ErrCodeFrameSize, http2.ErrCodeFlowControl
	raw := func(kind http2.FrameType, flags http2.Flags, id uint32, payload string) func(*peer) {
		return func(p *peer) { _ = p.WriteRawFrame(kind, flags, id, []byte(payload)) } // it may be cut meanwhile
	}
	for name, c := range map[string]struct {
		do   func(*peer)
		code http2.ErrCode
	}{
		"data of no stream":      {raw(http2.FrameData, 0, 0, "x"), protocol},
		"data before a request":  {raw(http2.FrameData, 0, 1, "x"), protocol},
		"even stream":            {func(p *peer) { p.ask(2, "GET", "/hit/a", true) }, protocol},
		"settings of a stream":   {raw(http2.FrameSettings, 0, 1, ""), protocol},
		"settings cut off":       {raw(http2.FrameSettings, 0, 0, "12345"), size},
		"an ack with settings":   {raw(http2.FrameSettings, http2.FlagSettingsAck, 0, "123456"), size},
		"a short ping":           {raw(http2.FramePing, 0, 0, "1234"), size},
		"a ping of a stream":     {raw(http2.FramePing, 0, 1, "12345678"), protocol},
		"a short reset":          {raw(http2.FrameRSTStream, 0, 1, "12"), size},
		"a reset before":         {raw(http2.FrameRSTStream, 0, 1, "1234"), protocol},
		"a push":                 {raw(http2.FramePushPromise, 4, 1, "1234"), protocol},
		"an orphan continuation": {raw(http2.FrameContinuation, 4, 1, "\x82"), protocol},
		"a large frame":          {raw(http2.FrameData, 0, 1, strings.Repeat("x", 16385)), size},
		"a window of 0":          {raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"), protocol},
		"a window too large":     {raw(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff"), flow},
		"a bad header block": {raw(http2.FrameHeaders, 5, 1, "\xff\xff\xff\xff\xff\xff\xff"),
			http2.ErrCodeCompression},
		"padding alone": {raw(http2.FrameHeaders, 13, 1, "\x09\x82"), protocol},
		"another frame in a block": {func(p *peer) {
			p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("\x82")}))
			p.must(p.WritePing(false, [8]byte{}))
		}, protocol},
		"a stream again": {func(p *peer) {
			p.ask(3, "GET", "/hit/a", true)
			p.want(3, "200", "/hit/a")
			p.ask(1, "GET", "/hit/a", true)
		}, http2.ErrCodeStreamClosed},
		"initial window too large": {raw(http2.FrameSettings, 0, 0, "\x00\x04\xff\xff\xff\xff"), flow},
		"frame size too small":     {raw(http2.FrameSettings, 0, 0, "\x00\x05\x00\x00\x00\x01"), protocol},
		"push of 2":                {raw(http2.FrameSettings, 0, 0, "\x00\x02\x00\x00\x00\x02"), protocol},
		"more body than windows": {func(p *peer) {
			p.ask(1, "GET", "/slow", false)
			for range 5 {
				p.must(p.WriteData(1, false, make([]byte, 16384)))
			}
			if h := p.hear(1, false); h.reset != flow {
				t.Errorf("the stream: %+v", h)
			}
			for id := uint32(3); ; id += 2 { // of many streams
				p.ask(id, "GET", "/slow", false)
				for range 3 {
					if p.WriteData(id, false, make([]byte, 16384)) != nil || id > 100 {
						return
					}
				}
			}
		}, flow},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				p := s.dial(t)
				p.AllowIllegalWrites = true
				c.do(p)
				if h := p.hear(1<<30+1, false); h.goAway != c.code || !h.closed {
					t.Errorf("%+v, want GOAWAY of %v", h, c.code)
				}
			})
		})
	}
}

// TestH2_PingsAreAnswered with what they carry.
func TestH2_PingsAreAnswered(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.dial(t).ping()
	})
}

// TestH2_StalledAnswersAreCut: a peer that takes nothing of an answer, though it is there.
func TestH2_StalledAnswersAreCut(t *testing.T) {
	for form, c := range forms {
		c.Write = 300 * time.Millisecond
		s := open(t, c)
		p := s.dial(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		p.ask(1, "GET", "/hit/100000:a", true)
		go func() {
			for range time.Tick(20 * time.Millisecond) {
				// Not by the Framer, which hear writes with.
				if _, err := p.nc.Write([]byte("\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678")); err != nil {
					return
				}
			}
		}()
		if h := p.hear(1, false); h.reset != http2.ErrCodeCancel {
			t.Errorf("%s: %+v", form, h)
		}
	}
}

// TestH2_SilentPeersAreCut: who says nothing more is no event; a timer finds its streams, and
// the connection when that is what takes nothing.
func TestH2_SilentPeersAreCut(t *testing.T) {
	for form, c := range forms {
		c.Write = 300 * time.Millisecond
		g := new(gauge)
		c.Meter = func() eventloop.Meter { return g }
		s := open(t, c)
		p := s.dial(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		p.ask(1, "GET", "/hit/100000:a", true)
		p.ask(3, "GET", "/miss/200000:a", true)
		eventually(t, "what waits is counted", func() bool { return g.Load() >= 300_000 })
		if h := p.hear(3, false); h.reset != http2.ErrCodeCancel {
			t.Errorf("%s: a silent peer: %+v", form, h)
		}
		eventually(t, "nothing is counted", func() bool { return g.Load() == 0 })
		p = s.dial(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		p.ask(1, "GET", "/hit/100000:a", true) // the window of the connection is 65,535
		p.hear(1, false)
		if h := p.hear(3, false); !h.closed {
			t.Errorf("%s: a silent connection goes on: %+v", form, h)
		}
		eventually(t, "nothing is counted", func() bool { return g.Load() == 0 })
	}
}

// gauge is a Meter.
type gauge struct{ atomic.Int64 }

func (g *gauge) Untaken(n int64) { g.Add(n) }
func (g *gauge) Close()          {}

// heap returns the bytes that are alive.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// flood writes with f until the server ends the connection, or n times.
func flood(p *peer, n int, f func(i int) error) (ended bool) {
	go func() { _, _ = io.Copy(io.Discard, p.nc) }()
	for i := range n {
		if f(i) != nil {
			return true
		}
	}
	return false
}

// TestH2_FloodsAreBounded: what an attacker may send for ever leaves nothing behind, and
// others are answered meanwhile.
func TestH2_FloodsAreBounded(t *testing.T) {
	block := func(p *peer, path string) []byte {
		return bytes.Clone(p.fields(":method", "GET", ":scheme", "https", ":authority", "localhost", ":path", path))
	}
	for name, c := range map[string]struct {
		times int
		ends  bool
		do    func(p *peer) func(i int) error
	}{
		"rapid reset of hits": {10_000, false, func(p *peer) func(int) error {
			return func(i int) error {
				b := block(p, "/hit/a")
				_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), EndHeaders: true,
					EndStream: true, BlockFragment: b})
				return p.WriteRSTStream(uint32(2*i+1), http2.ErrCodeCancel)
			}
		}},
		"rapid reset of handlers": {5_000, false, func(p *peer) func(int) error {
			return func(i int) error {
				b := block(p, "/slow")
				_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), EndHeaders: true,
					EndStream: true, BlockFragment: b})
				return p.WriteRSTStream(uint32(2*i+1), http2.ErrCodeCancel)
			}
		}},
		"continuations": {20_000, true, func(p *peer) func(int) error {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(p, "/hit/a")})
			return func(int) error { return p.WriteContinuation(1, false, nil) }
		}},
		"a bomb of HPACK": {1_000, false, func(p *peer) func(int) error {
			var b bytes.Buffer
			enc := hpack.NewEncoder(&b)
			return func(i int) error {
				b.Reset()
				f := hpack.HeaderField{Name: "x", Value: strings.Repeat("x", 4000)}
				for range 4000 {
					_ = enc.WriteField(f)
				}
				return p.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), EndHeaders: true,
					EndStream: true, BlockFragment: b.Bytes()})
			}
		}},
		"pings": {20_000, false, func(p *peer) func(int) error {
			return func(int) error { return p.WritePing(false, [8]byte{}) }
		}},
		"settings": {20_000, false, func(p *peer) func(int) error {
			return func(int) error { return p.WriteSettings() }
		}},
		"empty data": {20_000, false, func(p *peer) func(int) error {
			p.ask(1, "POST", "/put", false)
			return func(int) error { return p.WriteData(1, false, nil) }
		}},
		"priorities": {20_000, false, func(p *peer) func(int) error {
			return func(i int) error { return p.WritePriority(uint32(2*i+1), http2.PriorityParam{}) }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				go func() {
					for range s.entered {
					}
				}()
				before, p := heap(), s.dial(t)
				ended := flood(p, c.times, c.do(p))
				if ended && !c.ends {
					t.Errorf("the connection was ended")
				}
				eventually(t, "no more than 8 MiB is alive", func() bool { return heap()-before < 8<<20 })
				t.Logf("%d KiB more alive", (heap()-before)>>10)
				other := s.dial(t)
				other.ask(1, "GET", "/hit/a", true)
				other.want(1, "200", "/hit/a")
			})
		})
	}
}

// TestH2_UnreadAnswersAreBounded: a hundred answers of a megabyte each, with windows of 0:
// two buffers of 64 KiB at most are kept of each.
func TestH2_UnreadAnswersAreBounded(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		before := heap()
		p := s.dial(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		for i := range 99 {
			p.ask(uint32(2*i+1), "GET", "/flow", true)
		}
		eventually(t, "all are begun", func() bool { return s.server.Stats().HandedOver == 99 })
		for range 2 { // what is garbage while the heap is looked at counts, too
			eventually(t, "answers are made as far as they may", func() bool {
				more := heap() - before
				return more > 99*(100<<10) && more < 99*(160<<10)
			})
		}
		p.ask(199, "GET", "/hit/1000000:b", true)
		p.ask(201, "GET", "/hit/1000000:b", true)
		if h := p.hear(201, false); h.reset != http2.ErrCodeRefusedStream {
			t.Errorf("one stream too many: %+v", h)
		}
		p.must(p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 2 << 20}))
		p.must(p.WriteWindowUpdate(0, 1<<30))
		read := 0
		for ended := 0; ended < 100; {
			f, err := p.ReadFrame()
			p.must(err)
			if d, ok := f.(*http2.DataFrame); ok {
				if read += len(d.Data()); d.StreamEnded() {
					ended++
				}
			}
		}
		if read != 100_000_000 {
			t.Errorf("%d bytes of 100 answers of a megabyte", read)
		}
	})
}
