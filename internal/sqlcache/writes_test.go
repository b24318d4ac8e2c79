package sqlcache_test

import (
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestServe_WritesOfOtherFronts: what was written through hotrow over HTTP, Redis or the wire, SQL reads
// at once: the row, and lists that it enters and leaves. What goes with it by a foreign key the feed
// tells.
func TestServe_WritesOfOtherFronts(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors+
		"CREATE TABLE part (id int PRIMARY KEY, of int REFERENCES a ON DELETE CASCADE);"+
		"ALTER TABLE a REPLICA IDENTITY FULL; CREATE INDEX ON a (score)")), never, "a", "part")
	c := connect(t, s.url, pgx.QueryExecModeExec)
	one := func(sql string) (n int) {
		if err := c.QueryRow(t.Context(), sql).Scan(&n); err != nil && err != pgx.ErrNoRows {
			t.Errorf("%s: %v", sql, err)
		}
		return n
	}
	a, _ := s.set.Lookup("a")
	parts, _ := s.set.Lookup("part")
	write := func(r *resource.Resource, op source.Op, id int, body string) {
		w := resource.Write{Op: op, Key: row.Key(strconv.Itoa(id))}
		if body != "" {
			var err error
			if w.Input, err = r.Shape().DecodeJSON([]byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want map[string]int) {
		t.Helper()
		for sql, n := range want {
			if got := one(sql); got != n {
				t.Errorf("%s says %d, want %d", sql, got, n)
			}
		}
	}
	for i := range 5 {
		id := 100 + i
		reads := map[string]int{"SELECT score FROM a WHERE id = " + strconv.Itoa(id): 0,
			"SELECT count(*) FROM a WHERE score = 77": 0, "SELECT id FROM a ORDER BY score DESC, id LIMIT 1": 6,
			"SELECT count(*) FROM part WHERE of = " + strconv.Itoa(id): 0}
		set := func(score, count, top, part int) {
			waittest.Until(t, "memory answers", func() bool { // what was before
				before := s.front.Stats().Hits
				for sql := range reads {
					one(sql)
				}
				return s.front.Stats().Hits == before+4
			})
			reads = map[string]int{"SELECT score FROM a WHERE id = " + strconv.Itoa(id): score,
				"SELECT count(*) FROM a WHERE score = 77":                  count,
				"SELECT id FROM a ORDER BY score DESC, id LIMIT 1":         top,
				"SELECT count(*) FROM part WHERE of = " + strconv.Itoa(id): part}
		}
		set(77, 1, id, 0)
		write(a, source.OpReplace, id, `{"id":`+strconv.Itoa(id)+`,"name":"n","score":77}`)
		read(reads)
		set(78, 0, id, 0)
		write(a, source.OpReplace, id, `{"id":`+strconv.Itoa(id)+`,"name":"n","score":78}`)
		read(reads)
		set(78, 0, id, 1)
		write(parts, source.OpReplace, id, `{"id":`+strconv.Itoa(id)+`,"of":`+strconv.Itoa(id)+`}`)
		read(reads)
		set(0, 0, 6, 0)
		write(a, source.OpDelete, id, "")
		goes := "SELECT count(*) FROM part WHERE of = " + strconv.Itoa(id)
		delete(reads, goes)
		read(reads)
		waittest.Until(t, "the feed has told what went with the row", func() bool { return one(goes) == 0 })
	}
}
