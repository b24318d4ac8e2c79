package clicklog

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// typical is a click as a browser makes it: some 220 bytes.
func typical() *Record {
	return &Record{At: 1_795_000_000_000, Link: 42, IP: [16]byte{10: 0xff, 11: 0xff, 12: 203, 14: 113, 15: 7},
		Agent: []byte("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
			"Chrome/142.0.0.0 Safari/537.36"),
		Referrer: []byte("https://news.ycombinator.com/item?id=" + strings.Repeat("4", 8))}
}

// drain releases what writers append while a benchmark runs, without reading it.
func drain(l *Log, stop <-chan struct{}) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		for _, c := range l.Tips() {
			l.Release(c)
		}
	}
}

// BenchmarkAppend appends typical records with one goroutine for each writer. What
// they write is released at once, so that segments are written over again and
// again, as when the database keeps pace.
func BenchmarkAppend(b *testing.B) {
	l := open(b, Options{Dir: b.TempDir(), Loops: 8, Segment: 16 << 20})
	stop := make(chan struct{})
	var drained sync.WaitGroup
	drained.Go(func() { drain(l, stop) })
	for i := range 8 { // what is written over has been written
		w, r := l.Writer(i), typical()
		for range 300_000 {
			w.Append(r)
		}
	}
	var next atomic.Int32
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		w, r := l.Writer(int(next.Add(1)-1)), typical()
		for pb.Next() {
			r.At++
			for seq, _ := w.Append(r); seq == 0; seq, _ = w.Append(r) {
				runtime.Gosched()
			}
		}
	})
	b.StopTimer()
	close(stop)
	drained.Wait()
	b.ReportMetric(float64(l.Stats().Dropped)/float64(b.N), "waits/op")
}

func TestAppend_AllocatesNothing(t *testing.T) {
	l := open(t, Options{Dir: t.TempDir(), Loops: 1, Segment: 16 << 20})
	w, r := l.Writer(0), typical()
	mustAppend(t, w, 0)
	if n := testing.AllocsPerRun(10_000, func() { w.Append(r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if st := l.Stats(); st.Dropped > 0 {
		t.Errorf("%d dropped", st.Dropped)
	}
}
