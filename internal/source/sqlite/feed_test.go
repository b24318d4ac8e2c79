package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A followed is a running feed that remembers what it was told.
type followed struct {
	t    testing.TB
	feed source.Feed
	done chan error
	stop context.CancelFunc

	mu       sync.Mutex // guards what follows
	origins  []string
	txs      []*source.Tx
	schema   int
	advanced source.Position
}

func (f *followed) Attached(origin string, _ source.Position, _ uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.origins = append(f.origins, origin)
}

func (f *followed) Apply(tx *source.Tx) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.txs = append(f.txs, tx)
}

func (f *followed) Advance(pos source.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advanced = pos
}

func (f *followed) SchemaChanged([]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.schema++
}

// follow runs a feed over s until the test ends.
func follow(t testing.TB, s *Source, w []source.Watched) *followed {
	t.Helper()
	feed, _, err := s.OpenFeed(context.Background(), source.FeedAuto, w)
	if err != nil {
		t.Fatal(err)
	}
	f := &followed{t: t, feed: feed}
	f.start()
	t.Cleanup(func() { _ = f.end() })
	return f
}

// start runs the feed and waits until it is attached once more.
func (f *followed) start() {
	f.t.Helper()
	var ctx context.Context
	ctx, f.stop = context.WithCancel(context.Background())
	f.done = make(chan error, 1)
	before := f.attached()
	done := f.done
	go func() { done <- f.feed.Run(ctx, f) }()
	poll(f.t, func() bool { return f.attached() > before })
}

// end stops the feed and returns what Run returned.
func (f *followed) end() error {
	f.stop()
	err := <-f.done
	f.done <- err
	return err
}

func (f *followed) attached() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.origins)
}

func (f *followed) schemas() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.schema
}

