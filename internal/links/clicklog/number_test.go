package clicklog

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
)

// A place is called by one number, and those of the first 64 what they were always
// called: node, 6 bits of the writer, 47 of the position.
func TestSeq_NamesEachPlaceOnce(t *testing.T) {
	for _, node := range []int{0, 1, maxNode} {
		for _, writer := range []int{0, 1, 63, 64, 65, 127, 128, 1000, writers - 1} {
			for _, at := range []uint64{0, 8, 64 << 20, streamBytes - 8} {
				s := makeSeq(node, writer, at)
				if s.Node() != node || s.Writer() != writer || s.bytes() != at || int64(s) < 0 {
					t.Errorf("%d %d %d is read as %d %d %d", node, writer, at, s.Node(), s.Writer(), s.bytes())
				}
				if old := Seq(node)<<53 | Seq(writer)<<47 | Seq(at>>3); writer < 64 && s != old {
					t.Errorf("%d %d %d was called %d and is called %d", node, writer, at, old, s)
				}
			}
		}
	}
}

// However many directories there have been, there is a number for the next one.
func TestOpen_HasANumberBehindThoseOfManyDirectories(t *testing.T) {
	var log bytes.Buffer
	o := small(t.TempDir())
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	for i := range 5000 {
		o.Cursors = append(o.Cursors, Cursor{Writer: i, Dir: ID{byte(i), 1}, Seq: makeSeq(0, i, 1<<20)})
	}
	l := open(t, o)
	seen := make(map[Seq]bool)
	for i := range 1000 { // some segments
		seq := mustAppend(t, l.Writer(0), i)
		if seq.Writer() != 5000 || seq.Node() != 0 || seen[seq] {
			t.Fatalf("writer %d of node %d", seq.Writer(), seq.Node())
		}
		seen[seq] = true
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, o)
	times, bad := readAll(t, l.NewReader(nil))
	if wantRange(t, times, 0, 1000); bad > 0 {
		t.Errorf("%d bad", bad)
	}
	if seq := mustAppend(t, l.Writer(0), 1000); seq.Writer() != 5000 {
		t.Errorf("writer %d after a restart", seq.Writer())
	}
	if n := strings.Count(log.String(), "belong to another directory"); n != 1 {
		t.Errorf("%d warnings at two starts", n)
	}
}

// Who has used up half of his number begins with another one at the next start, and
// what is left under the first one is read.
func TestOpen_BeginsAnewBeforeANumberEnds(t *testing.T) {
	o := small(t.TempDir())
	l, err := Open(o)
	if err != nil || l.Close() != nil {
		t.Fatal(err)
	}
	place := makeSeq(0, 0, streamBytes/2+64<<10)
	o.Cursors = []Cursor{{Dir: l.ID(), Seq: place}}
	l = open(t, o)
	if seq := mustAppend(t, l.Writer(0), 0); seq.Writer() != 1 {
		t.Errorf("writer %d", seq.Writer())
	}
}

// A writer never writes what would be another number's places: it has no more room.
func TestLog_EndsWithItsNumber(t *testing.T) {
	l := open(t, small(t.TempDir()))
	l.mu.Lock()
	s := l.find(0, 0)
	for i := range s.w.next { // what the provisioner has put there since
		s.w.next[i].Store(nil)
	}
	s.provided = s.w.taken
	s.next = streamBytes/uint64(l.opts.Segment) - 2
	for s.short == nil && s.provided < ahead {
		_ = l.fill(s, enoughAhead)
	}
	end := uint64(0)
	for _, seg := range s.segments {
		end = max(end, seg.end)
	}
	if s.short == nil || !strings.Contains(s.short.Error(), "restart") || end >= streamBytes {
		t.Errorf("segments up to %d of %d: %v", end, uint64(streamBytes), s.short)
	}
	s.next, s.short = s.segments[0].number+1, nil
	l.mu.Unlock()
}

// Segments that were only prepared when another process got their number are no loss,
// and nobody is told that they are.
func TestOpen_RemovesPreparedSegmentsOfANumberThatIsTaken(t *testing.T) {
	var log bytes.Buffer
	o := small(t.TempDir())
	l, err := Open(o)
	if err != nil || l.Close() != nil {
		t.Fatal(err)
	}
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	o.Cursors = []Cursor{{Writer: 0, Dir: ID{1}}, {Writer: 1, Dir: ID{1}}}
	l = open(t, o)
	if seq := mustAppend(t, l.Writer(0), 0); seq.Writer() != 2 {
		t.Errorf("writer %d", seq.Writer())
	}
	aside, _ := filepath.Glob(filepath.Join(o.Dir, "*.aside"))
	if left, _ := filepath.Glob(filepath.Join(o.Dir, "0000-0[01]-*")); len(aside)+len(left) > 0 {
		t.Errorf("aside: %v, left: %v", aside, left)
	}
	if strings.Contains(log.String(), "put aside") || l.Stats().Aside > 0 {
		t.Errorf("%+v\n%s", l.Stats(), log.String())
	}
}
