package sqlcache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hotrow/hotrow/internal/waittest"
)

// rowsOfTruth are the tables of the test: those of writers who write through hotrow, and of one who
// writes the database itself. Values are cast, keys are made, rows go with others.
const rowsOfTruth = `CREATE TABLE mine (id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, of int NOT NULL, k int, n int);
	CREATE INDEX ON mine (of, k);
	CREATE TABLE whole (id int PRIMARY KEY, of int NOT NULL, k int, n int); ALTER TABLE whole REPLICA IDENTITY FULL;
	CREATE TABLE pair (id int, of int, k int, n int, m int GENERATED ALWAYS AS (n + 1) STORED, PRIMARY KEY (of, id));
	CREATE TABLE named (name text PRIMARY KEY, id int NOT NULL, of int NOT NULL, k int, n numeric(8, 0));
	CREATE TABLE part (id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
		of int NOT NULL, part int REFERENCES whole ON DELETE CASCADE ON UPDATE CASCADE);
	CREATE FUNCTION puts(int, int) RETURNS void LANGUAGE sql AS 'UPDATE whole SET n = $2 WHERE id = $1;
		UPDATE mine SET n = $2 WHERE id = $1';
	CREATE TABLE theirs (id int PRIMARY KEY, n int); INSERT INTO theirs SELECT i, 0 FROM generate_series(1, 20) i;`

// tablesOfTruth are those that writers write, each its own rows.
var tablesOfTruth = []string{"mine", "whole", "pair", "named"}

// A pool is sessions through hotrow, of which a writer takes any at each step.
type pool struct {
	free chan *pgx.Conn
	open func(i int) *pgx.Conn
	n    atomic.Int64
}

// allModes are those in which the sessions of a pool send statements.
var allModes = []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec}

func newPool(t *testing.T, url string, n int, modes ...pgx.QueryExecMode) *pool {
	p := &pool{free: make(chan *pgx.Conn, n)}
	p.open = func(i int) *pgx.Conn {
		c := connect(t, url, modes[i%len(modes)])
		if i%8 > 3 { // their commits are answered before they are on disk
			run(t, c, "SET synchronous_commit = off")
		}
		return c
	}
	for i := range n {
		p.free <- p.open(i)
	}
	return p
}

func (p *pool) with(f func(c *pgx.Conn)) {
	c := <-p.free
	defer func() { p.free <- c }()
	f(c)
}

// cut sends a statement in a session whose connection is lost at once. It returns when the server's
// process has ended: then what the statement did is known.
func (p *pool) cut(t *testing.T, direct *pgx.Conn, sql string) {
	c := <-p.free
	pid := c.PgConn().PID()
	h, err := c.PgConn().Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = h.Conn.Write(group(t, &pgproto3.Query{String: sql}))
	_ = h.Conn.Close()
	waittest.Until(t, "the session has ended", func() bool {
		there := true
		err := direct.QueryRow(context.Background(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)",
			pid).Scan(&there)
		return err == nil && !there
	})
	p.free <- p.open(int(p.n.Add(1)))
}

// A fact is a row as its writer knows it.
type fact struct{ k, n int }

// A writer knows what its rows are: nobody else writes them.
type writer struct {
	t      *testing.T
	p      *pool
	direct *pgx.Conn // nil: no connection is cut
	r      *rand.Rand
	of     int
	table  string
	rows   map[int]fact
	ids    []int       // of rows, in their order
	parts  map[int]int // how many of a row of whole
	reads  *atomic.Int64
	writes *atomic.Int64
	last   int // the key of a row that was added last
}

// maxRows is how many rows a writer has: what they should be is cheap to say then.
const maxRows = 25

func (w *writer) put(id int, f fact) {
	if _, had := w.rows[id]; !had {
		at, _ := slices.BinarySearch(w.ids, id)
		w.ids = slices.Insert(w.ids, at, id)
	}
	w.rows[id] = f
}

func (w *writer) remove(id int) {
	if at, had := slices.BinarySearch(w.ids, id); had {
		w.ids = slices.Delete(w.ids, at, at+1)
	}
	delete(w.rows, id)
	delete(w.parts, id)
}

func (w *writer) any() int {
	if len(w.ids) == 0 {
		return 0
	}
	return w.ids[w.r.IntN(len(w.ids))]
}

