package wirefront

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
)

// A crowd is many watchers on some connections, which read what they are told
// and count it.
type crowd struct {
	told    atomic.Int64 // changes
	resets  atomic.Int64
	ended   atomic.Int64 // watches
	running sync.WaitGroup
	conns   []net.Conn
}

// leave ends the connections.
func (w *crowd) leave() {
	for _, nc := range w.conns {
		_ = nc.Close()
	}
	w.running.Wait()
}

// gather opens each watches on each of conns connections. key names what the
// n-th of all watches.
func (s *site) gather(conns, each int, config gofast.Config, key func(n int) string) *crowd {
	s.t.Helper()
	w := new(crowd)
	for i := range conns {
		p := s.dialAs(config)
		for j := range each {
			p.event(p.watch(rows.Watch{Resource: "crowd", Key: key(i*each + j)}), rows.Ready)
		}
		w.conns = append(w.conns, p.nc)
		w.running.Go(func() { w.listen(p, config.Credit == 0) })
	}
	s.t.Cleanup(w.leave)
	return w
}

// listen reads until the connection ends. It gives credit unless it is slow.
func (w *crowd) listen(p *peer, gives bool) {
	buf := make([]byte, 64<<10)
	var in, out []byte
	for {
		now := time.Now()
		_ = p.nc.SetReadDeadline(now.Add(time.Second))
		n, err := p.nc.Read(buf)
		if timeout, ok := err.(net.Error); err != nil && (!ok || !timeout.Timeout()) {
			return
		}
		in, out = append(in, buf[:n]...), out[:0]
		if out, err = p.s.Tick(now, out); err != nil {
			return
		}
		for {
			var e gofast.Event
			var used int
			if used, out, err = p.s.Next(in, out, &e); err != nil {
				return
			}
			in = in[used:]
			if e.Type == gofast.EventNone {
				break
			}
			switch e.Type {
			case gofast.EventMessage:
				if len(e.Data) > 1 && e.Data[1] == byte(rows.Reset) {
					w.resets.Add(1)
				} else {
					w.told.Add(1)
				}
				if gives {
					out = p.s.AppendConsumed(out, e.Opaque, len(e.Data))
				}
			case gofast.EventFinish:
				w.ended.Add(1)
			}
		}
		in = slices.Clone(in)
		if _, err := p.nc.Write(out); err != nil {
			return
		}
	}
}

// touch changes rows of the crowd in one transaction.
func (s *site) touch(ctx context.Context, keys string) error {
	return s.src.Exec(ctx, "UPDATE crowd SET n = n + 1 WHERE id IN ("+keys+")")
}

// TestWatchers_SlowOnesAreCutOff: of a thousand watchers of one row a hundred
// give no credit. These are cut off by the rule, nobody else misses a thing, and
// reads are answered meanwhile.
func TestWatchers_SlowOnesAreCutOff(t *testing.T) {
	const quick, slow, changes = 900, 100, 30
	s := newSite(t, func(o *Options, _ *Listen) { o.SlowWatcher = 500 * time.Millisecond })
	key := func(int) string { return "1" }
	good := s.gather(9, quick/9, gofast.Config{}, key)
	bad := s.gather(2, slow/2, gofast.Config{Credit: 200}, key)
	other := s.dial("")
	for i := range changes {
		if err := s.touch(t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "all who keep up are told", func() bool {
			return good.told.Load() >= int64(quick*(i+1))
		})
		other.get(rows.Get{Resource: "depts", Key: "10"})
	}
	eventually(t, "all who do not are cut off", func() bool { return bad.ended.Load() == slow })
	st := s.f.Stats()
	if st.Slow != slow || good.ended.Load() != 0 || good.told.Load() != quick*changes {
		t.Errorf("%d cut off, want %d; of the others %d; %d events, want %d", st.Slow, slow,
			good.ended.Load(), good.told.Load(), quick*changes)
	}
	h := s.hub("crowd")
	eventually(t, "they have left", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.byKey["1"]) == quick
	})
}

