package sqlfront

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestSession_Cancel: a client that cancels reaches its own statement, and nobody another's.
func TestSession_Cancel(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t), way{})
	a, b := connect(t, s.url), connect(t, s.url)
	for range 3 {
		done := make(chan error, 1)
		go func() {
			_, err := a.Exec(context.Background(), "SELECT pg_sleep(600)")
			done <- err
		}()
		waittest.Until(t, "it runs", func() bool {
			var n int
			if err := b.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
				WHERE query = 'SELECT pg_sleep(600)' AND state = 'active'`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n == 1
		})
		if err := b.PgConn().CancelRequest(t.Context()); err != nil { // nothing runs there
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatalf("another's request has ended it: %v", err)
		default:
		}
		if err := a.PgConn().CancelRequest(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-done; stateOf(err) != "57014" {
			t.Fatalf("the statement ended with %v", err)
		}
	}
	stranger := dialRaw(t, s.url)
	stranger.write(cancelPacket([]byte("nobodyis")))
	if said, err := io.ReadAll(stranger); len(said) > 0 || err != nil {
		t.Errorf("a wrong key hears %q, %v", said, err)
	}
	if c := s.front.Stats().Cancels; c["passed"] != 6 || c["unknown"] != 1 || c["failed"] != 0 {
		t.Errorf("counted as %v", c)
	}
	var pid uint32
	if err := a.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil || pid != a.PgConn().PID() {
		t.Errorf("the process is %d, the client knows %d, %v", pid, a.PgConn().PID(), err)
	}
}

// TestSession_NotifyAndCopy: what the server sends by itself comes, and large data goes both ways.
func TestSession_NotifyAndCopy(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t), way{})
	c, other := connect(t, s.url), connect(t, s.url)
	run(t, c, "LISTEN ears", "CREATE TABLE big (a int, b text)")
	run(t, other, "NOTIFY ears, 'hear'")
	n, err := c.WaitForNotification(t.Context())
	if err != nil || n.Payload != "hear" || n.PID != other.PgConn().PID() {
		t.Errorf("heard %+v, %v", n, err)
	}
	rows := strings.Repeat("1\t"+strings.Repeat("x", 1000)+"\n", 20_000)
	if _, err := c.PgConn().CopyFrom(t.Context(), strings.NewReader(rows), "COPY big FROM STDIN"); err != nil {
		t.Fatal(err)
	}
	var back bytes.Buffer
	if _, err := other.PgConn().CopyTo(t.Context(), &back, "COPY big TO STDOUT"); err != nil || back.String() != rows {
		t.Errorf("%d of %d bytes come back, %v", back.Len(), len(rows), err)
	}
}

func run(t *testing.T, c *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// TestSession_CutAnywhere: a client that ends its side after any byte, and one that hangs up,
// leaves nothing behind here and at the server.
func TestSession_CutAnywhere(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t), way{})
	var whole []byte
	whole = append(whole, startupPacket("user", "postgres", "database", "postgres")...)
	whole = append(whole, msg('Q', "SELECT 1")...)
	whole = append(whole, ask("SELECT repeat('x', 100000)", 0)...)
	for cut := 0; cut <= len(whole); cut += 3 {
		half, hung := dialRaw(t, s.url), dialRaw(t, s.url)
		half.write(whole[:cut])
		hung.write(whole[:cut])
		if err := half.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		_ = hung.Conn.(*net.TCPConn).SetLinger(0)
		_ = hung.Close()
		said := half.rest()
		if cut == len(whole) && !bytes.Contains(said, bytes.Repeat([]byte("x"), 100000)) {
			t.Errorf("who ended its side has %d bytes of the answer", len(said))
		}
	}
	waittest.Until(t, "the sessions have ended", func() bool { return s.front.Stats().Open == 0 })
	waittest.Until(t, "the server's, too", func() bool {
		return strings.TrimSpace(dbtest.Psql(t, s.database, `SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND datname = 'postgres';`)) == "0"
	})
}

// TestSession_TheServersEnd reaches the client with the server's last words.
func TestSession_TheServersEnd(t *testing.T) {
	server := dbtest.NewPostgres(t, nil)
	s := newStand(t, server.URL(), way{})
	ended := logIn(t, s.url)
	server.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend'" +
		" AND pid <> pg_backend_pid();")
	if said := ended.rest(); !bytes.Contains(said, []byte("C57P01")) {
		t.Errorf("whose session was ended hears %q", tail(said))
	}
	stopped := logIn(t, s.url)
	server.Stop(dbtest.Fast)
	if said := stopped.rest(); !bytes.Contains(said, []byte("C57P01")) {
		t.Errorf("when the server stops a client hears %q", tail(said))
	}
	server.Start()
	killed := connect(t, s.url)
	server.Kill()
	if err := killed.Ping(t.Context()); err == nil {
		t.Error("a killed server answers")
	}
	server.Stop(dbtest.Immediate)
	server.Start()
	connect(t, s.url)
}

// TestSession_BackpressureIsBounded: a peer that takes nothing costs a bound, whichever it is.
func TestSession_BackpressureIsBounded(t *testing.T) {
	server := dbtest.NewPostgres(t, nil)
	s := newStand(t, server.URL(), way{})
	deaf := logIn(t, s.url)
	deaf.write(msg('Q', "SELECT repeat('x', 1000000) FROM generate_series(1, 200)"))
	unsent := func() int64 { return s.front.opts.Load().Unsent.Stats().Bytes }
	waittest.Until(t, "bytes wait", func() bool { return unsent() > 0 })
	if n := unsent(); n > int64(front.SQLChunk) {
		t.Errorf("%d bytes wait for a client", n)
	}
	deaf.until(1)
	if n := unsent(); n != 0 {
		t.Errorf("%d bytes wait when all is taken", n)
	}

	writer := logIn(t, s.url)
	server.Pause()
	var wrote int
	_ = writer.SetWriteDeadline(time.Now().Add(2 * time.Second))
	part := msg('d', bytes.Repeat([]byte("y"), 1<<20))
	for wrote < 1<<30 {
		n, err := writer.Write(part)
		wrote += n
		if err != nil {
			break
		}
	}
	if wrote >= 1<<30 || unsent() == 0 || unsent() > int64(front.SQLChunk) {
		t.Errorf("%d bytes were taken for a server that takes none; %d count as not taken", wrote, unsent())
	}
	server.Resume()
}

// TestSession_Shutdown ends idle sessions at once, and others behind their transaction.
func TestSession_Shutdown(t *testing.T) { both(t, shutdown) }

func shutdown(t *testing.T, w way) {
	t.Helper()
	s := newStand(t, dbtest.Postgres(t), w)
	idle, busy := logIn(t, s.url), connect(t, s.url)
	run(t, busy, "CREATE TABLE t (a int)", "BEGIN", "INSERT INTO t VALUES (1)")
	done := make(chan error, 1)
	go func() { done <- s.site.Shutdown(context.Background()) }()
	if said := idle.rest(); !bytes.Contains(said, []byte("C"+stateStopping)) {
		t.Errorf("an idle client hears %q", tail(said))
	}
	run(t, busy, "INSERT INTO t VALUES (2)", "COMMIT")
	if err := busy.Ping(t.Context()); err == nil {
		t.Error("behind its transaction the session is still there")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := strings.TrimSpace(dbtest.Psql(t, s.database, "SELECT count(*) FROM t;")); n != "2" {
		t.Errorf("%s rows were committed", n)
	}
	if _, err := net.Dial("tcp", s.site.addr.String()); err == nil {
		t.Error("it still listens")
	}
}

// TestSession_ShutdownCutsAtItsLimit what does not end.
func TestSession_ShutdownCutsAtItsLimit(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t), way{})
	busy := connect(t, s.url)
	run(t, busy, "BEGIN")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.site.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown of a session in a transaction: %v", err)
	}
	var e *pgconn.PgError
	if err := busy.Ping(t.Context()); err == nil || errors.As(err, &e) {
		t.Errorf("its client: %v", err)
	}
}

// TestSession_IdleOnesAreSmall: the memory of sessions that do nothing.
func TestSession_IdleOnesAreSmall(t *testing.T) {
	server := dbtest.NewPostgres(t, map[string]string{"max_connections": "230"})
	s := newStand(t, server.URL(), way{})
	logIn(t, s.url)
	before := heap()
	const sessions = 200
	for range sessions {
		logIn(t, s.url)
	}
	each := (heap() - before) / sessions
	t.Logf("%d bytes a session, with the test's own client", each)
	if each > 24<<10 {
		t.Errorf("an idle session has %d bytes", each)
	}
}

// heap returns what is in use, stacks and all.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
