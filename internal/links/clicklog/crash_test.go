package clicklog

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var crashRounds = flag.Int("crash.rounds", 100, "rounds of TestLog_SurvivesKill")

// crashChild, when set, makes the test binary the child of TestLog_SurvivesKill:
// its value is the directory.
const crashChild = "HOTROW_TEST_CLICKLOG_CRASH"

// victimWriters is how many writers the child has: two loops, and the shared one.
const victimWriters = 3

// A tally is what a child has told the kernel by ordinary writes to a file, which
// no kill undoes: for each writer how many appends it has begun and how many were
// answered.
type tally [victimWriters * 2]uint64

func readTally(dir string) (t tally) {
	b, _ := os.ReadFile(filepath.Join(dir, "tally"))
	for i := range t {
		if len(b) >= i*8+8 {
			t[i] = binary.LittleEndian.Uint64(b[i*8:])
		}
	}
	return t
}

// runVictim is the main function of the child: three goroutines append.
func runVictim(dir string) error {
	o := small(filepath.Join(dir, "log"))
	o.Loops, o.Keep = victimWriters-1, 64<<20
	l, err := Open(o)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "tally"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for i := range victimWriters {
		go func() { failed <- appendForEver(dir, l, f, i) }()
	}
	fmt.Println("ready")
	return <-failed
}

// appendForEver is one writer of the child.
func appendForEver(dir string, l *Log, f *os.File, i int) error {
	count := readTally(dir)
	begun := count[2*i]
	var word [8]byte
	put := func(slot int, n uint64) error {
		binary.LittleEndian.PutUint64(word[:], n)
		_, err := f.WriteAt(word[:], int64(slot*8))
		return err
	}
	answered := count[2*i+1]
	for {
		begun++
		if err := put(2*i, begun); err != nil {
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
			return fmt.Errorf("no room in 20 s")
		}
		answered++
		if err := put(2*i+1, answered); err != nil {
			return err
		}
	}
}

// killed runs a child for a while and kills it.
func killed(t *testing.T, dir string, live time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashChild+"="+dir)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ready := lines.Scan()
	time.AfterFunc(live, func() { _ = cmd.Process.Kill() })
	for lines.Scan() {
	}
	_ = cmd.Wait() // it was killed
	if failure.Len() > 0 || !ready {
		t.Fatalf("the child says: %s", failure.String())
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
		killed(t, dir, time.Duration(rand.IntN(30_000))*time.Microsecond)
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
		for i, begun := 0, readTally(dir); i < victimWriters; i++ {
			if stored[i] < begun[2*i+1] || stored[i] > begun[2*i] {
				t.Fatalf("round %d, writer %d: answered %d <= stored %d <= sent %d is wrong",
					round, i, begun[2*i+1], stored[i], begun[2*i])
			}
		}
	}
	if len(seen) == 0 {
		t.Fatal("nothing was appended before any kill: nothing was tested")
	}
	t.Logf("%d records survived", len(seen))
}
