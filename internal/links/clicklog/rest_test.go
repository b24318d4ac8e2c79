package clicklog

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// A log that nobody writes to rests, and who follows it by Still misses no record: it
// reads at once what comes after a silence.
func TestLog_RestsUntilARecordComes(t *testing.T) {
	o := small(t.TempDir())
	o.Loops, o.rest = 2, time.Millisecond
	l := open(t, o)
	const each = 40
	var writers sync.WaitGroup
	for i := range o.Loops {
		writers.Go(func() {
			for n := range each {
				mustAppend(t, l.Writer(i), n)
				// The provisioner looks after 100 ms.
				<-time.After(time.Duration(80+rand.IntN(80)) * time.Millisecond)
			}
		})
	}
	r, rests, got := l.NewReader(nil), 0, 0
	for start := time.Now(); got < o.Loops*each; {
		if waittest.Late(time.Since(start), time.Minute) {
			t.Fatalf("%d records were read in a minute", got)
		}
		still := l.Still() // before the log is read
		times, bad := readAll(t, r)
		if bad > 0 {
			t.Fatalf("%d bad records", bad)
		}
		switch got += len(times); {
		case got == o.Loops*each:
		case still == nil:
			time.Sleep(time.Millisecond)
		default:
			rests++
			select {
			case <-still:
			case <-time.After(waittest.Limit(10 * time.Second)):
				t.Fatalf("%d records were read, and no other one has ended the rest", got)
			}
		}
	}
	writers.Wait()
	if rests < 5 {
		t.Errorf("%d rests in %d silences", rests, each)
	}
}

// While a writer has no room, the log says so without a break, and does not rest: room may
// come without a record. What is left of the last segment is too short for a record.
func TestLog_DoesNotRestWithoutRoom(t *testing.T) {
	o := small(t.TempDir())
	o.rest, o.Keep = time.Millisecond, 4*o.Segment
	l := open(t, o)
	mustAppend(t, l.Writer(0), 0)
	for start := time.Now(); l.Stats().Full == ""; {
		if waittest.Late(time.Since(start), 20*time.Second) {
			t.Fatal("the log is never full")
		}
		l.Writer(0).Append(click(1))
	}
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; time.Sleep(10 * time.Millisecond) {
		if l.Still() != nil {
			t.Fatal("it rests")
		}
		for range 1000 {
			if l.Stats().Full == "" {
				t.Fatal("it says that there is room")
			}
		}
	}
}