// key returns the condition on the key of a row; its parameters begin behind those that are given.
func (w *writer) key(id int, args ...any) (string, []any) {
	at := len(args) + 1
	switch w.table {
	case "pair":
		return fmt.Sprintf("of = $%d AND id = $%d", at, at+1), append(args, w.of, id)
	case "named":
		return fmt.Sprintf("name = $%d", at), append(args, w.name(id))
	}
	return fmt.Sprintf("id = $%d", at), append(args, id)
}

func (w *writer) name(id int) string { return fmt.Sprint("r", w.of, "-", id) }

// literal returns the same without parameters.
func (w *writer) literal(id int) string {
	switch w.table {
	case "pair":
		return fmt.Sprintf("(id = %d) AND of IN (%d)", id, w.of)
	case "named":
		return "name = '" + w.name(id) + "'"
	}
	return fmt.Sprint(w.table, ".id = ", id)
}

func (w *writer) exec(sql string, args ...any) {
	w.p.with(func(c *pgx.Conn) {
		if _, err := c.Exec(context.Background(), sql, args...); err != nil {
			w.t.Errorf("%s: %v", sql, err)
		}
	})
}

// together sends statements as one simple query, and returns the error that ends it.
func (w *writer) together(sql string) (err error) {
	w.p.with(func(c *pgx.Conn) { _, err = c.PgConn().Exec(context.Background(), sql).ReadAll() })
	return err
}

// newKey returns a key that no row of the writer has; 0: the table makes it.
func (w *writer) newKey() int {
	if w.table == "mine" {
		return 0
	}
	for {
		id := w.of*1_000_000 + w.r.IntN(2*maxRows)
		if _, had := w.rows[id]; !had {
			return id
		}
	}
}

// insert adds a row, as a statement that gives its key or does not.
func (w *writer) insert(k, n int) {
	id, sql, args := w.newKey(), "INSERT INTO "+w.table+" (of, k, n) VALUES ($1, $2, $3)", []any{w.of, k, n}
	switch w.table {
	case "whole", "pair":
		sql, args = "INSERT INTO "+w.table+" (of, k, n, id) VALUES ($1, $2, $3, $4)", append(args, id)
	case "named":
		sql = "INSERT INTO named (of, k, n, id, name) VALUES ($1, $2, $3, $4, $5)"
		args = append(args, id, w.name(id))
	}
	w.p.with(func(c *pgx.Conn) {
		if err := c.QueryRow(context.Background(), sql+" RETURNING id", args...).Scan(&id); err != nil {
			w.t.Errorf("insert: %v", err)
		}
	})
	w.last = id
	w.put(id, fact{k, n})
}

// aWrite is one way to write, of a row that is there.
type aWrite func(w *writer, id, k, n int)

// set returns a write that sets n of one row, by a text made of the table, n and a condition.
func set(format string) aWrite {
	return func(w *writer, id, _, n int) {
		if err := w.together(fmt.Sprintf(format, w.table, n, w.literal(id))); err != nil {
			w.t.Errorf("%s: %v", format, err)
		}
		w.put(id, fact{w.rows[id].k, n})
	}
}

// fails returns a write of one row that is for nothing: the text ends with an error, or undoes it.
func fails(format string) aWrite {
	return func(w *writer, id, _, n int) {
		err := w.together(fmt.Sprintf(format, w.table, n, w.literal(id)))
		if e, ok := err.(*pgconn.PgError); err != nil && (!ok || e.Code != "22012") {
			w.t.Errorf("%s: %v", format, err)
		}
	}
}