// TestWatchers_CostIsThatOfTheChangedKeys: who watches other rows is not looked
// at: an event has as many receivers as its row has watchers.
func TestWatchers_CostIsThatOfTheChangedKeys(t *testing.T) {
	const watchers = 1000
	s := newSite(t)
	w := s.gather(10, watchers/10, gofast.Config{}, func(n int) string { return fmt.Sprint(n + 1) })
	for i := range 100 {
		if err := s.touch(t.Context(), fmt.Sprint(i*7%watchers+1)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "100 events", func() bool { return w.told.Load() >= 100 })
	h := s.hub("crowd")
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := w.told.Load(); n != 100 || cap(h.listed) > 8 {
		t.Errorf("%d events, want 100; room for %d receivers", n, cap(h.listed))
	}
}

// latencies reads a hot document, one request at a time, until ctx ends.
func (p *peer) latencies(ctx context.Context) []time.Duration {
	var list []time.Duration
	for ctx.Err() == nil {
		began := time.Now()
		p.get(rows.Get{Resource: "depts", Key: "10"})
		list = append(list, time.Since(began))
	}
	slices.Sort(list)
	return list
}

// p99 returns the 99th percentile in microseconds.
func p99(sorted []time.Duration) float64 {
	return float64(sorted[len(sorted)*99/100].Nanoseconds()) / 1e3
}

// BenchmarkWatchers measures what 10,000 watchers on 100 connections cost a
// reader beside them while rows change: all of one row, and each of its own.
// Clients and server share the machine. Run it with -benchtime 1x.
func BenchmarkWatchers(b *testing.B) {
	for _, tt := range []struct {
		name     string
		watchers int
		hot      bool
		every    time.Duration // between two changes
	}{
		{"of=one-row/watchers=1000", 1000, true, 500 * time.Millisecond},
		{"of=one-row/watchers=10000", 10_000, true, 500 * time.Millisecond},
		{"of=own-row/watchers=1000", 1000, false, 10 * time.Millisecond},
		{"of=own-row/watchers=10000", 10_000, false, 10 * time.Millisecond},
	} {
		b.Run(tt.name, func(b *testing.B) {
			s := newSite(b)
			s.exec(fmt.Sprintf(`INSERT INTO crowd WITH RECURSIVE s(i) AS
				(SELECT 1001 UNION ALL SELECT i+1 FROM s WHERE i <= %d) SELECT i, 0 FROM s`, tt.watchers))
			key := func(n int) string { return fmt.Sprint(n + 1) }
			if tt.hot {
				key = func(int) string { return "1" }
			}
			w := s.gather(100, tt.watchers/100, gofast.Config{}, key)
			p := s.dial("")
			p.hot("depts", "10")
			const phase = 3 * time.Second
			for b.Loop() {
				quiet := measure(phase, p, nil)
				before := w.told.Load()
				changes := 0
				busy := measure(phase, p, func(ctx context.Context) {
					for pauseFor(ctx, tt.every) {
						if err := s.touch(ctx, key(rand.IntN(tt.watchers))); err == nil {
							changes++
						}
					}
				})
				b.ReportMetric(p99(quiet), "quiet-p99-µs")
				b.ReportMetric(p99(busy), "p99-µs")
				b.ReportMetric(p99(busy)/p99(quiet), "ratio")
				b.ReportMetric(float64(len(busy))/phase.Seconds(), "gets/s")
				b.ReportMetric(float64(changes)/phase.Seconds(), "changes/s")
				b.ReportMetric(float64(w.told.Load()-before)/phase.Seconds(), "events/s")
				b.ReportMetric(float64(w.resets.Load())/float64(tt.watchers), "resets")
			}
			w.leave()
		})
	}
}

// measure returns the latencies of reads for a time, sorted, while others do
// something.
func measure(d time.Duration, p *peer, meanwhile func(context.Context)) []time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var wait sync.WaitGroup
	defer wait.Wait()
	if meanwhile != nil {
		wait.Go(func() { meanwhile(ctx) })
	}
	return p.latencies(ctx)
}

// pauseFor waits, and reports whether ctx goes on.
func pauseFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
