package clicks

import (
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// While clicks come as fast as they are drained, the drainer rests behind each batch; the
// older they are, the less. When few come it does not rest at all.
func TestDrainer_YieldsToRedirects(t *testing.T) {
	now := time.UnixMilli(time.Now().UnixMilli())
	b := newBed(t, "sqlite", Options{Batch: 100, Now: func() time.Time { return now }})
	b.start()
	if err := b.d.Close(); err != nil { // what its goroutine does is done here
		t.Fatal(err)
	}
	record := func(n int, age time.Duration) {
		t.Helper()
		for i := range n {
			r := visit(1, i)
			r.At = now.Add(-age).UnixMilli()
			for start := time.Now(); ; time.Sleep(time.Millisecond) {
				if seq, _ := b.log.Writer(0).Append(r); seq != 0 {
					break
				} else if time.Since(start) > waittest.Limit(20*time.Second) {
					t.Fatal("no room in 20 s")
				}
			}
		}
	}
	for _, c := range []struct {
		name      string
		age, took time.Duration
		came      int
		want      time.Duration
	}{
		{"as many come", 0, 100 * time.Millisecond, 100, 300 * time.Millisecond},
		{"few come", 0, 100 * time.Millisecond, 5, 0},
		{"none come", 0, 100 * time.Millisecond, 0, 0},
		{"they are 15 s old", 15 * time.Second, 100 * time.Millisecond, 100, 150 * time.Millisecond},
		{"they are 30 s old", 30 * time.Second, 100 * time.Millisecond, 100, 0},
		{"they are a day old", 24 * time.Hour, 100 * time.Millisecond, 100, 0},
		{"a clock was set", -time.Hour, 100 * time.Millisecond, 100, longestRest},
		{"the database was slow", 0, time.Minute, 100, longestRest},
	} {
		for b.d.reached = b.d.written(); ; { // nothing is left of the case before
			if n, err := b.d.drain(t.Context()); err != nil {
				t.Fatal(err)
			} else if n == 0 {
				break
			}
		}
		record(100, c.age)
		b.d.reached = b.d.written()
		if n, err := b.d.drain(t.Context()); n != 100 || err != nil {
			t.Fatalf("%s: %d drained, %v", c.name, n, err)
		}
		b.d.succeeded(0, true)
		if lag := b.d.Stats().Lag; lag != max(c.age, 0) {
			t.Errorf("%s: the database is %v behind, want %v", c.name, lag, c.age)
		}
		record(c.came, c.age)
		if got := b.d.yield(c.took); got != c.want {
			t.Errorf("%s: a rest of %v behind a batch of %v, want %v", c.name, got, c.took, c.want)
		}
	}
}