// fence takes a fence and returns what was delivered since the last.
func (f *followed) fence() []*source.Tx {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Limit(time.Minute))
	defer cancel()
	if _, err := f.feed.Fence(ctx); err != nil {
		f.t.Fatalf("Fence: %v", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.txs
	f.txs = nil
	return out
}

// poll waits until ok holds.
func poll(t testing.TB, ok func() bool) {
	t.Helper()
	waittest.Until(t, "what is polled", ok)
}

// all reports whether txs say that everything changed.
func all(txs []*source.Tx) bool {
	for _, tx := range txs {
		if tx.All {
			return true
		}
	}
	return false
}

// keys returns the keys of a table that txs name, old and new.
func keys(txs []*source.Tx, columns ...string) map[row.Key]bool {
	out := make(map[row.Key]bool)
	for _, tx := range txs {
		for _, c := range tx.Changes {
			for _, tuple := range []source.Tuple{c.Old, c.New} {
				if k, ok := tuple.Key(columns); ok && k != "" {
					out[k] = true
				}
			}
		}
	}
	return out
}

var childSchema = []string{
	"CREATE TABLE child (id integer PRIMARY KEY, code text UNIQUE, parent integer, body text)",
	"INSERT INTO child VALUES (1, 'one', 10, ''), (2, 'two', 20, ''), (3, 'three', 30, '')",
}

var childWatch = []source.Watched{{Table: "child", Columns: []string{"parent", "id"}}}

// installLog applies what Doctor asks for.
func installLog(t testing.TB, s *Source, w []source.Watched) {
	t.Helper()
	findings, err := s.Doctor(context.Background(), source.FeedSQLite, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Exec(context.Background(), findings[0].Apply...); err != nil {
		t.Fatal(err)
	}
}

// TestFeed_TellsWhatReplaceDeletes checks the rows that REPLACE deletes because
// they share a key or another unique value: no ordinary trigger fires for them.
func TestFeed_TellsWhatReplaceDeletes(t *testing.T) {
	path, c := newFile(t, "WAL", childSchema...)
	s := openTest(t, path, Options{})
	installLog(t, s, childWatch)
	f := follow(t, s, childWatch)
	ways := map[string]func(string){
		"own": func(sql string) {
			if err := s.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		},
		"foreign": func(sql string) { run(t, c, sql) },
	}
	tests := []struct {
		sql     string
		parents []row.Key
	}{
		{"REPLACE INTO child VALUES (1, 'one', 40, '')", []row.Key{"10", "40"}},
		{"REPLACE INTO child VALUES (9, 'two', 40, '')", []row.Key{"20", "40"}},
		{"REPLACE INTO child (rowid, code, parent) VALUES (3, 'x', 50)", []row.Key{"30", "50"}},
		{"UPDATE OR REPLACE child SET code = 'two' WHERE id = 1", []row.Key{"10", "20"}},
		{"UPDATE OR REPLACE child SET id = 2 WHERE id = 3", []row.Key{"30", "20"}},
		{"INSERT INTO child VALUES (1, 'one', 60, '') ON CONFLICT DO UPDATE SET parent = 61",
			[]row.Key{"10", "61"}},
		{"DELETE FROM child", []row.Key{"10", "20", "30"}},
	}
	for name, exec := range ways {
		for _, test := range tests {
			exec("DELETE FROM child")
			exec(childSchema[1])
			f.fence()
			exec(test.sql)
			txs := f.fence()
			got := keys(txs, "parent")
			for _, p := range test.parents {
				if !got[p] || all(txs) {
					t.Errorf("%s: %s told %v (all %v), want %s", name, test.sql, got, all(txs), p)
				}
			}
		}
	}
}

// TestFeed_OwnWritesAreNotForeign checks that hotrow's own commits, of which
// there are enough for checkpoints, never look like another program's, and are
// told once although they are in the change log too.
func TestFeed_OwnWritesAreNotForeign(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		path, c := newFile(t, mode, childSchema...)
		s := openTest(t, path, Options{})
		for _, logged := range []bool{false, true} {
			if logged {
				installLog(t, s, childWatch)
			}
			f := follow(t, s, childWatch)
			for i := range 300 {
				sql := fmt.Sprintf("UPDATE child SET body = hex(randomblob(4000)), parent = %d "+
					"WHERE id = 1", i)
				if err := s.Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
			if txs := f.fence(); len(txs) != 300 || all(txs) {
				t.Errorf("%s, log %v: 300 commits told as %d, all %v",
					mode, logged, len(txs), all(txs))
			}
			run(t, c, "UPDATE child SET parent = 77 WHERE id = 2")
			txs := f.fence()
			if len(txs) != 1 || all(txs) == logged || logged && len(txs[0].Changes) != 1 {
				t.Errorf("%s, log %v: another program's commit told as %+v", mode, logged, txs)
			}
			_ = f.end()
		}
	}
}

// TestFeed_TellsForeignCommitsBeforeOwnOnesAfterThem checks that the position of a
// write includes what other programs had committed before it, noticed or not.
func TestFeed_TellsForeignCommitsBeforeOwnOnesAfterThem(t *testing.T) {
	path, c := newFile(t, "WAL", childSchema...)
	s := openTest(t, path, Options{})
	for _, logged := range []bool{false, true} {
		if logged {
			installLog(t, s, childWatch)
		}
		f := follow(t, s, childWatch)
		f.fence()
		const rounds = 100
		var own []source.Position
		for i := range rounds {
			run(t, c, fmt.Sprintf("UPDATE child SET parent = %d WHERE id = 2", i))
			pos, err := s.Tx(t.Context(), func(tx source.StoreTx) error {
				_, err := tx.Exec(t.Context(), "UPDATE child SET parent = ? WHERE id = 1", i)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			own = append(own, pos)
		}
		txs := f.fence()
		if len(txs) != 2*rounds {
			t.Fatalf("log %v: %d transactions told, want %d", logged, len(txs), 2*rounds)
		}
		for i, pos := range own {
			if txs[2*i].Pos >= pos || txs[2*i+1].Pos != pos || txs[2*i].All == logged {
				t.Fatalf("log %v, write %d at %d: told %+v before %+v", logged, i, pos, txs[2*i],
					txs[2*i+1])
			}
		}
		_ = f.end()
	}
}

func TestFeed_HoleInTheLogIsEverything(t *testing.T) {
	path, c := newFile(t, "WAL", childSchema...)
	s := openTest(t, path, Options{})
	installLog(t, s, childWatch)
	f := follow(t, s, childWatch)
	f.fence()
	run(t, c, "BEGIN", "UPDATE child SET parent = 1", "DELETE FROM hotrow_changes", "COMMIT")
	if txs := f.fence(); !all(txs) {
		t.Errorf("a hole was told as %+v", txs)
	}
	run(t, c, "UPDATE child SET parent = 2 WHERE id = 1")
	if txs := f.fence(); all(txs) || !keys(txs, "parent")["2"] {
		t.Errorf("after the hole: %+v", txs)
	}
	run(t, c, fmt.Sprintf("UPDATE sqlite_sequence SET seq = seq + %d", 2*logKeeps))
	if txs := f.fence(); !all(txs) {
		t.Errorf("a jump was told as %+v", txs)
	}
}

// TestFeed_LogTrimsItself checks that the log does not grow without end.
func TestFeed_LogTrimsItself(t *testing.T) {
	path, c := newFile(t, "WAL", childSchema...)
	s := openTest(t, path, Options{})
	installLog(t, s, childWatch)
	run(t, c, fmt.Sprintf("UPDATE sqlite_sequence SET seq = %d", 5*logKeeps-2),
		"UPDATE child SET parent = 1", "UPDATE child SET parent = 2")
	if n := text(t, c, "SELECT count(*) FROM hotrow_changes"); n != "6" {
		t.Fatalf("the log has %s rows, want 6", n)
	}
	run(t, c, fmt.Sprintf("UPDATE sqlite_sequence SET seq = %d", 7*logKeeps-1),
		"UPDATE child SET parent = 3 WHERE id = 1")
	if n := text(t, c, "SELECT count(*) FROM hotrow_changes"); n != "1" {
		t.Errorf("the log has %s rows after it was trimmed, want 1", n)
	}
}

// TestFeed_NoticesDDL checks our own DDL, another's, and that a change log
// whose triggers no longer fit is not believed.
func TestFeed_NoticesDDL(t *testing.T) {
	path, c := newFile(t, "WAL", childSchema...)
	s := openTest(t, path, Options{})
	f := follow(t, s, childWatch)
	installLog(t, s, childWatch) // while the feed runs: it is used from then on
	if txs := f.fence(); !all(txs) || f.schemas() == 0 {
		t.Errorf("our own DDL was told as %+v, schema %d", txs, f.schemas())
	}
	run(t, c, "UPDATE child SET parent = 5 WHERE id = 1")
	if txs := f.fence(); all(txs) || !keys(txs, "parent")["5"] {
		t.Errorf("with the log: %+v", txs)
	}
	before := f.schemas()
	run(t, c, "DROP TRIGGER hotrow_child_update")
	if txs := f.fence(); !all(txs) || f.schemas() == before {
		t.Errorf("another's DDL was told as %+v", txs)
	}
	run(t, c, "UPDATE child SET parent = 6 WHERE id = 1")
	if txs := f.fence(); !all(txs) {
		t.Errorf("without one trigger: %+v", txs)
	}
	// Our hook must name the columns as another program has just renamed them.
	run(t, c, "ALTER TABLE child RENAME COLUMN parent TO mother")
	if err := s.Exec(t.Context(), "UPDATE child SET mother = 8 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	if txs := f.fence(); !all(txs) {
		t.Errorf("a renamed column: %+v", txs)
	}
}

// TestFeed_FenceDoesNotWaitForAnothersTransaction checks that a write of ours
// that waits for another program's lock does not hold up the feed.
func TestFeed_FenceDoesNotWaitForAnothersTransaction(t *testing.T) {
	path, c := newFile(t, "WAL", childSchema...)
	s := openTest(t, path, Options{})
	f := follow(t, s, childWatch)
	run(t, c, "BEGIN IMMEDIATE")
	ctx, cancel := context.WithCancel(t.Context())
	wrote := make(chan error, 1)
	go func() { wrote <- s.Exec(ctx, "DELETE FROM child") }()
	for range 20 {
		begin := time.Now()
		f.fence()
		if took := time.Since(begin); waittest.Late(took, time.Second) {
			t.Fatalf("a fence took %s", took)
		}
	}
	cancel()
	err := <-wrote // which may have been canceled before it has met the lock
	if class := source.ClassOf(err); class != source.Busy && class != source.Unavailable {
		t.Errorf("the write: %v, want class Busy", err)
	}
	run(t, c, "ROLLBACK")
}

// TestFeed_FollowsAnotherFileAtThePath checks that a replaced file ends Run,
// and that the next Run reads and follows the new one.
func TestFeed_FollowsAnotherFileAtThePath(t *testing.T) {
	path, c := newFile(t, "DELETE", childSchema...)
	next, _ := newFile(t, "DELETE", childSchema...)
	s := openTest(t, path, Options{})
	p, err := s.Compile(t.Context(), &source.Spec{Name: "child", Table: "child"})
	if err != nil {
		t.Fatal(err)
	}
	f := follow(t, s, childWatch)
	f.fence()
	_ = c.Close()
	cn := foreign(t, next)
	run(t, cn, "UPDATE child SET body = 'of the new file'")
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
	err = <-f.done
	f.done <- err
	if !errors.Is(err, errReplaced) {
		t.Fatalf("Run: %v, want errReplaced", err)
	}
	if _, err := f.feed.Fence(t.Context()); !errors.Is(err, errNotRunning) {
		t.Errorf("Fence: %v, want errNotRunning", err)
	}
	f.start()
	if f.origins[0] == f.origins[1] {
		t.Error("the new file has the origin of the old")
	}
	out, err := p.Load(t.Context(), []row.Key{"1"})
	if err != nil {
		t.Fatal(err)
	}
	doc := string(p.Shape().AppendJSON(nil, out[0].Values))
	if want := `{"id":1,"code":"one","parent":10,"body":"of the new file"}`; doc != want {
		t.Errorf("document %s, want %s", doc, want)
	}
	run(t, foreign(t, path), "UPDATE child SET parent = 5")
	if txs := f.fence(); !all(txs) {
		t.Errorf("a write to the new file was told as %+v", txs)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	err = <-f.done
	f.done <- err
	if !errors.Is(err, errReplaced) {
		t.Errorf("Run after the file is deleted: %v", err)
	}
	if err := f.feed.Run(t.Context(), f); err == nil {
		t.Error("Run without a file succeeded")
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("the deleted file was made again")
	}
}

// TestFeed_BoundsWhatWaits checks that a handler which does not come along
// costs bounded memory and loses nothing.
func TestFeed_BoundsWhatWaits(t *testing.T) {
	f := &Feed{wake: make(chan struct{}, 1), tables: childWatch}
	for i := range 3*maxQueued + 10 {
		f.push(&event{tx: &source.Tx{Pos: source.Position(i + 1)}, schema: i == 5})
	}
	if len(f.queue) > maxQueued+1 {
		t.Fatalf("%d transactions wait", len(f.queue))
	}
	h := &followed{}
	if pos := f.deliver(h); pos != 3*maxQueued+10 || !all(h.txs) || h.schema != 1 {
		t.Errorf("delivered to %d, all %v, schema %d", pos, all(h.txs), h.schema)
	}
}

// TestWriter_NamesColumnsAsTheyAreNow checks that a transaction of ours after
// another program's DDL, which no feed has seen yet, names the new columns.
func TestWriter_NamesColumnsAsTheyAreNow(t *testing.T) {
	path, c := newFile(t, "WAL", childSchema...)
	s := openTest(t, path, Options{})
	s.watchMore(func(l *watchList) { l.addColumns("child", []string{"id", "parent"}) })
	run(t, c, "ALTER TABLE child RENAME COLUMN parent TO was",
		"ALTER TABLE child RENAME COLUMN body TO parent")
	var got []source.Change
	_, err := s.writerNow().change(t.Context(), func(c *conn) error {
		return c.execOnce(t.Context(), "UPDATE child SET parent = 'new' WHERE id = 1")
	}, func(changes []source.Change, _ source.Position) { got = changes })
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 {
		t.Fatalf("changes = %+v, want one", got)
	}
	if k, ok := got[0].New.Key([]string{"parent", "id"}); !ok || k != "new,1" {
		t.Errorf("the change names %q (%v), want new,1", k, ok)
	}
}

// TestWriter_ForgetsWhatIsRolledBackWithin checks a transaction that is undone
// and begun anew by its own statements, and one that commits by itself.
func TestWriter_ForgetsWhatIsRolledBackWithin(t *testing.T) {
	path, _ := newFile(t, "WAL", childSchema...)
	s := openTest(t, path, Options{})
	f := follow(t, s, childWatch)
	f.fence()
	err := s.Exec(t.Context(), "INSERT INTO child (id, parent) VALUES (50, 50)", "ROLLBACK",
		"BEGIN", "INSERT INTO child (id, parent) VALUES (51, 51)")
	if err != nil {
		t.Fatal(err)
	}
	if got := keys(f.fence(), "id"); got["50"] || !got["51"] {
		t.Errorf("told %v, want 51 alone", got)
	}
	for i, last := range []string{"SELECT 1", "not a statement"} {
		insert := fmt.Sprintf("INSERT INTO child (id) VALUES (%d)", 60+i)
		if err := s.Exec(t.Context(), insert, "COMMIT", last); err == nil {
			t.Error("a COMMIT among the statements succeeded")
		}
		if txs := f.fence(); !all(txs) {
			t.Errorf("what it committed was told as %+v, want everything", txs)
		}
	}
}
