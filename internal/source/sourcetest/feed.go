package sourcetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A follower is a feed under test and one way to write.
type follower struct {
	*suite
	feed   source.Feed
	r      *recorder
	exec   func(statements ...string)
	coarse bool // this way's writes are told as "everything"
}

// feed checks one way to follow, for our own writes and for those of others.
func (s *suite) feed(fc FeedCase) {
	tables := s.watched()
	if fc.Doctor {
		s.applyDoctor(fc.Mode, tables)
	}
	feed, r := s.follow(fc.Mode, tables)
	if feed.Mode() != fc.Mode {
		s.t.Errorf("Mode = %s, want %s", feed.Mode(), fc.Mode)
	}
	(&follower{suite: s, feed: feed, r: r}).beginning()
	ways := []struct {
		name   string
		exec   func(*suite) func(...string)
		coarse bool
	}{
		{"Own", func(s *suite) func(...string) {
			return func(st ...string) {
				s.t.Helper()
				if err := s.src.Exec(s.ctx, st...); err != nil {
					s.t.Fatal(err)
				}
			}
		}, false},
		{"Foreign", func(s *suite) func(...string) {
			return func(st ...string) { s.t.Helper(); s.env.Exec(s.t, st...) }
		}, fc.Coarse},
	}
	for i, way := range ways {
		s.t.Run(way.name, func(t *testing.T) {
			on := s.on(t)
			f := &follower{on, feed, r, way.exec(on), way.coarse}
			f.changes(1000 * (i + 1))
			f.bulk(1_000_000 * (i + 1))
		})
	}
	for _, test := range []struct {
		name string
		run  func(*follower)
	}{
		{"Rollback", (*follower).rollback},
		{"Write", (*follower).planWrite},
		{"Schema", (*follower).schemaChange},
		{"Follow", func(f *follower) { f.others(fc) }},
	} {
		s.t.Run(test.name, func(t *testing.T) {
			test.run(&follower{suite: s.on(t), feed: feed, r: r})
		})
	}
	if r.wentBack() {
		s.t.Error("positions went backwards")
	}
	if st := feed.Stats(); st.Transactions == 0 || st.Position == 0 {
		s.t.Errorf("Stats = %+v, want what was delivered", st)
	}
}

// beginning checks that all which is to be said of what was before the feed is said
// by Attached: a load that begins between that and another call would be kept, and
// nobody would tell of what it has missed. What Attached leaves open settles.
func (f *follower) beginning() {
	f.t.Helper()
	for _, tx := range f.delivered() {
		if tx.All {
			f.t.Errorf("after Attached, and before any change: %s", text([]*source.Tx{tx}))
		}
	}
	if f.r.before == 0 {
		return
	}
	before := []*source.Tx{{ID: f.r.before, All: true}}
	f.eventually("what was before the feed is settled", func() bool {
		settled, err := f.feed.Settled(f.ctx, before)
		if err != nil || len(settled) != 1 {
			f.t.Fatalf("Settled of the beginning = %v, %v", settled, err)
		}
		return settled[0]
	})
}

// watched returns what the feed of the suite follows.
func (s *suite) watched() []source.Watched {
	return []source.Watched{
		{Table: s.id("dept"), Columns: []string{"deptno"}},
		{Table: s.id("emp"), Columns: []string{"deptno", "empno"}},
		{Table: s.id("city"), Columns: []string{"name", "state"}},
		{Table: s.id("big"), Columns: []string{"id"}},
		{Table: s.id("word"), Columns: []string{"id"}},
	}
}

// applyDoctor runs what Doctor asks for, and checks that it then asks no more.
func (s *suite) applyDoctor(mode source.FeedMode, tables []source.Watched) {
	s.t.Helper()
	findings, err := s.src.Doctor(s.ctx, mode, tables)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range findings {
		if len(f.Apply) == 0 {
			continue
		}
		if err := s.src.Exec(s.ctx, f.Apply...); err != nil {
			s.t.Fatalf("%s: %v", f.Text, err)
		}
	}
	findings, err = s.src.Doctor(s.ctx, mode, tables)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range findings {
		if len(f.Apply) > 0 || f.Level == source.LevelError {
			s.t.Errorf("after what it asked for, Doctor still says: %s", f.Text)
		}
	}
}

// do writes, takes a fence, and returns what was delivered: the fence covers
// whatever was visible when it was called. It also checks that all of it
// settles.
func (f *follower) do(statements ...string) []*source.Tx {
	f.t.Helper()
	f.fence()
	f.r.take()
	f.exec(statements...)
	return f.delivered()
}

// fence takes a fence.
func (f *follower) fence() source.Position {
	f.t.Helper()
	pos, err := f.feed.Fence(f.ctx)
	if err != nil {
		f.t.Fatalf("Fence: %v", err)
	}
	return pos
}

