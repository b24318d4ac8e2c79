package clicks

import (
	"errors"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicklog"
)

// manyDirectories: more new directories than there once were numbers, some of which go
// with clicks that are not in the database. All of them come back: each click is counted,
// and once.
func manyDirectories(t *testing.T, kind string) {
	b := newBed(t, kind, Options{})
	const starts, each = 24, 10 // of three writers
	var dirs []string
	for i := range starts {
		b.dir = t.TempDir()
		dirs = append(dirs, b.dir)
		b.start()
		if i%3 == 0 { // it goes before it is drained
			b.d.Hold(true)
		}
		for n := range each {
			b.append(visit(int64(n%2+1), n))
			b.log.Writer(n % 2).Append(visit(3, n))
		}
		if i%3 > 0 {
			b.drained()
		}
		b.stop()
	}
	if n := b.count("SELECT COUNT(*) FROM clicks"); n != starts*2/3*2*each {
		t.Errorf("%d clicks in the database", n)
	}
	for i := range dirs {
		b.dir = dirs[len(dirs)-1-i]
		b.start()
		b.drained()
		if st := b.d.Stats(); st.Conflicts+st.Twice+st.Bad+st.Poison > 0 || b.log.Stats().Aside > 0 {
			t.Errorf("%+v\n%s", st, b.logged())
		}
		b.stop()
	}
	b.consistent()
	if n := b.count("SELECT COUNT(*) FROM clicks"); n != starts*2*each {
		t.Errorf("%d clicks of %d", n, starts*2*each)
	}
	rows := int64(2 * 3 * starts)
	if n := b.count("SELECT COUNT(*) FROM click_cursor"); n != rows {
		t.Errorf("%d cursors, want %d", n, rows)
	}
}

// taken: another process has taken the same numbers between the log was opened and its
// drainer is started: the log is opened again and has others.
func taken(t *testing.T, kind string) {
	first, second := newBed(t, kind, Options{}), (*bed)(nil)
	second = &bed{t: t, kind: kind, url: first.url, dir: t.TempDir()}
	second.openStore()
	t.Cleanup(second.closeAll)
	first.openLog()
	second.openLog()
	start := func(b *bed) (err error) {
		b.d, err = Start(t.Context(), Options{Store: b.store, Log: b.log, Every: 5 * time.Millisecond})
		return err
	}
	if err := start(first); err != nil {
		t.Fatal(err)
	}
	err := start(second)
	if !errors.Is(err, ErrTaken) {
		t.Fatalf("the second one: %v", err)
	}
	if err := second.log.Close(); err != nil {
		t.Fatal(err)
	}
	second.openLog()
	if err := start(second); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		first.append(visit(1, i))
		second.append(visit(2, i))
	}
	first.drained()
	second.drained()
	first.consistent()
	if n := first.count("SELECT COUNT(*) FROM clicks"); n != 40 {
		t.Errorf("%d clicks of 40", n)
	}
}

// others: what one process remembers of visitors is not written over those that another
// one has counted, which has begun later or comes back, under the same node or not.
func others(t *testing.T, kind string) {
	a := newBed(t, kind, Options{})
	r := func(n int) *clicklog.Record {
		v := visit(1, 12*n)
		v.At = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMilli()
		return v
	}
	a.start()
	for n := range 50 {
		a.append(r(n))
	}
	a.drained()
	b := &bed{t: t, kind: kind, url: a.url, dir: t.TempDir()}
	b.openStore()
	t.Cleanup(b.closeAll)
	b.start()
	for n := range 100 {
		b.append(r(1000 + 40*n))
	}
	b.drained()
	a.append(r(0))
	a.drained()
	b.append(r(1000))
	b.drained()
	a.want("SELECT unit, visitors, clicks FROM click_time WHERE link_id = 1 ORDER BY unit",
		"d 150 152", "h 150 152")
}

// The columns of the first 64 numbers are what they were, and no two are the same.
func TestCursors_HaveAColumnEach(t *testing.T) {
	seen := make(map[int]bool)
	for writer := range 1 << 14 {
		for _, which := range []int{sumsCursor, rowsCursor} {
			column := columnOf(writer, which)
			w, what := writerOf(column)
			if w != writer || what != which || seen[column] {
				t.Fatalf("%d of %d is %d, which is read as %d of %d", which, writer, column, what, w)
			}
			if seen[column] = true; writer < 64 && column != writer+which {
				t.Errorf("the column of %d was %d and is %d", writer, writer+which, column)
			}
		}
	}
	if w := clicklog.Seq(1 << 39).Writer(); w != 64 {
		t.Errorf("writer %d", w)
	}
}
