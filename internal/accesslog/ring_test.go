package accesslog

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Records of all lengths come out as they went in, many times around the ring.
func TestRing_KeepsOrderAroundItsEnd(t *testing.T) {
	r := newRing(idle(t, Config{Buffer: 1}))
	d, e := &reader{r: r}, newEncoder(testColumns, LTSV)
	next := int64(0) // to be read
	for i := int64(0); i < 20_000; {
		for range 1 + i%4 { // records of one batch
			if !record(r, strings.Repeat("p", int(i%70)), strings.Repeat("a", int(i%17)), i, 0) {
				t.Fatalf("no room for record %d", i)
			}
			i++
		}
		if !r.Pending() {
			t.Fatal("nothing is pending after a record")
		}
		if out, n, _ := d.read(e, nil, r.head.Load(), 1<<20); n != 0 {
			t.Fatalf("read before it was published: %s", out)
		}
		r.Publish(time.Duration(i) * time.Microsecond)
		out, _, _ := d.read(e, nil, r.head.Load(), 1<<20)
		for line := range strings.Lines(string(out)) {
			got := decode(t, LTSV, strings.TrimSuffix(line, "\n"))
			took := fmt.Sprintf("0.%06d", i)
			if got["status"] != strconv.FormatInt(next, 10) || got["duration"] != took ||
				len(strings.TrimSuffix(got["path"], mark)) != int(min(next%70, 64)) {
				t.Fatalf("record %d is %s, want duration %s", next, line, took)
			}
			next++
		}
		if next != i || r.Pending() {
			t.Fatalf("%d of %d records were read", next, i)
		}
	}
}

// A full ring drops, counts, and takes records again when it was read.
func TestRing_DropsWhenFull(t *testing.T) {
	l := idle(t, Config{Buffer: 4 << 10})
	r := l.Ring()
	kept := int64(0)
	for range 1000 {
		if record(r, "/", "", kept, 0) {
			kept++
			r.Publish(0)
		}
	}
	if s := l.Stats(); kept == 0 || int64(s.Dropped) != 1000-kept {
		t.Fatalf("%d kept, %d dropped, of 1000", kept, s.Dropped)
	}
	d, e := &reader{r: r}, newEncoder(testColumns, JSON)
	total, more := 0, true
	for more {
		var n int
		_, n, more = d.read(e, nil, r.head.Load(), 100) // a line or two at a time
		total += n
	}
	if int64(total) != kept {
		t.Errorf("%d records read, %d kept", total, kept)
	}
	if !record(r, "/", "", 0, 0) {
		t.Error("no room in a ring that was read")
	}
}

func TestRing_TakesOneLongestRecordWhateverItsSize(t *testing.T) {
	l, err := Open(Config{Buffer: 1, Columns: []Column{{Name: "a", Kind: Text, Max: 1 << 20},
		{Name: "b", Kind: Text, Max: maxText}}}, Settings{Mode: Off})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	r := newRing(l)
	d, e := &reader{r: r}, newEncoder(l.cfg.Columns, JSON)
	for range 10 {
		if !r.Start(time.Now()) {
			t.Fatal("no room in an empty ring")
		}
		r.Text(strings.Repeat("a", 1<<20))
		r.Text(strings.Repeat("b", maxText))
		r.End()
		r.Publish(0)
		if out, n, _ := d.read(e, nil, r.head.Load(), 1); n != 1 || len(out) < 2*maxText {
			t.Fatalf("%d lines, %d bytes", n, len(out))
		}
	}
}

// A sample stands for what it was taken from.
func TestRing_Pick(t *testing.T) {
	l := idle(t, Config{})
	r := l.Ring()
	if _, ok := r.Pick(); ok {
		t.Error("picked although the log is off")
	}
	l.every.Store(1)
	for range 10 {
		if weight, ok := r.Pick(); !ok || weight != 0 {
			t.Fatalf("all: %d, %v", weight, ok)
		}
	}
	l.every.Store(100)
	gaps := map[int]int{}
	const n = 1_000_000
	sum, last := int64(0), 0
	for i := range n {
		if weight, ok := r.Pick(); ok {
			sum += weight
			gaps[i-last]++
			last = i
		}
	}
	if sum < n*9/10 || sum > n*11/10 { // 10 standard deviations and more
		t.Errorf("the sample stands for %d requests of %d", sum, n)
	}
	if len(gaps) < 50 {
		t.Errorf("only %d different gaps: a sample must not be in step with its requests", len(gaps))
	}
}

func TestRing_AllocatesNothing(t *testing.T) {
	r := newRing(idle(t, Config{}))
	at := time.Now()
	if n := testing.AllocsPerRun(1000, func() {
		if r.Start(at) {
			r.Text("/depts/10")
			r.Int(200)
			r.Text("curl/8")
			r.Int(0)
			r.End()
		}
		r.Publish(time.Millisecond)
	}); n != 0 {
		t.Errorf("a record allocates %v times", n)
	}
}

func BenchmarkRing_Record(b *testing.B) {
	r := newRing(idle(b, Config{}))
	at := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		if !r.Start(at) {
			r.seen, r.at, r.open = 0, 0, false // as if it had been read
			continue
		}
		r.Text("/depts/1000")
		r.Int(200)
		r.Text("Mozilla/5.0 (X11")
		r.Int(0)
		r.End()
	}
}

func BenchmarkEncoder_Line(b *testing.B) {
	l := idle(b, Config{})
	r := newRing(l)
	record(r, "/depts/1000", "Mozilla/5.0 (X11", 200, 0)
	r.Publish(0)
	for _, f := range []Format{JSON, LTSV} {
		b.Run(string(f), func(b *testing.B) {
			e, d := newEncoder(testColumns, f), &reader{r: r}
			out := make([]byte, 0, 1<<10)
			b.ReportAllocs()
			for b.Loop() {
				r.tail.Store(0)
				out, _, _ = d.read(e, out[:0], r.head.Load(), 1<<20)
			}
		})
	}
}