// delivered takes a fence and returns the transactions up to it.
func (f *follower) delivered() []*source.Tx {
	f.t.Helper()
	pos := f.fence()
	txs := f.r.take()
	for _, tx := range txs {
		if tx.Pos > pos {
			f.t.Errorf("the fence is at %d, but %d was delivered before it", pos, tx.Pos)
		}
	}
	f.eventually("all that was delivered is settled", func() bool {
		settled, err := f.feed.Settled(f.ctx, txs)
		if err != nil || len(settled) != len(txs) {
			f.t.Fatalf("Settled of %d = %v, %v", len(txs), settled, err)
		}
		for _, ok := range settled {
			if !ok {
				return false
			}
		}
		return true
	})
	return txs
}

// saw checks that txs tell of a row.
func (f *follower) saw(txs []*source.Tx, table string, columns []string, key row.Key) {
	f.t.Helper()
	if !named(txs, f.id(table), columns, key) && !(f.coarse && whole(txs, f.id(table))) {
		f.t.Errorf("%s %v = %s is not among %s", table, columns, key, text(txs))
	}
}

// text writes transactions for an error.
func text(txs []*source.Tx) string {
	out := ""
	for _, tx := range txs {
		if len(tx.Changes) > 20 {
			out += fmt.Sprintf("[%d changes, tables %v] ", len(tx.Changes), tx.Tables)
			continue
		}
		out += fmt.Sprintf("%+v ", *tx)
	}
	return "[" + out + "]"
}

// changes checks single rows. base keeps two ways to write apart.
func (f *follower) changes(base int) {
	deptno, empno := []string{"deptno"}, []string{"empno"}
	n := row.Key(itoa(base))
	txs := f.do("INSERT INTO dept VALUES (" + itoa(base) + ", 'NEW', NULL)")
	f.saw(txs, "dept", deptno, n)
	f.saw(f.do("UPDATE dept SET dname = 'X' WHERE deptno = "+itoa(base)), "dept", deptno, n)
	txs = f.do("UPDATE dept SET deptno = " + itoa(base+1) + " WHERE deptno = " + itoa(base))
	f.saw(txs, "dept", deptno, n)
	f.saw(txs, "dept", deptno, row.Key(itoa(base+1)))
	f.saw(f.do("DELETE FROM dept WHERE deptno = "+itoa(base+1)), "dept", deptno,
		row.Key(itoa(base+1)))

	f.do("INSERT INTO emp (empno, deptno) VALUES (" + itoa(base) + ", 10)")
	txs = f.do("UPDATE emp SET deptno = 20 WHERE empno = " + itoa(base))
	f.moved(txs, "10", row.Key(itoa(base)))
	f.saw(txs, "emp", deptno, "20")
	txs = f.do("UPDATE emp SET deptno = NULL WHERE empno = " + itoa(base))
	f.moved(txs, "20", row.Key(itoa(base)))
	f.saw(f.do("DELETE FROM emp WHERE empno = "+itoa(base)), "emp", empno, row.Key(itoa(base)))

	city := []string{"name", "state"}
	txs = f.do("INSERT INTO city VALUES ('A, B%', 'CD', " + itoa(base) + ")")
	f.saw(txs, "city", city, "A%2C B%25,CD")
	f.saw(f.do("DELETE FROM city WHERE state = 'CD'"), "city", city, "A%2C B%25,CD")
	txs = f.do("INSERT INTO word VALUES ('it''s " + itoa(base) + "', 'x')")
	f.saw(txs, "word", []string{"id"}, row.Key("it's "+itoa(base)))

	txs = f.do("INSERT INTO note (body) VALUES ('nobody watches')")
	if !f.coarse && (len(txs) > 0 && whole(txs, f.id("dept"))) {
		f.t.Errorf("a table that nobody watches dropped others: %s", text(txs))
	}
	txs = f.do("INSERT INTO dept VALUES ("+itoa(base+5)+", 'A', NULL)",
		"INSERT INTO dept VALUES ("+itoa(base+6)+", 'B', NULL)")
	f.saw(txs, "dept", deptno, row.Key(itoa(base+5)))
	f.saw(txs, "dept", deptno, row.Key(itoa(base+6)))
}

// moved checks that the document which lost a child can be found: its key is
// told, or the child's identity is.
func (f *follower) moved(txs []*source.Tx, from, child row.Key) {
	f.t.Helper()
	if !named(txs, f.id("emp"), []string{"deptno"}, from) {
		f.saw(txs, "emp", []string{"empno"}, child)
	}
}

// bulk checks that many rows become the table, and that emptying it is told.
func (f *follower) bulk(base int) {
	txs := f.do(bulkInsert(base, base+source.BulkRows+50))
	if !whole(txs, f.id("big")) {
		f.t.Errorf("%d rows are not told as the whole table", source.BulkRows+51)
	}
	for _, tx := range txs {
		if len(tx.Changes) > source.BulkRows {
			f.t.Errorf("a transaction has %d changes", len(tx.Changes))
		}
	}
	f.do("INSERT INTO city VALUES ('Rome', 'IT', 1), ('Bern', 'CH', 1)")
	txs = f.do(fmt.Sprintf(f.env.Dialect.Empty, "city"))
	if !whole(txs, f.id("city")) {
		f.saw(txs, "city", []string{"name", "state"}, "Rome,IT")
		f.saw(txs, "city", []string{"name", "state"}, "Bern,CH")
	}
}

