package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// inTime fails the test unless f returns within d.
func inTime(t *testing.T, d time.Duration, what string, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); waittest.Late(took, d) {
		t.Errorf("%s took %v, more than %v", what, took, d)
	}
}

func loadErr(p *plan, key row.Key) error {
	_, err := p.Load(context.Background(), []row.Key{key})
	return err
}

func TestOpen_NeedsNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("postgres://u:hunter2@%s/db", l.Addr())
	l.Close()
	s := openSource(t, url, Options{AcquireTimeout: time.Second})
	_, err = s.Catalog(t.Context())
	var e *source.Error
	if !errors.As(err, &e) || e.Class != source.Unavailable || e.After == 0 {
		t.Errorf("got %v", err)
	}
	if strings.Contains(fmt.Sprintf("%+v %v", e, err), "hunter2") {
		t.Errorf("the error has the password: %v", err)
	}
	if err := s.Exec(t.Context(), "SELECT 1"); source.ClassOf(err) != source.Unavailable {
		t.Errorf("exec: %v", err)
	}
}

func TestOpen_RefusesBadURLs(t *testing.T) {
	for _, url := range []string{"postgres://h:port/db",
		"postgres://localhost/?default_query_exec_mode=simple_protocol",
		"postgres://localhost/?default_query_exec_mode=exec"} {
		if _, err := Open(t.Context(), url, Options{}); err == nil {
			t.Errorf("%s: no error", url)
		}
	}
}

func TestParseURL_AsksRemoteServersForTLS(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	for url, want := range map[string]bool{
		"postgres://db.example/x":                 true,
		"postgres://db.example/x?sslmode=disable": false,
		"host=10.1.2.3 dbname=x":                  true,
		"postgres://127.0.0.1/x?sslmode=disable":  false,
		"host=/run/postgresql dbname=x":           false,
		"postgres://h1.example:1,h2.example:2/x":  true,

		// Only a parameter says it, wherever else the words stand.
		"postgres://sslmode:sslmode=disable@db.example/x":              true,
		"postgres://u:service=a@db.example/sslmode":                    true,
		"postgres://u:a?sslmode=disable@db.example/x":                  true,
		"postgres://db.example/x?application_name=sslmode":             true,
		"postgres://db.example/x?application_name=service%3D":          true,
		"postgres://db.example/x?ssl=true":                             true,
		"postgres://db.example/x?application_name=a&%73slmode=disable": false,
		"postgres://db.example/x?":                                     true,
		"postgresql://db.example?sslmode=disable":                      false,
		"host=db.example password=sslmode=disable":                     true,
		"host=db.example password='a sslmode=disable'":                 true,
		`host=db.example password=a\ sslmode=disable`:                  true,
		`host=db.example password='it\'s sslmode=disable' dbname = x`:  true,
		"host=db.example application_name=service=":                    true,
		"host=db.example password='a b' sslmode = disable":             false,
		"sslmode=disable host=db.example":                              false,
	} {
		cfg, err := parseURL(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		tls := cfg.ConnConfig.TLSConfig
		if got := tls != nil && !tls.InsecureSkipVerify && tls.ServerName != ""; got != want {
			t.Errorf("%s: verifies the server: %v, want %v", url, got, want)
		}
	}
}

func TestPostgres_HangingListenerFailsInTime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := openSource(t, fmt.Sprintf("postgres://u@%s/db?sslmode=disable", l.Addr()),
		Options{AcquireTimeout: 200 * time.Millisecond, StatementTimeout: 200 * time.Millisecond})
	inTime(t, 2*time.Second, "Catalog", func() {
		if _, err := s.Catalog(t.Context()); source.ClassOf(err) != source.Unavailable {
			t.Errorf("got %v", err)
		}
	})
}

func TestPostgres_ServerThatComesAndGoes(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, nil)
	limit := waittest.Limit(300 * time.Millisecond)
	s := openSource(t, server.URL(), Options{AcquireTimeout: limit, StatementTimeout: limit})
	mustExec(t, s, scott...)
	p := mustCompile(t, s, deptSpec())
	load := func() error { return loadErr(p, "10") }
	for range 3 { // some idle connections
		mustLoad(t, p, "10")
	}

	server.Stop(dbtest.Fast)
	inTime(t, 2*time.Second, "Load without a server", func() {
		if err := load(); source.ClassOf(err) != source.Unavailable {
			t.Errorf("stopped: %v", err)
		}
	})
	server.Start()
	await(t, "a load", func() bool { return load() == nil })

	server.Pause()
	inTime(t, 3*time.Second, "Load from a frozen server", func() {
		if err := load(); source.ClassOf(err) != source.Unavailable {
			t.Errorf("frozen: %v", err)
		}
	})
	server.Resume()
	await(t, "a load", func() bool { return load() == nil })

	server.Stop(dbtest.Immediate)
	server.Start()
	await(t, "a load", func() bool { return load() == nil })
}

