package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A groupTest writes rows of t, several in one transaction.
type groupTest struct {
	t       *testing.T
	s       *Source
	p       source.Plan
	feed    *followed
	commits atomic.Int64 // of the writing connection
}

// newGroupTest opens a file with the rows 1 to 9 of t, and what else statements make.
func newGroupTest(t *testing.T, columns string, statements ...string) *groupTest {
	t.Helper()
	path, _ := newFile(t, "WAL", append([]string{
		"CREATE TABLE t (id integer PRIMARY KEY, " + columns + ")",
		"INSERT INTO t (id, n) SELECT value, value FROM json_each('[1,2,3,4,5,6,7,8,9]')",
	}, statements...)...)
	g := &groupTest{t: t, s: openTest(t, path, Options{})}
	g.p = compile(t, g.s, &source.Spec{Table: "t"})
	g.feed = follow(t, g.s, []source.Watched{{Table: "t", Columns: []string{"id"}}})
	g.hold()
	w := g.s.writerNow()
	w.c.c.RegisterCommitHook(func() int32 {
		g.commits.Add(1)
		return w.changes.committing()
	})
	w.unlock()
	g.feed.fence()
	return g
}

// hold takes the writer's turn, so that writes wait.
func (g *groupTest) hold() {
	g.t.Helper()
	if err := g.s.writerNow().lock(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
}

// waiting returns how many writes wait.
func (g *groupTest) waiting() int {
	q := &g.s.writerNow().queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list)
}

// A groupWrite is one write of a group.
type groupWrite struct {
	op    source.Op
	key   row.Key
	body  string
	ctx   context.Context
	check func(*source.Loaded) error
	want  source.Class // of the error; Internal, which is 0: none

	out      *source.Written
	err      error
	panicked any
	touched  []source.Position
}

// together runs writes that wait for their turn in this order, and returns when all have
// ended. meanwhile is called when all of them wait.
func (g *groupTest) together(writes []*groupWrite, meanwhile func()) {
	g.t.Helper()
	g.hold()
	var wg sync.WaitGroup
	for i, w := range writes {
		wg.Go(func() { g.write(w) })
		poll(g.t, func() bool { return g.waiting() == i+1 })
	}
	if meanwhile != nil {
		meanwhile()
	}
	g.s.writerNow().unlock()
	wg.Wait()
}

func (g *groupTest) write(w *groupWrite) {
	defer func() { w.panicked = recover() }()
	ctx := w.ctx
	if ctx == nil {
		ctx = g.t.Context()
	}
	var in *row.Input
	if w.op != source.OpDelete {
		if in, w.err = g.p.Shape().DecodeJSON([]byte(w.body)); w.err != nil {
			return
		}
	}
	w.out, w.err = g.p.Write(ctx, &source.Write{Op: w.op, Key: w.key, Input: in, Check: w.check,
		Touch: func(_ []source.Change, at source.Position) { w.touched = append(w.touched, at) }})
}

// judge compares the ends of writes with what is wanted of them.
func (g *groupTest) judge(writes []*groupWrite) {
	g.t.Helper()
	last := source.Position(0)
	for i, w := range writes {
		failed := w.want != source.Internal
		switch {
		case failed != (w.err != nil) || source.ClassOf(w.err) != w.want || w.panicked != nil:
			g.t.Errorf("write %d: %v, %v, want class %d", i, w.err, w.panicked, w.want)
		case failed:
		case w.out.Position <= last || w.touched[len(w.touched)-1] != w.out.Position:
			g.t.Errorf("write %d: position %d after %d, shown as %d",
				i, w.out.Position, last, w.touched)
		default:
			last = w.out.Position
		}
	}
}

// has checks what the database has of rows, and what the feed has told since the last
// time: each key as often as it was written, and never "everything".
func (g *groupTest) has(rows, told string) {
	g.t.Helper()
	var got []string
	for _, tx := range g.feed.fence() {
		if tx.All || len(tx.Tables) > 0 {
			got = append(got, "everything")
		}
		for _, c := range tx.Changes {
			k, ok := c.New.Key([]string{"id"})
			if !ok {
				k, _ = c.Old.Key([]string{"id"})
			}
			got = append(got, string(k))
		}
	}
	if s := strings.Join(got, " "); s != told {
		g.t.Errorf("the feed has told %q, want %q", s, told)
	}
	all, err := g.p.List(g.t.Context(), nil, 100)
	if err != nil {
		g.t.Fatal(err)
	}
	var have []string
	for _, l := range all {
		have = append(have, fmt.Sprintf("%s=%d", l.Key, l.Values[1].Int()))
	}
	if s := strings.Join(have, " "); s != rows {
		g.t.Errorf("the database has %s\nwant %s", s, rows)
	}
}

