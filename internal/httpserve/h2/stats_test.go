package h2_test

import (
	"testing"

	"golang.org/x/net/http2"

	"github.com/hotrow/hotrow/internal/httpserve/h2"
)

// TestH2_Counts what operators look at.
func TestH2_Counts(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p, broken := s.dial(t), s.dial(t)
		p.ask(1, "GET", "/hit/a", true)
		p.want(1, "200", "/hit/a")
		for id := uint32(3); id < 203; id += 2 {
			p.ask(id, "GET", "/slow", true)
		}
		p.ask(203, "GET", "/hit/a", true)
		if h := p.hear(203, true); h.reset != http2.ErrCodeRefusedStream {
			t.Errorf("one stream too many: %+v", h)
		}
		p.must(p.WriteRSTStream(3, http2.ErrCodeCancel))
		p.must(p.WriteRSTStream(1, http2.ErrCodeCancel)) // it was answered
		p.must(broken.WriteRawFrame(http2.FrameData, 0, 0, []byte("x")))
		want := h2.Stats{Open: 1, Streams: 102, Refused: 1, Canceled: 1, Broken: 1}
		eventually(t, "all is counted", func() bool { return s.two.Stats() == want })
		_ = p.nc.Close()
		want.Open = 0
		eventually(t, "none is open", func() bool { return s.two.Stats() == want })
	})
}
