package wirefront

import (
	"testing"

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