// TestChange_SharesACommit: each has its own outcome, and sees what those before it did.
func TestChange_SharesACommit(t *testing.T) {
	g := newGroupTest(t, "n integer CHECK (n < 100), u text UNIQUE",
		"CREATE TRIGGER away AFTER UPDATE ON t WHEN NEW.n = 99 BEGIN "+
			"DELETE FROM t WHERE id IN (NEW.id, 8); END")
	no := errors.New("no")
	writes := []*groupWrite{
		{op: source.OpMerge, key: "1", body: `{"n":11,"u":"a"}`},
		{op: source.OpMerge, key: "2", body: `{"n":12,"u":"a"}`, want: source.Conflict},
		{op: source.OpReplace, key: "3", body: `{"n":113}`, want: source.Invalid},
		{op: source.OpMerge, key: "6", body: `{"n":99}`, want: source.Conflict}, // the row is gone
		{op: source.OpMerge, key: "77", body: `{"n":1}`, want: source.NoRow},
		{op: source.OpMerge, key: "1", body: `{"u":"b"}`, check: func(l *source.Loaded) error {
			if n := l.Values[1].Int(); n != 11 {
				return fmt.Errorf("n is %d", n)
			}
			return nil
		}},
		{op: source.OpMerge, key: "2", body: `{"n":22,"u":"a"}`}, // which nobody has any more
		{op: source.OpDelete, key: "4"},
		{op: source.OpCreate, body: `{"id":4,"n":44}`},
		{op: source.OpCreate, body: `{"id":5,"n":55}`, want: source.Conflict},
	}
	refused := &groupWrite{op: source.OpMerge, key: "5", body: `{"n":0}`,
		check: func(*source.Loaded) error { return no }}
	g.together(append(writes, refused), nil)
	g.judge(writes)
	if !errors.Is(refused.err, no) || refused.touched != nil {
		t.Errorf("refused: %v, shown as %d", refused.err, refused.touched)
	}
	if n := g.commits.Load(); n != 1 {
		t.Errorf("%d commits, want one", n)
	}
	g.has("1=11 2=22 3=3 4=44 5=5 6=6 7=7 8=8 9=9", "1 1 2 4 4")
	if n := string(g.p.Shape().AppendJSON(nil, writes[0].out.Loaded.Values)); n !=
		`{"id":1,"n":11,"u":"a"}` {
		t.Errorf("the first was answered with %s, want it as it was at its position", n)
	}
}

