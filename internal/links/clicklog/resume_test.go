package clicklog

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// files returns the segments that a directory holds, and their bytes.
func files(t *testing.T, dir string) (names []string, bytes int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return names, bytes
}

// Starts take no room: 300 of them, each with a click or two of each writer and none
// that is in the database, leave as many segments as the first one.
func TestOpen_StartsTakeNoRoom(t *testing.T) {
	o := small(t.TempDir())
	o.Keep = 16 * o.Segment
	next, before := 0, 0
	for start := range 300 {
		l, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		for range start%2 + 1 {
			for _, w := range l.writers {
				if seq, _ := w.Append(click(next)); seq == 0 {
					t.Fatalf("start %d: no room: %+v", start, l.Stats())
				}
				next++
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if names, _ := files(t, o.Dir); start == 20 {
			before = len(names)
		}
	}
	if names, _ := files(t, o.Dir); len(names) > before+2 { // clicks have filled one a writer
		t.Errorf("%d segments after 20 starts, %d after 300", before, len(names))
	}
	l := open(t, o)
	times, bad := readAll(t, l.NewReader(nil))
	seen := make(map[int]bool)
	for _, at := range times {
		seen[at] = true
	}
	if len(times) != next || len(seen) != next || bad != 0 {
		t.Errorf("%d appended, %d read, %d of them different, %d bad", next, len(times), len(seen), bad)
	}
	names, bytes := files(t, o.Dir)
	if st := l.Stats(); st.Bytes != bytes || st.Dropped > 0 {
		t.Errorf("%d bytes in %d files: %+v", bytes, len(names), st)
	}
}

// leave writes a segment as the versions before left one at each start: of whole size,
// with a mark and n clicks from a number on.
func leave(t *testing.T, dir string, number uint64, n, from int) {
	t.Helper()
	size := uint64(64 << 10)
	b := make([]byte, size)
	at := uint64(0)
	if n > 0 {
		at = uint64(copy(b, appendMark(nil, runMark, makeSeq(0, 0, number*size))))
	}
	for i := range n {
		r := click(from + i)
		length := headSize + len(r.Agent) + len(r.Referrer) + len(r.Path)
		encode(b[at:], makeSeq(0, 0, number*size+at), r, r.Agent, r.Referrer, r.Path, length)
		binary.LittleEndian.PutUint32(b[at:], uint32(length))
		at += uint64(length+7) &^ 7
	}
	if err := os.WriteFile(filepath.Join(dir, segmentName(0, 0, number)), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A log that an older version has filled with nearly empty segments is read, and has
// room at once.
func TestOpen_HasRoomInALogOfManyStarts(t *testing.T) {
	o := small(t.TempDir())
	if l, err := Open(o); err != nil || l.Close() != nil {
		t.Fatal(err)
	}
	names, _ := files(t, o.Dir)
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	o.Loops, o.Keep = 0, 16*o.Segment
	for i := range 15 {
		leave(t, o.Dir, uint64(2*i+1), 7, 7*i)
	}
	leave(t, o.Dir, 40, 0, 0) // prepared only
	l := open(t, o)
	if seq, _ := l.shared.w.Append(click(7 * 15)); seq == 0 {
		t.Errorf("no room: %+v", l.Stats())
	} else if want := makeSeq(0, 0, 29*64<<10); seq < want || seq > want+4096 {
		t.Errorf("it is written at %d, not behind %d", seq, want)
	}
	times, bad := readAll(t, l.NewReader(nil))
	wantRange(t, times, 0, 7*15+1)
	if bad > 0 {
		t.Errorf("%d bad", bad)
	}
	for _, c := range l.Tips() {
		l.Release(c)
	}
	st := l.Stats() // a segment may be provided meanwhile, and others go for it
	for start := time.Now(); st.Bytes > 3*o.Segment && time.Since(start) < 20*time.Second; st = l.Stats() {
		time.Sleep(time.Millisecond)
	}
	if st.Bytes > 3*o.Segment {
		t.Errorf("what is in the database is kept: %+v", st)
	}
}

// After a loss of power the database may have rows that the log has lost. Their
// places are not taken again, in the last segment or behind it.
func TestOpen_LeavesPlacesOfRowsAlone(t *testing.T) {
	for _, behind := range []uint64{16, pageSize, 30 << 10, 70 << 10, 600 << 10} {
		dir, segments := written(t, 20)
		l, err := Open(small(dir))
		if err != nil {
			t.Fatal(err)
		}
		at := l.writers[0].pos
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		o := small(dir)
		o.Rows = []Cursor{{Dir: l.ID(), Seq: makeSeq(0, 0, at+behind)}}
		l = open(t, o)
		if seq := mustAppend(t, l.Writer(0), 20); seq.Writer() != 0 || seq.bytes() < at+behind {
			t.Errorf("rows are known up to %d, %d is written (%d segments)", at+behind, seq.bytes(),
				len(segments))
		}
		times, _ := readAll(t, l.NewReader(nil))
		wantRange(t, times, 0, 21)
	}
}

// Writing goes on behind the last record that is there, whatever is missing before it.
func TestOpen_GoesOnBehindTheLastRecord(t *testing.T) {
	for name, edit := range map[string]func(b []byte, at []int, end int){
		"as it is":       func([]byte, []int, int) {},
		"a lost page":    func(b []byte, _ []int, _ int) { clear(b[pageSize : 2*pageSize]) },
		"a broken end":   func(b []byte, at []int, _ int) { b[at[len(at)-1]+60] ^= 1 },
		"rubbish behind": func(b []byte, _ []int, end int) { copy(b[end:], "rubbish, 8 bytes and more") },
		"the first page": func(b []byte, _ []int, _ int) { clear(b[:pageSize]) },
	} {
		dir, segments := written(t, 200)
		place, size := uint64(0), uint64(64<<10)
		change(t, segments[0], func(b []byte) []byte {
			at, end := recordsOf(b)
			_, _, number, _ := parseSegmentName(filepath.Base(segments[0]))
			place = number*size + uint64(end)
			edit(b, at, end)
			return b
		})
		l := open(t, small(dir))
		seq := mustAppend(t, l.Writer(0), 200)
		if seq.bytes() < place || seq.bytes() > place+pageSize {
			t.Errorf("%s: %d is written, the end was %d", name, seq.bytes(), place)
		}
		times, bad := readAll(t, l.NewReader(nil))
		if len(times) < 150 || times[len(times)-1] != 200 || bad > 1 || (name == "as it is") != (bad == 0) {
			t.Errorf("%s: %d records up to %d, %d bad", name, len(times), times[len(times)-1], bad)
		}
	}
}