var truthWrites = []aWrite{
	func(w *writer, id, _, n int) {
		where, args := w.key(id, n)
		w.exec("UPDATE "+w.table+" SET n = $1 WHERE "+where, args...)
		w.put(id, fact{w.rows[id].k, n})
	},
	func(w *writer, id, k, _ int) {
		where, args := w.key(id, k)
		w.exec("UPDATE "+w.table+" SET k = $1 WHERE "+where, args...)
		w.put(id, fact{k, w.rows[id].n})
	},
	func(w *writer, id, _, n int) { // the column rounds
		where, args := w.key(id)
		w.exec(fmt.Sprintf("UPDATE %s SET n = %d.7 WHERE %s", w.table, n, where), args...)
		w.put(id, fact{w.rows[id].k, n + 1})
	},
	func(w *writer, id, k, _ int) { // many rows, by what is no key
		w.exec(fmt.Sprintf("UPDATE %s SET n = n + 1, k = $1 WHERE of = $2 AND k = $3", w.table), k, w.of, w.rows[id].k)
		for i, f := range w.rows {
			if old := w.rows[id].k; f.k == old && i != id {
				w.put(i, fact{k, f.n + 1})
			}
		}
		w.put(id, fact{k, w.rows[id].n + 1})
	},
	func(w *writer, id, _, _ int) {
		where, args := w.key(id)
		w.exec("DELETE FROM "+w.table+" WHERE "+where, args...)
		w.remove(id)
	},
	func(w *writer, id, _, _ int) { // the row has another key, and so has what goes with it
		if w.table != "whole" && w.table != "pair" {
			return
		}
		to := w.newKey()
		w.exec(fmt.Sprintf("UPDATE %s SET n = n, id = $1 WHERE id = $2", w.table), to, id)
		f, parts := w.rows[id], w.parts[id]
		w.remove(id)
		w.put(to, f)
		w.parts[to] = parts
	},
	func(w *writer, id, _, _ int) {
		if w.table == "whole" {
			w.exec("INSERT INTO part (of, part) VALUES ($1, $2)", w.of, id)
			w.parts[id]++
		}
	},
	func(w *writer, id, _, n int) {
		if w.table == "whole" || w.table == "mine" { // a function of users
			w.exec("SELECT puts($1, $2)", id, n)
			w.put(id, fact{w.rows[id].k, n})
		}
	},
	func(w *writer, id, k, n int) { // steps of a transaction, which may be for nothing
		end := []string{"COMMIT", "ROLLBACK", "COMMIT AND NO CHAIN"}[w.r.IntN(3)]
		w.p.with(func(c *pgx.Conn) {
			for _, sql := range []string{"BEGIN",
				fmt.Sprintf("UPDATE %s SET n = %d WHERE %s", w.table, n, w.literal(id)),
				fmt.Sprintf("SELECT n FROM %s WHERE %s", w.table, w.literal(id)), end} {
				if _, err := c.Exec(context.Background(), sql); err != nil {
					w.t.Errorf("%s: %v", sql, err)
				}
			}
		})
		if end != "ROLLBACK" {
			w.put(id, fact{w.rows[id].k, n})
		}
	},
	func(w *writer, id, k, n int) { // statements that are sent without a wait for answers
		where, args := w.key(id, n)
		b := new(pgx.Batch)
		b.Queue("UPDATE "+w.table+" SET n = $1 WHERE "+where, args...)
		args = slices.Clone(args)
		args[0] = k
		b.Queue("UPDATE "+w.table+" SET k = $1 WHERE "+where, args...)
		w.p.with(func(c *pgx.Conn) {
			if err := c.SendBatch(context.Background(), b).Close(); err != nil {
				w.t.Errorf("batch: %v", err)
			}
		})
		w.put(id, fact{k, n})
	},
	func(w *writer, id, _, n int) { // the connection is lost between the COMMIT and its answer
		if w.direct == nil || w.r.IntN(20) > 0 {
			return
		}
		where := w.literal(id)
		w.p.cut(w.t, w.direct, fmt.Sprintf("UPDATE %s SET n = %d WHERE %s", w.table, n, where))
		err := w.direct.QueryRow(context.Background(), "SELECT n::int FROM "+w.table+" WHERE "+where).Scan(&n)
		if err != nil {
			w.t.Errorf("what the server has: %v", err)
		}
		w.put(id, fact{w.rows[id].k, n})
	},
	set("UPDATE ONLY %s SET n = %d WHERE %s"),
	set("UPDATE %s SET (n, k) = (%d, k) WHERE %s RETURNING *"),
	set("BEGIN; UPDATE %s SET n = %d WHERE %s; COMMIT"),
	set("BEGIN; SAVEPOINT a; UPDATE %s SET n = %d WHERE %s; RELEASE a; COMMIT"),
	set("DO $$ BEGIN UPDATE %s SET n = %d WHERE %s; END $$"),
	set("WITH x AS (UPDATE %s SET n = %d WHERE %s RETURNING n) SELECT n FROM x"),
	set("SET search_path = public; UPDATE %s SET n = %d WHERE %s; RESET search_path"),
	set("PREPARE p AS UPDATE %s SET n = %d WHERE %s; EXECUTE p; DEALLOCATE p"),
	set("SELECT 1; UPDATE %s SET n = %d WHERE %s; SELECT 2"),
	set("UPDATE %s SET n = %d FROM (VALUES (1)) v (x) WHERE %s AND v.x = 1"),
	fails("UPDATE %s SET n = -%d WHERE %s; SELECT 1/0"),
	fails("BEGIN; UPDATE %s SET n = -%d WHERE %s; ROLLBACK"),
	fails("BEGIN; SAVEPOINT a; UPDATE %s SET n = -%d WHERE %s; ROLLBACK TO a; COMMIT"),
}

