package clicklog

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links/killtest"
)

var crashRounds = flag.Int("crash.rounds", 100, "rounds of TestLog_SurvivesKill")

// crashChild, when set, makes the test binary the child of TestLog_SurvivesKill:
// its value is the directory.
const crashChild = "HOTROW_TEST_CLICKLOG_CRASH"

// victimWriters is how many writers the child has: two loops, and the shared one.
const victimWriters = 3

// runVictim is the main function of the child: three goroutines append.
func runVictim(dir string) error {
	o := small(filepath.Join(dir, "log"))
	o.Loops, o.Keep = victimWriters-1, 64<<20
	l, err := Open(o)
	if err != nil {
		return err
	}
	count, err := killtest.Open(dir, victimWriters)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for i := range victimWriters {
		go func() { failed <- appendForEver(l, count, i) }()
	}
	fmt.Println("ready")
	return <-failed
}

// appendForEver is one writer of the child.
func appendForEver(l *Log, count *killtest.Tally, i int) error {
	for {
		begun, err := count.Begin(i)
		if err != nil {
			return err
		}
		r := click(int(begun))
		r.Link, r.IP[0] = int64(i), byte(i)
		seq, _ := Seq(0), false
		for start := time.Now(); seq == 0 && time.Since(start) < 20*time.Second; {
			if i == victimWriters-1 {
				seq, _ = l.Shared().Append(r)
			} else {
				seq, _ = l.Writer(i).Append(r)
			}
		}
		if seq == 0 {
			return errors.New("no room in 20 s")
		}
		if err := count.Answer(i); err != nil {
			return err
		}
	}
}

// TestLog_SurvivesKill kills a process that appends, at random moments, 100 times:
// each record that was answered is there, none twice, and none that was not
// begun. Some rounds are read in between, as a drainer would.
func TestLog_SurvivesKill(t *testing.T) {
	dir := t.TempDir()
	var cursors []Cursor
	seen := map[Seq]bool{}
	var stored [victimWriters]uint64
	for round := range *crashRounds {
		killtest.Kill(t, crashChild, dir, time.Duration(rand.IntN(30_000))*time.Microsecond)
		if round%7 == 3 {
			continue // two lives in one log
		}
		o := small(filepath.Join(dir, "log"))
		o.Loops, o.Keep, o.Cursors = victimWriters-1, 64<<20, cursors
		l, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		r := l.NewReader(nil)
		var b Batch
		for {
			n, err := r.Read(&b, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range b.Records {
				if seen[rec.Seq] {
					t.Fatalf("round %d: seq %d is there twice", round, rec.Seq)
				}
				seen[rec.Seq] = true
				stored[rec.Link]++
			}
			for _, m := range b.Moves {
				if m.Bad > 0 {
					t.Fatalf("round %d: %d bad records", round, m.Bad)
				}
				l.Release(m.To)
			}
			if n == 0 && len(b.Moves) == 0 {
				break
			}
		}
		cursors = r.Places()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		for i, count := range killtest.Read(dir, victimWriters) {
			if stored[i] < count.Answered || stored[i] > count.Begun {
				t.Fatalf("round %d, writer %d: answered %d <= stored %d <= sent %d is wrong",
					round, i, count.Answered, stored[i], count.Begun)
			}
		}
	}
	if len(seen) == 0 {
		t.Fatal("nothing was appended before any kill: nothing was tested")
	}
	t.Logf("%d records survived", len(seen))
}