// endSessions ends every connection of hotrow's to this database.
const endSessions = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE application_name = 'hotrow' AND datname = current_database()`

func TestPostgres_LoadSurvivesALostConnection(t *testing.T) {
	s := newSource(t, scott...)
	p := mustCompile(t, s, deptSpec())
	const many = 4
	var conns []interface{ Release() }
	for range many {
		c, err := s.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for _, c := range conns {
		c.Release()
	}
	foreignExec(t, s.cfg.ConnString(), []string{endSessions})
	if err := loadErr(p, "10"); err != nil {
		t.Errorf("a load after all connections were ended: %v", err)
	}
	foreignExec(t, s.cfg.ConnString(), []string{endSessions})
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpMerge, Key: "10",
		Input: input(t, p, `{"deptLocation":"X"}`)})
	if err != nil {
		t.Errorf("a write after all connections were ended: %v", err)
	}
}

func TestPostgres_HerdStaysWithinThePool(t *testing.T) {
	url := dbtest.Postgres(t)
	s := openSource(t, url, Options{MaxConns: 3, AcquireTimeout: 20 * time.Second})
	mustExec(t, s, scott...)
	p := mustCompile(t, s, deptSpec())
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if err := loadErr(p, "10"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	st := s.Stats()
	if st.Max != 3 || st.InUse+st.Idle > 3 || st.Acquired < 200 ||
		st.Timeouts != 0 || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
}

func TestPostgres_NoPlaceInThePool(t *testing.T) {
	s := openSource(t, dbtest.Postgres(t), Options{MaxConns: 1,
		AcquireTimeout: time.Second}) // on a busy machine, too, enough to connect
	mustExec(t, s, scott...)
	p := mustCompile(t, s, deptSpec())
	conn, err := s.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var e *source.Error
	if err := loadErr(p, "10"); !errors.As(err,
		&e) || e.Class != source.Unavailable || e.After != time.Second {
		t.Errorf("got %v", err)
	}
	if st := s.Stats(); st.Timeouts != 1 || st.InUse != 1 {
		t.Errorf("%+v", st)
	}
	conn.Release()
	if err := loadErr(p, "10"); err != nil {
		t.Error(err)
	}
}

// blockDept keeps everybody from table dept until the function is called.
func blockDept(t *testing.T, url string) func() {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE dept IN ACCESS EXCLUSIVE "+
		"MODE"); err != nil {
		t.Fatal(err)
	}
	return func() { conn.Close(context.Background()) }
}

func TestPostgres_StatementTimeoutKeepsTheConnection(t *testing.T) {
	s := openSource(t, dbtest.Postgres(t), Options{MaxConns: 1,
		StatementTimeout: 100 * time.Millisecond})
	mustExec(t, s, scott...)
	p := mustCompile(t, s, deptSpec())
	mustLoad(t, p, "10")
	made := s.pool.Stat().NewConnsCount()
	unblock := blockDept(t, s.cfg.ConnString())
	err := loadErr(p, "10")
	unblock()
	var e *source.Error
	if !errors.As(err, &e) || e.Class != source.Busy || e.Code != "57014" {
		t.Errorf("got %v", err)
	}
	if err := loadErr(p, "10"); err != nil || s.pool.Stat().NewConnsCount() != made {
		t.Errorf("afterwards: %v, %d connections made, %d before", err,
			s.pool.Stat().NewConnsCount(), made)
	}
}

// A query that is run although no index answers it is given up with the time of a statement,
// and refused.
func TestPostgres_GuardGivesUpWhatTakesLong(t *testing.T) {
	s := openSource(t, dbtest.Postgres(t), Options{StatementTimeout: 500 * time.Millisecond})
	mustExec(t, s, "CREATE TABLE large (id integer PRIMARY KEY, n integer)",
		"INSERT INTO large SELECT i, i FROM generate_series(1, 20000) AS i")
	p := mustCompile(t, s, &source.Spec{Name: "large", Table: "large", Unguarded: true})
	q, err := query.Parse("n=eq.7", p.Table(), query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := p.Select(t.Context(), q); err != nil || len(found.Rows) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	conn, err := pgx.Connect(t.Context(), s.cfg.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE large"); err != nil {
		t.Fatal(err)
	}
	_, err = p.Select(t.Context(), q)
	var refused *query.Error
	if !errors.As(err, &refused) || refused.Code != query.CodeUnindexed ||
		!strings.HasPrefix(refused.Hint, "CREATE INDEX") {
		t.Errorf("%v", err)
	}
}

func TestPostgres_CloseEndsLoads(t *testing.T) {
	s := newSource(t, scott...)
	other := openSource(t, s.cfg.ConnString(), Options{StatementTimeout: time.Minute})
	p := mustCompile(t, other, deptSpec())
	defer blockDept(t, s.cfg.ConnString())()
	failed := make(chan error, 1)
	go func() { failed <- loadErr(p, "10") }()
	await(t, "the load to begin", func() bool { return other.Stats().InUse > 0 })
	inTime(t, 5*time.Second, "Close", func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
		if err := <-failed; source.ClassOf(err) != source.Unavailable {
			t.Errorf("got %v", err)
		}
	})
	if err := loadErr(p, "10"); source.ClassOf(err) != source.Unavailable {
		t.Errorf("after Close: %v", err)
	}
}

func TestPostgres_TableChangesUnderItsPlan(t *testing.T) {
	s := newSource(t, scott...)
	p := mustCompile(t, s, deptSpec())
	flat := mustCompile(t, s, &source.Spec{Name: "emps", Table: "emp", Only: true,
		Fields: map[string]source.FieldSpec{"empno": {}, "sal": {}}})
	want := jsonOf(p, mustLoad(t, p, "20")[0])
	mustLoad(t, flat, "7788")
	mustExec(t, s, "ALTER TABLE dept ADD COLUMN extra int", "ALTER TABLE emp ALTER sal TYPE bigint")
	if got := jsonOf(p, mustLoad(t, p, "20")[0]); got != want {
		t.Errorf("after int became bigint, in a record: %s", got)
	}
	if got := jsonOf(flat, mustLoad(t, flat, "7788")[0]); got != `{"empno":7788,"sal":3000}` {
		t.Errorf("after int became bigint: %s", got)
	}
	mustExec(t, s, "ALTER TABLE emp ALTER sal TYPE text")
	for _, p := range []*plan{p, flat} {
		key := map[*plan]row.Key{p: "20", flat: "7788"}[p]
		if err := loadErr(p, key); source.ClassOf(err) != source.Busy {
			t.Errorf("after it became text: %v", err)
		}
	}
	mustExec(t, s, "ALTER TABLE emp DROP sal")
	if err := loadErr(flat, "7788"); source.ClassOf(err) != source.Missing {
		t.Errorf("after it was dropped: %v", err)
	}
	mustExec(t, s, "DROP TABLE emp")
	if err := loadErr(flat, "7788"); source.ClassOf(err) != source.Missing {
		t.Errorf("after the table was dropped: %v", err)
	}
}

func TestPostgres_PreparedStatementThatIsGone(t *testing.T) {
	s := openSource(t, dbtest.Postgres(t), Options{MaxConns: 1})
	mustExec(t, s, scott...)
	p := mustCompile(t, s, deptSpec())
	mustLoad(t, p, "10")
	conn, err := s.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Conn().PgConn().Exec(t.Context(), "DEALLOCATE ALL").ReadAll(); err != nil {
		t.Fatal(err)
	}
	conn.Release()
	if err := loadErr(p, "10"); err != nil {
		t.Errorf("got %v", err)
	}
}

// What a URL wants of a server is asked of the server: that the session may not write is
// our own doing.
func TestPostgres_ReadOnlyByAURLThatWantsReadWrite(t *testing.T) {
	url := dbtest.Postgres(t)
	mustExec(t, openSource(t, url, Options{}), scott...)
	s := openSource(t, url+"&target_session_attrs=read-write", Options{ReadOnly: true})
	if err := loadErr(mustCompile(t, s, deptSpec()), "10"); err != nil {
		t.Errorf("a primary: %v", err)
	}
}

// serverAt returns the server that url leads to.
func serverAt(t *testing.T, url string) (s feed.Server) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	s.Origin, err = feed.OriginAt(t.Context(), conn.PgConn())
	if err != nil {
		t.Fatal(err)
	}
	s.Address = feed.AddressOf(conn.PgConn())
	return s
}

// Of several hosts the pinned server is taken, whichever place it has, and no other.
func TestPostgres_PinnedToOneOfSeveralHosts(t *testing.T) {
	t.Parallel()
	first, second := dbtest.NewPostgres(t, nil), dbtest.NewPostgres(t, nil)
	url := second.URL()
	second.Exec(strings.Join(scott, ";"))
	s := openSource(t, strings.Replace(url, second.Address(),
		first.Address()+","+second.Address(), 1), Options{})
	server := serverAt(t, url)
	for _, address := range []string{"", server.Address} {
		s.Pin(feed.Server{Origin: server.Origin, Address: address})
		if err := loadErr(mustCompile(t, s, deptSpec()), "10"); err != nil {
			t.Errorf("at %q: %v", address, err)
		}
		first.Pause() // a host that does not refuse either
	}
	first.Resume()
}

func TestPostgres_PinnedToOneCluster(t *testing.T) {
	s := newSource(t, scott...)
	p := mustCompile(t, s, deptSpec())
	s.Pin(feed.Server{Origin: "1"})
	if err := loadErr(p, "10"); source.ClassOf(err) != source.Unavailable {
		t.Errorf("another cluster: %v", err)
	}
	s.Pin(feed.Server{Origin: serverAt(t, s.cfg.ConnString()).Origin})
	if err := loadErr(p, "10"); err != nil {
		t.Errorf("the right cluster: %v", err)
	}
}