// write does one thing, by a session of the pool.
func (w *writer) write() {
	w.writes.Add(1)
	id, k, n := w.any(), w.r.IntN(4), w.r.IntN(1000)
	if id == 0 || len(w.ids) < maxRows && w.r.IntN(6) == 0 {
		w.insert(k, n)
		return
	}
	// Three of four are the ordinary ones in front: others close all that memory has.
	n, ways := w.r.IntN(1000), 5
	if w.r.IntN(4) == 0 {
		ways = len(truthWrites)
	}
	truthWrites[w.r.IntN(ways)](w, id, k, n)
}

// read asks one question, by any session of the pool, and knows the answer.
func (w *writer) read() {
	id, k := w.any(), w.r.IntN(4)
	if w.r.IntN(8) == 0 { // it is nobody's, or another's
		id = w.of*1_000_000 + w.r.IntN(2*maxRows)
		if w.table == "mine" {
			id = w.last + w.r.IntN(4)
		}
	}
	switch op := w.r.IntN(7); {
	case op < 3:
		var want []int
		if f, ok := w.rows[id]; ok {
			want = []int{f.k, f.n}
		}
		where, args := w.key(id)
		if w.table == "mine" {
			where, args = "id = $1 AND of = $2", append(args, w.of)
		}
		w.asks(want, "SELECT k, n FROM "+w.table+" WHERE "+where, args...)
	case op < 4:
		var want []int
		for _, i := range w.ids {
			if w.rows[i].k == k {
				want = append(want, i, w.rows[i].n)
			}
		}
		w.asks(want, fmt.Sprintf("SELECT id, n FROM %s WHERE of = $1 AND k = $2 ORDER BY id", w.table), w.of, k)
	case op < 5:
		n := 0
		for _, f := range w.rows {
			if f.k == k {
				n++
			}
		}
		w.asks([]int{n}, fmt.Sprintf("SELECT count(*) FROM %s WHERE of = $1 AND k IN ($2)", w.table), w.of, k)
	case op < 6:
		w.asks(w.top(k), fmt.Sprintf("SELECT id FROM %s WHERE of = $1 AND k = $2 ORDER BY n DESC, id LIMIT 2", w.table),
			w.of, k)
	default:
		w.asks([]int{w.parts[id]}, "SELECT count(*) FROM part WHERE part = $1 AND of = $2", id, w.of)
	}
}

// top returns the two rows of k that have the largest n.
func (w *writer) top(k int) (ids []int) {
	for _, i := range w.ids {
		if w.rows[i].k != k {
			continue
		}
		at := len(ids)
		for at > 0 && w.rows[ids[at-1]].n < w.rows[i].n {
			at--
		}
		ids = slices.Insert(ids, at, i)
		ids = ids[:min(len(ids), 2)]
	}
	return ids
}

// asks asks a question whose answer is known, of integers.
func (w *writer) asks(want []int, sql string, args ...any) {
	var got []int
	w.p.with(func(c *pgx.Conn) {
		rows, err := c.Query(context.Background(), sql, args...)
		if err != nil {
			w.t.Errorf("%s: %v", sql, err)
			return
		}
		var n [2]int
		into := []any{&n[0], &n[1]}[:len(rows.FieldDescriptions())]
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				w.t.Errorf("%s: %v", sql, err)
			}
			got = append(got, n[:len(into)]...)
		}
		if err := rows.Err(); err != nil {
			w.t.Errorf("%s: %v", sql, err)
		}
	})
	w.reads.Add(1)
	if !slices.Equal(got, want) {
		w.t.Errorf("%d: %s %v says %v, want %v", w.of, sql, args, got, want)
	}
}
