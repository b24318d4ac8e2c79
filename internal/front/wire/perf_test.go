package wirefront

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/wiretest"
)

// TestPerf_ClientOfGofast has gofast's own load generator talk to the front, and
// compares its counters with ours.
func TestPerf_ClientOfGofast(t *testing.T) {
	wiretest.Perf(t)
	tests := []struct {
		name  string
		count int
		args  []string
		sent  map[string]uint64 // at least, of perf's counters
	}{
		{"post", 1500, []string{"-do", "post", "-payload", "64"}, map[string]uint64{"n_txpost": 1500}},
		{"request", 1000, []string{"-do", "request", "-payload", "64"},
			map[string]uint64{"n_txreq": 1000 + 2, "n_rxresp": 1000 + 2}},
		{"streamtx", 100, []string{"-do", "streamtx", "-stream", "20", "-payload", "64"},
			map[string]uint64{"n_txstart": 100, "n_txstream": 2000, "n_txfin": 100, "n_rxfin": 100}},
	}
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				s := newSite(t, form, func(o *Options, _ *Listen) { o.Perf = true })
				stats := wiretest.RunClient(t, s.over.Addr().String(), tt.count, tt.args...)
				for name, least := range tt.sent {
					if stats[name] < least {
						t.Errorf("perf's %s = %d, want %d", name, stats[name], least)
					}
				}
				if stats["n_txreq"] != stats["n_rxresp"] || stats["n_txfin"] != stats["n_rxfin"] ||
					stats["n_mdrops"]+stats["n_dropped"] != 0 {
					t.Errorf("perf has %v", stats)
				}
				eventually(t, "perf's connections end", func() bool { return s.over.Stats().Open == 0 })
			})
		}
	})
}

// While Perf is off, the log says once for a connection what gofast's perf program lacks.
func TestPerf_OffIsHintedAt(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		var log lockedBuffer
		s := newSite(t, form, func(o *Options, _ *Listen) {
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
		data := rows.AppendEcho(nil, nil)
		hints := func() int { return strings.Count(log.String(), "set wire.perf to true") }
		for i, send := range []func(p *peer){
			func(p *peer) {
				for range 3 {
					out, err := p.s.AppendPost(nil, &gofast.Message{ID: rows.IDEchoPost, Data: data})
					if err != nil {
						t.Fatal(err)
					}
					p.write(out)
				}
			},
			func(p *peer) { p.call(rows.IDEchoRequest, data) },
			func(p *peer) {
				out, _, err := p.s.AppendStart(nil, &gofast.Message{ID: rows.IDEchoSend, Data: data}, nil)
				if err != nil {
					t.Fatal(err)
				}
				p.write(out)
			},
		} {
			p := s.dialAs(gofast.Config{Legacy: true, Buffer: 2048})
			send(p)
			eventually(t, "a hint", func() bool { return hints() == i+1 })
		}
		p := s.dialAs(gofast.Config{Legacy: true, Buffer: 2048})
		p.call(99, nil) // not one of perf's
		if n := hints(); n != 3 {
			t.Errorf("%d hints", n)
		}
	})
}
