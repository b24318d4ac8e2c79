package sqlcache_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/sqlcache"
	"github.com/hotrow/hotrow/internal/waittest"
)

var (
	rounds = flag.Int("rounds", 400, "turns of each session of the stress test")
	reads  = flag.Int("reads", 0, "how many of 100 of them are nothing but a read")
)

// clients is how many sessions there are, each with a table that nobody else writes.
const clients = 4

// A world is what the stress test runs on: p and q belong to all, o0 to its session and so on.
const world = `CREATE TABLE p (id int PRIMARY KEY, k int, f float8, t timestamptz);
	INSERT INTO p SELECT i, i % 5, i / 7.0, '2024-03-04'::timestamptz + i * '1 hour'::interval
		FROM generate_series(1, 20) i;
	CREATE TABLE q (id int PRIMARY KEY, k int, v text); ALTER TABLE q REPLICA IDENTITY FULL;
	INSERT INTO q SELECT i, i % 5, 'v' || i FROM generate_series(1, 20) i;
	CREATE TABLE part (id int PRIMARY KEY, of int REFERENCES q ON DELETE CASCADE);
	CREATE SCHEMA other;
	CREATE FUNCTION moves() RETURNS int LANGUAGE plpgsql AS
		'BEGIN PERFORM set_config(''DateStyle'', ''German'', false); RETURN 1; END';
	DO $$ BEGIN CREATE ROLE stress_role; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
	GRANT USAGE ON SCHEMA public, other TO stress_role; GRANT SELECT ON p, q TO stress_role;`

// An actor is one session of the stress test.
type actor struct {
	t   *testing.T
	c   *pgx.Conn
	r   *rand.Rand
	own string
}

func (a *actor) do(sql string, args ...any) {
	rows, err := a.c.Query(a.t.Context(), sql, args...)
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	if err != nil && a.c.IsClosed() {
		a.t.Errorf("%s: %v", sql, err)
	}
}

// turn runs one or a few statements.
func (a *actor) turn() {
	id, k := a.r.IntN(22), a.r.IntN(5)
	if a.r.IntN(100) < *reads {
		a.read(id, k)
		return
	}
	switch n := a.r.IntN(100); {
	case n < 45:
		a.read(id, k)
	case n < 60: // what it has written itself it sees
		a.do("UPDATE "+a.own+" SET v = v + 1 WHERE id = $1", id)
		a.do("SELECT v FROM "+a.own+" WHERE id = $1", id)
	case n < 64:
		a.do("INSERT INTO "+a.own+" (k, v) VALUES ($1, 0)", k)
		a.do("SELECT count(*) FROM "+a.own+" WHERE k = $1", k)
	case n < 68:
		a.do("BEGIN")
		a.do("UPDATE "+a.own+" SET k = $1 WHERE id = $2", k, id)
		a.do("SELECT v FROM "+a.own+" WHERE id = $1", id)
		a.do([]string{"COMMIT", "ROLLBACK", "COMMIT AND NO CHAIN"}[a.r.IntN(3)])
		a.do("SELECT * FROM "+a.own+" WHERE k = $1", k)
	case n < 70:
		a.do("DELETE FROM "+a.own+" WHERE id = $1", id)
		a.do("SELECT * FROM " + a.own + " ORDER BY v DESC, id LIMIT 3")
	case n < 80:
		a.do("UPDATE p SET k = $1, f = f + 1 WHERE id = $2", k, id)
	case n < 86:
		a.do("UPDATE q SET k = $1, v = v || 'x' WHERE id = $2", k, id)
	case n < 88:
		a.do("DELETE FROM q WHERE id = $1", id)
		a.do("INSERT INTO q VALUES ($1, $2, 'new') ON CONFLICT DO NOTHING", id, k)
	case n < 89:
		a.sets()
	case n < 90 && a.r.IntN(8) == 0:
		a.do("ALTER TABLE " + a.own + " ALTER COLUMN k TYPE " + []string{"int8", "int4"}[a.r.IntN(2)])
		a.do("SELECT * FROM "+a.own+" WHERE id = $1", id)
	default:
		a.read(id, k)
	}
}

func (a *actor) read(id, k int) {
	switch a.r.IntN(8) {
	case 0:
		a.do("SELECT f, t FROM p WHERE id = $1", id%4)
	case 1:
		a.do("SELECT * FROM p WHERE k = $1", k)
	case 2:
		a.do("SELECT id FROM p ORDER BY f DESC, id LIMIT 3")
	case 3:
		a.do("SELECT v FROM q WHERE k = $1 AND id > 3", k)
	case 4:
		a.do("SELECT count(*) FROM q WHERE k IN (1, $1)", k)
	case 5:
		a.do("SELECT * FROM "+a.own+" WHERE k = $1 ORDER BY id", k)
	case 6:
		a.do("SELECT of FROM part WHERE of = $1", id)
	default:
		a.do("SELECT t FROM public.p WHERE id = $1", id%4)
	}
}

// sets changes the state of the session.
func (a *actor) sets() {
	a.do([]string{"SET DateStyle = 'SQL, DMY'", "SET DateStyle = 'ISO'", "RESET ALL", "SET ROLE stress_role",
		"RESET ROLE", "SET extra_float_digits = -10", "SET extra_float_digits = 1",
		"SET search_path = other, public", "SET search_path = public",
		"SET TimeZone = 'Asia/Tokyo'", "SET LOCAL TimeZone = 'UTC'"}[a.r.IntN(11)])
	if a.r.IntN(10) == 0 {
		a.do("SELECT moves()")
	}
	for range 10 {
		a.read(a.r.IntN(4), a.r.IntN(5))
	}
}