// rollback checks that what is undone is not told.
func (f *follower) rollback() {
	f.fence()
	f.r.take()
	f.env.Exec(f.t, "BEGIN", "INSERT INTO dept VALUES (90, 'UNDONE', NULL)", "ROLLBACK")
	err := f.src.Exec(f.ctx, "INSERT INTO dept VALUES (91, 'UNDONE', NULL)",
		"INSERT INTO dept VALUES (10, 'TWICE', NULL)")
	if source.ClassOf(err) != source.Conflict {
		f.t.Errorf("error %v, want a conflict", err)
	}
	// That another table has changed as a whole, such as the one that was emptied
	// before, may be told again at any time.
	for _, tx := range f.delivered() {
		if len(tx.Changes) > 0 || tx.All || slices.Contains(tx.Tables, f.id("dept")) {
			f.t.Errorf("undone transactions were delivered: %s", text([]*source.Tx{tx}))
		}
	}
}

// planWrite checks that a write of a document is told like any other, and that
// its position covers it.
func (f *follower) planWrite() {
	p := f.compile(depts())
	f.fence()
	f.r.take()
	out := f.writeOK(p, source.OpReplace, "70", `{"deptName":"T","emps":[{"empNo":70}]}`)
	pos := f.fence()
	if pos < out.Position {
		f.t.Errorf("the fence is at %d, the write before it at %d", pos, out.Position)
	}
	txs := f.r.take()
	f.saw(txs, "dept", []string{"deptno"}, "70")
	f.saw(txs, "emp", []string{"deptno"}, "70")
	f.writeOK(p, source.OpReplace, "70", `{"deptName":"T","emps":[]}`)
	f.moved(f.delivered(), "70", "70")
}

// schemaChange checks that a new column is noticed, and rows after it.
func (f *follower) schemaChange() {
	f.env.Exec(f.t, "ALTER TABLE dept ADD COLUMN extra text")
	f.env.Exec(f.t, "INSERT INTO dept (deptno, dname) VALUES (95, 'AFTER')")
	f.eventually("the new column is told", func() bool { return f.r.sawSchema(f.id("dept")) })
	f.fence()
	if txs := f.r.take(); !whole(txs, f.id("dept")) &&
		!named(txs, f.id("dept"), []string{"deptno"}, "95") {
		f.t.Errorf("the row after the new column is not told: %s", text(txs))
	}
}

// others checks that the feed follows other tables as it runs: it tells of what it follows from
// then on, and goes on with the rest. What it leaves open settles.
func (f *follower) others(fc FeedCase) {
	few := f.watched()
	note := f.id("note")
	more := append(f.watched(), source.Watched{Table: note, Columns: []string{"id", "body"}})
	if fc.Doctor {
		f.applyDoctor(fc.Mode, more)
	}
	own := func(statement string) {
		if err := f.src.Exec(f.ctx, statement); err != nil {
			f.t.Fatal(err)
		}
	}
	foreign := func(statement string) { f.env.Exec(f.t, statement) }
	attached := f.r.beginnings()
	for i, tables := range [][]source.Watched{more, few, more, append(more[3:], more[0])} {
		f.fence()
		before, err := f.feed.Follow(f.ctx, tables)
		if err != nil {
			f.t.Fatalf("Follow of %d tables: %v", len(tables), err)
		}
		f.eventually("what was passed over is settled", func() bool {
			passed := []*source.Tx{{ID: before, Tables: []string{note}}}
			settled, err := f.feed.Settled(f.ctx, passed)
			return err == nil && settled[0]
		})
		f.r.take()
		for j, exec := range []func(string){own, foreign} {
			n := row.Key(itoa(50_000 + 10*i + j))
			body := row.Key("others " + n)
			exec("INSERT INTO note (body) VALUES ('" + string(body) + "')")
			exec("INSERT INTO dept (deptno, dname) VALUES (" + string(n) + ", 'X')")
			txs := f.delivered()
			coarse := j == 1 && fc.Coarse && whole(txs, note)
			told := coarse || named(txs, note, []string{"body"}, body)
			if follows := len(tables) != len(few); told != follows && !coarse {
				f.t.Errorf("Follow %d, way %d: note is told: %v; %s", i, j, told, text(txs))
			}
			if !coarse {
				f.saw(txs, "dept", []string{"deptno"}, n)
			}
		}
	}
	if n := f.r.beginnings(); n != attached {
		f.t.Errorf("the feed has begun anew %d times", n-attached)
	}
}
