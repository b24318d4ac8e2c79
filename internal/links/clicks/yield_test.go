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
	// So many that it does not matter when a sync moves the next record to another page.
	const many = 1000
	b := newBed(t, "sqlite", Options{Batch: many, Now: func() time.Time { return now }})
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
				} else if waittest.Late(time.Since(start), 20*time.Second) {
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
		{"as many come", 0, 100 * time.Millisecond, many, 300 * time.Millisecond},
		{"few come", 0, 100 * time.Millisecond, 5, 0},
		{"none come", 0, 100 * time.Millisecond, 0, 0},
		{"they are 15 s old", 15 * time.Second, 100 * time.Millisecond, many, 150 * time.Millisecond},
		{"they are 30 s old", 30 * time.Second, 100 * time.Millisecond, many, 0},
		{"they are a day old", 24 * time.Hour, 100 * time.Millisecond, many, 0},
		{"a clock was set", -time.Hour, 100 * time.Millisecond, many, longestRest},
		{"the database was slow", 0, time.Minute, many, longestRest},
	} {
		for b.d.reached = b.d.written(); ; { // nothing is left of the case before
			if n, err := b.d.drain(t.Context()); err != nil {
				t.Fatal(err)
			} else if n == 0 {
				break
			}
		}
		record(many, c.age)
		b.d.reached = b.d.written()
		if n, err := b.d.drain(t.Context()); n != many || err != nil {
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
