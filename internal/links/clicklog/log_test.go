package clicklog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/links/killtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// small are options of a log whose segments a test fills.
func small(dir string) Options {
	return Options{Dir: dir, Loops: 1, Segment: 64 << 10, Keep: 4 << 20, tick: time.Millisecond}
}

// open opens a log that is closed when the test ends.
func open(t testing.TB, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// click is a record that says its number in each of its texts.
func click(i int) *Record {
	return &Record{At: int64(i), Link: int64(i % 7), Flags: Flags(i % 8), IP: [16]byte{15: byte(i)},
		Agent:    []byte(fmt.Sprint("agent ", i, strings.Repeat("a", i%90))),
		Referrer: []byte(fmt.Sprint("https://example.com/", i)), Path: []byte(fmt.Sprint("p", i))}
}

// check compares a record with click(i), i being what its time says.
func check(t testing.TB, r *Record) {
	t.Helper()
	want := click(int(r.At))
	if r.Link != want.Link || r.Flags != want.Flags || r.IP != want.IP ||
		!bytes.Equal(r.Agent, want.Agent) || !bytes.Equal(r.Referrer, want.Referrer) ||
		!bytes.Equal(r.Path, want.Path) {
		t.Fatalf("record %d came back as %+v", r.At, r)
	}
}

// mustAppend appends click(i), waiting for the provisioner if there is no segment.
func mustAppend(t testing.TB, w *Writer, i int) Seq {
	t.Helper()
	for start := time.Now(); !waittest.Late(time.Since(start), 20*time.Second); time.Sleep(time.Millisecond) {
		if seq, _ := w.Append(click(i)); seq != 0 {
			return seq
		}
	}
	t.Fatal("no room for a record in 20 s")
	return 0
}

// readAll reads what there is and releases nothing. It returns the times of the
// records and how many were bad.
func readAll(t testing.TB, r *Reader) (times []int, bad int) {
	t.Helper()
	var b Batch
	for {
		n, err := r.Read(&b, 100)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Records {
			check(t, &b.Records[i])
			times = append(times, int(b.Records[i].At))
		}
		for _, m := range b.Moves {
			bad += m.Bad
		}
		if n == 0 && len(b.Moves) == 0 {
			return times, bad
		}
	}
}

// wantRange fails unless times are from, from+1, ... to-1.
func wantRange(t testing.TB, times []int, from, to int) {
	t.Helper()
	if len(times) != to-from {
		t.Fatalf("read %d records, want %d to %d", len(times), from, to)
	}
	for i, at := range times {
		if at != from+i {
			t.Fatalf("record %d is %d", from+i, at)
		}
	}
}

func TestMain(m *testing.M) {
	if killtest.Main(os.Getenv(crashChild), runVictim) {
		return
	}
	goleak.VerifyTestMain(m)
}

func TestLog_GivesBackWhatWasAppended(t *testing.T) {
	l := open(t, small(t.TempDir()))
	r := l.NewReader(nil)
	seqs := map[Seq]bool{}
	for i := range 5000 {
		seqs[mustAppend(t, l.Writer(0), i)] = true
	}
	times, bad := readAll(t, r)
	wantRange(t, times, 0, 5000)
	if bad != 0 || len(seqs) != 5000 {
		t.Errorf("%d bad records, %d different seqs", bad, len(seqs))
	}
	seq, ok := l.Shared().Append(click(5000))
	if !ok || seq.Writer() != 1 || seq.Node() != 0 {
		t.Errorf("the shared writer's seq is %d, %d, %d", seq.Node(), seq.Writer(), seq.Position())
	}
	times, _ = readAll(t, r)
	wantRange(t, times, 5000, 5001)
}

func TestLog_GoesOnWhereItEnded(t *testing.T) {
	dir := t.TempDir()
	var cursors []Cursor
	next := 0
	for range 5 {
		o := small(dir)
		o.Cursors = cursors
		l := open(t, o)
		r := l.NewReader(nil)
		for range 1500 {
			mustAppend(t, l.Writer(0), next)
			next++
		}
		times, bad := readAll(t, r)
		if len(times) == 0 || times[len(times)-1] != next-1 || bad != 0 {
			t.Fatalf("read %d records, %d bad", len(times), bad)
		}
		for i := range times[1:] {
			if times[i+1] != times[i]+1 {
				t.Fatalf("%d follows %d", times[i+1], times[i])
			}
		}
		cursors = r.Places()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// Without cursors everything that is there is read again.
	times, bad := readAll(t, open(t, small(dir)).NewReader(nil))
	if bad != 0 || times[len(times)-1] != next-1 {
		t.Errorf("read up to %d, %d bad", times[len(times)-1], bad)
	}
}

func TestLog_WritesOverWhatWasReleased(t *testing.T) {
	l := open(t, small(t.TempDir()))
	r := l.NewReader(nil)
	next := 0
	for range 100 {
		for range 500 {
			mustAppend(t, l.Writer(0), next)
			next++
		}
		times, bad := readAll(t, r)
		wantRange(t, times, next-500, next)
		if bad != 0 {
			t.Fatalf("%d bad records", bad)
		}
		for _, c := range r.Places() {
			l.Release(c)
		}
	}
	if st := l.Stats(); st.Bytes > 20*64<<10 || st.Dropped > 0 && st.Bytes > 4<<20 {
		t.Errorf("%d records later: %+v", next, st)
	}
}

func TestLog_CountsWhatHasNoRoom(t *testing.T) {
	for _, policy := range []Policy{Drop, Refuse} {
		t.Run(fmt.Sprint("policy ", policy), func(t *testing.T) {
			o := small(t.TempDir())
			o.Keep, o.OnFull = 512<<10, policy
			l := open(t, o)
			w, r := l.Writer(0), l.NewReader(nil)
			stored := 0
			deadline := waittest.Deadline(20 * time.Second)
			for misses := 0; misses < 50 || l.Stats().Full == ""; {
				if time.Now().After(deadline) {
					t.Fatal("the log is never full")
				}
				if seq, _ := w.Append(click(stored)); seq != 0 {
					stored, misses = stored+1, 0
					continue
				}
				misses++
				time.Sleep(time.Millisecond)
			}
			before := l.Stats()
			for range 1000 {
				if _, ok := w.Append(click(stored)); ok != (policy == Drop) {
					t.Fatalf("Append says %v", ok)
				}
			}
			after := l.Stats()
			if n := after.Dropped + after.Refused - before.Dropped - before.Refused; n != 1000 {
				t.Errorf("counted %d of 1000", n)
			}
			if after.Bytes > o.Keep {
				t.Errorf("the log has %d bytes", after.Bytes)
			}
			times, _ := readAll(t, r)
			wantRange(t, times, 0, stored)
			for _, c := range r.Places() {
				l.Release(c)
			}
			mustAppend(t, w, stored)
		})
	}
}

func TestOpen_AllowsOneProcess(t *testing.T) {
	dir := t.TempDir()
	l := open(t, small(dir))
	if _, err := Open(small(dir)); !errors.Is(err, ErrLocked) {
		t.Fatalf("opened twice: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, small(dir))
}

func TestOpen_TakesAnotherNumberThanOtherDirectories(t *testing.T) {
	var log bytes.Buffer
	o := small(t.TempDir())
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	o.Cursors = []Cursor{{Node: 0, Writer: 0, Dir: ID{1}, Seq: 5}, {Node: 1, Writer: 1, Dir: ID{1}, Seq: 5}}
	l := open(t, o)
	if seq := mustAppend(t, l.Writer(0), 0); seq.Writer() != 1 {
		t.Errorf("writer %d", seq.Writer())
	}
	if !strings.Contains(log.String(), "belong to another directory") {
		t.Errorf("no warning: %s", log.String())
	}
}

func TestOpen_BeginsBehindTheCursor(t *testing.T) {
	dir := t.TempDir()
	l := open(t, small(dir))
	id := l.ID()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	segments, _ := filepath.Glob(filepath.Join(dir, "*.seg"))
	for _, name := range segments {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	o := small(dir)
	o.Cursors = []Cursor{{Writer: 0, Dir: id, Seq: makeSeq(0, 0, 1<<30+64)}}
	l = open(t, o)
	if seq := mustAppend(t, l.Writer(0), 0); seq.Writer() != 0 || seq.bytes() <= 1<<30+64 {
		t.Errorf("writer %d begins at %d", seq.Writer(), seq.bytes())
	}
}

// A directory that was restored from a copy is behind the database.
func TestOpen_LeavesANumberWhoseCursorIsAhead(t *testing.T) {
	dir := t.TempDir()
	l := open(t, small(dir))
	for i := range 100 {
		mustAppend(t, l.Writer(0), i)
	}
	id := l.ID()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o := small(dir)
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	o.Cursors = []Cursor{{Writer: 0, Dir: id, Seq: makeSeq(0, 0, 1<<30)}}
	l = open(t, o)
	if seq := mustAppend(t, l.Writer(0), 0); seq.Writer() == 0 {
		t.Error("the number is used again")
	}
	if !strings.Contains(log.String(), "the database is ahead of the click log") {
		t.Errorf("no warning: %s", log.String())
	}
}

func TestOpen_PutsSegmentsOfAnotherDirectoryAside(t *testing.T) {
	dir := t.TempDir()
	l := open(t, small(dir))
	mustAppend(t, l.Writer(0), 0)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	o := small(dir)
	o.Cursors = []Cursor{{Writer: 0, Dir: ID{9}, Seq: 1}}
	l = open(t, o)
	if times, _ := readAll(t, l.NewReader(nil)); len(times) != 0 {
		t.Errorf("read %v", times)
	}
	aside, _ := filepath.Glob(filepath.Join(dir, "*.aside"))
	if len(aside) == 0 || l.Stats().Aside != len(aside) {
		t.Errorf("aside: %v, counted %d", aside, l.Stats().Aside)
	}
}

func TestOpen_RefusesWhatCannotBe(t *testing.T) {
	dir := t.TempDir()
	for name, o := range map[string]Options{
		"a node":        {Dir: dir, Node: 1024},
		"loops":         {Dir: dir, Loops: 63},
		"a segment":     {Dir: dir, Segment: 1000},
		"too little":    {Dir: dir, Loops: 3, Segment: 1 << 20, Keep: 3 << 20},
		"no such place": {Dir: "/dev/null/x"},
	} {
		if l, err := Open(o); err == nil {
			_ = l.Close()
			t.Errorf("%s: opened", name)
		}
	}
	full := small(dir)
	for i := range writers {
		full.Cursors = append(full.Cursors, Cursor{Writer: i, Dir: ID{1}})
	}
	if _, err := Open(full); !errors.Is(err, ErrWriters) {
		t.Errorf("no number is left: %v", err)
	}
}

func TestShared_TakesManyGoroutines(t *testing.T) {
	l := open(t, small(t.TempDir()))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				start := time.Now()
				for ; !waittest.Late(time.Since(start), 20*time.Second); time.Sleep(time.Millisecond) {
					if seq, _ := l.Shared().Append(click(g*500 + i)); seq != 0 {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	times, bad := readAll(t, l.NewReader(nil))
	seen := map[int]bool{}
	for _, at := range times {
		seen[at] = true
	}
	if len(seen) != 4000 || len(times) != 4000 || bad != 0 {
		t.Errorf("%d records, %d different, %d bad", len(times), len(seen), bad)
	}
}

func TestAppend_CutsLongTexts(t *testing.T) {
	l := open(t, small(t.TempDir()))
	long := bytes.Repeat([]byte("x"), 100_000)
	if seq, ok := l.Writer(0).Append(&Record{Agent: long, Referrer: long, Path: long}); !ok || seq == 0 {
		t.Fatal("not stored")
	}
	var b Batch
	if n, err := l.NewReader(nil).Read(&b, 10); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	r := b.Records[0]
	if len(r.Agent) != MaxAgent || len(r.Referrer) != MaxReferrer || len(r.Path) != MaxPath {
		t.Errorf("%d, %d, %d bytes", len(r.Agent), len(r.Referrer), len(r.Path))
	}
}

func TestLog_CloseLetsALateAppendBe(t *testing.T) {
	l := open(t, small(t.TempDir()))
	w := l.Writer(0)
	mustAppend(t, w, 0)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 5000 { // more than was prepared: neither a fault nor a wait
		w.Append(click(i))
	}
	if w.dropped.Load() == 0 {
		t.Error("nothing was dropped")
	}
}