// others changes what other programs do, beside hotrow, until done is closed.
func others(t *testing.T, c *pgx.Conn, r *rand.Rand, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(r.IntN(5)) * time.Millisecond):
		}
		id, n := r.IntN(22), r.IntN(170)
		if r.IntN(200) == 0 { // a change of definitions, or of the server
			n = 170 + r.IntN(30)
		}
		sql := ""
		switch {
		case n < 120:
			sql = fmt.Sprintf("UPDATE p SET k = %d, t = t + '1 day' WHERE id = %d", r.IntN(5), id)
		case n < 170:
			sql = fmt.Sprintf("INSERT INTO q VALUES (%d, 1, 'o') ON CONFLICT (id) DO UPDATE SET k = %d",
				id, r.IntN(5))
		case n < 180:
			sql = fmt.Sprintf("DELETE FROM q WHERE id = %d", id)
		case n < 183:
			sql = "REVOKE SELECT ON p FROM stress_role"
		case n < 186:
			sql = "GRANT SELECT ON p TO stress_role"
		case n < 188:
			sql = "ALTER TABLE q ENABLE ROW LEVEL SECURITY"
		case n < 190:
			sql = "ALTER TABLE q DISABLE ROW LEVEL SECURITY"
		case n < 192:
			sql = "CREATE TABLE IF NOT EXISTS other.p AS TABLE p LIMIT 3"
		case n < 194:
			sql = "DROP TABLE IF EXISTS other.p"
		case n < 196:
			sql = "TRUNCATE part"
		case n < 197:
			sql = "ALTER TABLE p ADD COLUMN IF NOT EXISTS extra int DEFAULT 5"
		case n < 198:
			sql = "ALTER TABLE p DROP COLUMN IF EXISTS extra"
		case n < 199:
			sql = "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots" +
				" WHERE database = current_database() AND active_pid IS NOT NULL"
		default:
			sql = "ALTER SYSTEM SET bytea_output = '" + []string{"hex", "escape"}[r.IntN(2)] + "'"
			if _, err := c.Exec(t.Context(), sql); err == nil {
				sql = "SELECT pg_reload_conf()"
			}
		}
		if _, err := c.Exec(context.Background(), sql); err != nil && c.IsClosed() {
			t.Errorf("%s: %v", sql, err)
			return
		}
	}
}

// isOwn reports whether a shape is about a table that one session alone writes.
func isOwn(shape string) bool {
	return strings.Contains(shape, " o") && !strings.Contains(shape, " of ")
}

// ownHits returns how many hits there were of such tables.
func (s *stand) ownHits() (n uint64) {
	for _, one := range s.front.Statements() {
		if isOwn(one.Shape) {
			n += one.Memory.Hits
		}
	}
	return n
}

// stressed runs sessions beside each other and returns what was counted, of all tables and of those
// that one session alone writes.
func stressed(t *testing.T) (all, own sqlcache.Counts) {
	setup, tables := world, []string{"p", "q", "part"}
	for i := range clients {
		name := fmt.Sprint("o", i)
		setup += fmt.Sprintf("CREATE TABLE %s (id int PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY"+
			" (START 100), k int, v int); INSERT INTO %[1]s SELECT i, i %% 5, 0"+
			" FROM generate_series(1, 20) i; GRANT ALL ON %[1]s TO stress_role;", name)
		tables = append(tables, name)
	}
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup(setup)), tables...)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	done := make(chan struct{})
	var sessions, beside sync.WaitGroup
	direct := connect(t, s.database, pgx.QueryExecModeExec)
	beside.Go(func() { others(t, direct, rand.New(rand.NewPCG(seed, 0)), done) })
	deadline := waittest.Deadline(20 * time.Second) // for hits: on a fast machine turns alone are soon over
	for i := range clients {
		mode := []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
			pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe}[i%4]
		a := &actor{t: t, c: connect(t, s.url, mode), r: rand.New(rand.NewPCG(seed, uint64(i)+1)),
			own: fmt.Sprint("o", i)}
		sessions.Go(func() {
			for n := 0; n < *rounds || time.Now().Before(deadline) && s.ownHits() < 10; n++ {
				a.turn()
			}
		})
	}
	sessions.Wait()
	close(done)
	beside.Wait()
	s.settled()
	for _, one := range s.front.Statements() {
		m := one.Memory
		if m.Looks > 0 && testing.Verbose() {
			t.Logf("%+v %s", m, one.Shape)
		}
		all.Hits += m.Hits
		all.Same += m.Same
		all.Older += m.Older
		all.Wrong += m.Wrong
		all.Uncompared += m.Uncompared
		if isOwn(one.Shape) {
			own.Hits += m.Hits
			own.Older += m.Older
		}
	}
	t.Logf("%+v", s.front.Stats())
	t.Logf("all %+v", all)
	t.Logf("of own tables %+v", own)
	return all, own
}

// TestStress: beside writers, definitions, rights, row security, settings and feeds that are cut,
// memory would have answered no statement wrongly. Of a table that one session alone writes it would
// not even have answered with what was before.
func TestStress(t *testing.T) {
	all, own := stressed(t)
	if all.Wrong > 0 || all.Hits == 0 || own.Older > 0 || own.Hits == 0 {
		t.Error("see above")
	}
}