// TestChange_ThatEndsTheTransaction: what one of them does undoes the others, which are
// then done all the same.
func TestChange_ThatEndsTheTransaction(t *testing.T) {
	g := newGroupTest(t, "n integer UNIQUE ON CONFLICT ROLLBACK",
		"CREATE TRIGGER no AFTER UPDATE ON t WHEN NEW.n = 66 BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
	writes := []*groupWrite{
		{op: source.OpMerge, key: "1", body: `{"n":11}`},
		{op: source.OpMerge, key: "2", body: `{"n":11}`, want: source.Conflict},
		{op: source.OpMerge, key: "3", body: `{"n":66}`, want: source.Invalid},
		{op: source.OpMerge, key: "4", body: `{"n":44}`},
	}
	g.together(writes, nil)
	g.judge(writes)
	g.has("1=11 2=2 3=3 4=44 5=5 6=6 7=7 8=8 9=9", "1 4")
}

// TestChange_ThatFailsAtCommit: of a deferred foreign key. The positions that the others
// were shown with are not given again, and copies stay.
func TestChange_ThatFailsAtCommit(t *testing.T) {
	g := newGroupTest(t, "n integer, p integer REFERENCES t DEFERRABLE INITIALLY DEFERRED")
	writes := []*groupWrite{
		{op: source.OpMerge, key: "1", body: `{"n":11}`},
		{op: source.OpMerge, key: "2", body: `{"n":22,"p":1000}`, want: source.Conflict},
		{op: source.OpMerge, key: "3", body: `{"n":33,"p":1}`},
	}
	g.together(writes, nil)
	g.judge(writes)
	g.has("1=11 2=2 3=33 4=4 5=5 6=6 7=7 8=8 9=9", "1 3")
	for _, i := range []int{0, 2} {
		at := writes[i].touched
		if len(at) != 2 || at[1] <= writes[2].touched[0] {
			t.Errorf("write %d was shown as %d, the second time with a position of before", i, at)
		}
	}
	alone := &groupWrite{op: source.OpMerge, key: "2", body: `{"p":1000}`, want: source.Conflict}
	g.together([]*groupWrite{alone}, nil)
	g.judge([]*groupWrite{alone})
	g.has("1=11 2=2 3=33 4=4 5=5 6=6 7=7 8=8 9=9", "")
}

// TestChange_ThatNobodyWaitsForAnyMore is not made, before its turn and within it.
func TestChange_ThatNobodyWaitsForAnyMore(t *testing.T) {
	g := newGroupTest(t, "n integer")
	gone, leave := context.WithCancel(t.Context())
	late, end := context.WithCancel(t.Context())
	writes := []*groupWrite{
		{op: source.OpMerge, key: "1", body: `{"n":11}`},
		{op: source.OpMerge, key: "2", body: `{"n":22}`, ctx: gone, want: source.Unavailable},
		{op: source.OpMerge, key: "3", body: `{"n":33}`, ctx: late, want: source.Unavailable,
			check: func(*source.Loaded) error { end(); return nil }},
		{op: source.OpMerge, key: "4", body: `{"n":44}`},
	}
	g.together(writes, func() {
		leave()
		poll(t, func() bool { return g.waiting() == 3 })
	})
	g.judge(writes)
	g.has("1=11 2=2 3=3 4=44 5=5 6=6 7=7 8=8 9=9", "1 4")
}

// TestChange_ThatPanics: one caller gets the panic, the others an error, and the next
// write is made.
func TestChange_ThatPanics(t *testing.T) {
	g := newGroupTest(t, "n integer")
	writes := []*groupWrite{
		{op: source.OpMerge, key: "1", body: `{"n":11}`},
		{op: source.OpMerge, key: "2", body: `{"n":22}`,
			check: func(*source.Loaded) error { panic("a bug") }},
		{op: source.OpMerge, key: "3", body: `{"n":33}`},
	}
	g.together(writes, nil)
	panics, fails := 0, 0
	for _, w := range writes {
		if w.panicked == "a bug" {
			panics++
		}
		if errors.Is(w.err, errUnfinished) {
			fails++
		}
	}
	if panics != 1 || fails != 2 {
		t.Errorf("%d panics and %d errors, want 1 and 2", panics, fails)
	}
	next := &groupWrite{op: source.OpMerge, key: "4", body: `{"n":44}`}
	g.together([]*groupWrite{next}, nil)
	g.judge([]*groupWrite{next})
	g.has("1=1 2=2 3=3 4=44 5=5 6=6 7=7 8=8 9=9", "4")
}

// TestChange_MoreThanOneTransactionTakes and another program's lock, which all wait for.
func TestChange_MoreThanOneTransactionTakes(t *testing.T) {
	g := newGroupTest(t, "n integer")
	other := foreign(t, g.s.path)
	writes := make([]*groupWrite, 2*maxGroup+9)
	for i := range writes {
		writes[i] = &groupWrite{op: source.OpMerge, key: "9", body: fmt.Sprintf(`{"n":%d}`, i)}
	}
	g.together(writes, func() {
		run(t, other, "BEGIN IMMEDIATE", "UPDATE t SET n = 88 WHERE id = 8")
		time.AfterFunc(50*time.Millisecond, func() { // they are busy by then
			if _, err := other.ExecContext(t.Context(), "COMMIT"); err != nil {
				t.Error(err)
			}
		})
	})
	g.judge(writes)
	if n := g.commits.Load(); n != 3 {
		t.Errorf("%d commits, want 3", n)
	}
	g.feed.fence()
	g.has(fmt.Sprintf("1=1 2=2 3=3 4=4 5=5 6=6 7=7 8=88 9=%d", len(writes)-1), "")
}

// TestChange_LetsAFeedLook: a look for changes of others waits for one transaction or two,
// however many changes wait.
func TestChange_LetsAFeedLook(t *testing.T) {
	g := newGroupTest(t, "n integer")
	f := g.feed.feed.(*Feed)
	writes := make([]*groupWrite, 6*maxGroup)
	for i := range writes {
		writes[i] = &groupWrite{op: source.OpMerge, key: "9", body: fmt.Sprintf(`{"n":%d}`, i)}
	}
	looked := make(chan int64, 1)
	g.together(writes, func() {
		go func() {
			if _, err := f.Fence(context.Background()); err != nil {
				t.Error(err)
			}
			looked <- g.commits.Load()
		}()
		// It looks, or has waited for the turn since before it was asked, and looks twice.
		since := time.Now()
		poll(t, func() bool {
			return len(looked) > 0 || !f.hasWaiting() || waittest.Late(time.Since(since), time.Second)
		})
	})
	g.judge(writes)
	if n := <-looked; n > 4 || g.commits.Load() < 6 {
		t.Errorf("the feed has looked after %d of %d commits", n, g.commits.Load())
	}
}

// TestChange_OfASourceThatIsClosed: all who wait are told.
func TestChange_OfASourceThatIsClosed(t *testing.T) {
	g := newGroupTest(t, "n integer")
	var writes []*groupWrite
	for i := range 5 {
		writes = append(writes, &groupWrite{op: source.OpMerge, key: row.Key(fmt.Sprint(i + 1)),
			body: `{"n":0}`, want: source.Unavailable})
	}
	w := g.s.writerNow()
	g.hold()
	var wg sync.WaitGroup
	closed := make(chan error, 1)
	go func() { closed <- w.close() }()
	for _, one := range writes {
		wg.Go(func() { g.write(one) })
	}
	poll(t, func() bool { return g.waiting() == len(writes) })
	w.gone = errClosed // as if the end came first
	w.unlock()
	wg.Wait()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	w.gone = nil
	g.judge(writes)
}
