package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A copies is the simplest cache that a feed can keep right: documents by key,
// dropped by what the feed tells and the plan's deps make of it.
type copies struct {
	deps []source.Dep
	docs map[row.Key]string
}

func (c *copies) Attached(string, source.Position, uint64) { clear(c.docs) }
func (c *copies) Advance(source.Position)                  {}
func (c *copies) SchemaChanged([]string)                   {}

func (c *copies) Apply(tx *source.Tx) {
	for _, d := range c.deps {
		drop := tx.All
		for _, t := range tx.Tables {
			drop = drop || t == d.Table
		}
		for _, ch := range tx.Changes {
			if ch.Table != d.Table {
				continue
			}
			drop = drop || len(d.Columns) == 0
			for _, tuple := range []source.Tuple{ch.Old, ch.New} {
				if tuple == nil {
					continue
				}
				k, ok := tuple.Key(d.Columns)
				drop = drop || !ok
				delete(c.docs, k)
			}
		}
		if drop {
			clear(c.docs)
		}
	}
}

// TestStress_NoStaleCopy makes random changes, ours and another program's, by
// statements that change rows in every way SQLite knows, and compares all that
// a cache kept by the feed holds with the database after each. The seed is
// printed when it fails.
func TestStress_NoStaleCopy(t *testing.T) {
	for _, logged := range []bool{false, true} {
		for range 3 {
			seed := rand.Uint64()
			t.Run(fmt.Sprintf("log=%v/seed=%d", logged, seed), func(t *testing.T) {
				stress(t, rand.New(rand.NewPCG(seed, 1)), logged)
			})
		}
	}
}

// stress is one run of TestStress_NoStaleCopy.
func stress(t *testing.T, r *rand.Rand, logged bool) {
	path, c := newFile(t, []string{"WAL", "DELETE"}[r.IntN(2)],
		"CREATE TABLE p (id integer PRIMARY KEY, v integer)",
		"CREATE TABLE c (id integer, code integer UNIQUE, p integer REFERENCES p (id) "+
			"ON DELETE CASCADE ON UPDATE SET NULL, v integer, PRIMARY KEY (id)) "+
			[]string{"", "WITHOUT ROWID"}[r.IntN(2)],
		"CREATE INDEX c_p ON c (p)",
		"CREATE TABLE audit (n integer PRIMARY KEY, c integer)",
		// A trigger of the user's own that changes other rows of the same table.
		"CREATE TRIGGER spread AFTER UPDATE OF v ON c WHEN NEW.v % 7 = 0 BEGIN "+
			"UPDATE c SET v = NEW.v + 1 WHERE p = (SELECT max(p) FROM c); "+
			"INSERT INTO audit (c) VALUES (NEW.id); END")
	run(t, c, "PRAGMA foreign_keys=1")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "p", Embeds: []source.Embed{{Name: "cs",
		On: []string{"p"}, Spec: &source.Spec{Table: "c"}}}})
	w := []source.Watched{{Table: "p", Columns: []string{"id"}},
		{Table: "c", Columns: []string{"p", "id"}}}
	if logged {
		installLog(t, s, w)
	}
	h := &copies{deps: p.Deps(), docs: make(map[row.Key]string)}
	feed, _, err := s.OpenFeed(t.Context(), source.FeedSQLite, w)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- feed.Run(ctx, h) }()
	defer func() { cancel(); <-done }()
	poll(t, func() bool { return fence(feed) == nil })
	for step := range 250 {
		var sql []string
		for range 1 + r.IntN(3) {
			sql = append(sql, change(r))
		}
		if r.IntN(2) == 0 {
			// A statement that fails undoes the transaction: nothing may change.
			_ = s.Exec(t.Context(), sql...)
		} else {
			_, _ = c.ExecContext(t.Context(), sql[0])
		}
		if err := fence(feed); err != nil {
			t.Fatal(err)
		}
		compare(t, p, h, step, sql)
	}
}

// fence takes a fence. When it returns the handler is idle, unless somebody
// writes: so its copies may be read.
func fence(feed source.Feed) error {
	ctx, cancel := context.WithTimeout(context.Background(), waittest.Limit(time.Minute))
	defer cancel()
	_, err := feed.Fence(ctx)
	return err
}

// compare checks every copy against the database, and fills in those that are
// missing.
func compare(t *testing.T, p source.Plan, h *copies, step int, sql []string) {
	t.Helper()
	var keys []row.Key
	for i := range 12 {
		keys = append(keys, row.JoinKey(fmt.Sprint(i)))
	}
	out, err := p.Load(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range out {
		now := ""
		if l.Found() {
			now = string(p.Shape().AppendJSON(nil, l.Values))
		}
		if kept, ok := h.docs[keys[i]]; ok && kept != now {
			t.Fatalf("step %d %q: the copy of %s is %s, the row is %s",
				step, sql, keys[i], kept, now)
		}
		h.docs[keys[i]] = now
	}
}

// change returns a random statement.
func change(r *rand.Rand) string {
	p, c, v := r.IntN(12), r.IntN(40), r.IntN(1000)
	switch r.IntN(14) {
	case 0:
		return fmt.Sprintf("INSERT OR IGNORE INTO p VALUES (%d, %d)", p, v)
	case 1:
		return fmt.Sprintf("REPLACE INTO p VALUES (%d, %d)", p, v)
	case 2:
		return fmt.Sprintf("DELETE FROM p WHERE id = %d", p)
	case 3:
		return fmt.Sprintf("UPDATE p SET id = %d WHERE id = %d", r.IntN(12), p)
	case 4, 5:
		return fmt.Sprintf("INSERT OR IGNORE INTO c SELECT %d, %d, max(id), %d FROM p "+
			"WHERE id <= %d", c, r.IntN(40), v, p)
	case 6, 7:
		return fmt.Sprintf("REPLACE INTO c SELECT %d, %d, max(id), %d FROM p WHERE id <= %d",
			c, r.IntN(40), v, p)
	case 8:
		return fmt.Sprintf("UPDATE OR REPLACE c SET code = %d WHERE id = %d", r.IntN(40), c)
	case 9:
		return fmt.Sprintf("UPDATE OR REPLACE c SET id = %d WHERE id = %d", r.IntN(40), c)
	case 10:
		return fmt.Sprintf("UPDATE c SET p = (SELECT max(id) FROM p WHERE id <= %d) "+
			"WHERE id = %d", p, c)
	case 11:
		return fmt.Sprintf("UPDATE c SET v = %d WHERE id %% 3 = %d", v, r.IntN(3))
	case 12:
		return fmt.Sprintf("INSERT INTO c VALUES (%d, %d, NULL, 1) "+
			"ON CONFLICT DO UPDATE SET v = v + 1", c, r.IntN(40))
	}
	if r.IntN(10) == 0 {
		return "DELETE FROM c"
	}
	return fmt.Sprintf("DELETE FROM c WHERE code = %d", r.IntN(40))
}
