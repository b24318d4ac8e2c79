package mysql

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// The log has COMPRESSED columns as types of their own, and what it says of the columns
// behind them is found only by who knows these.
func TestMariaDB_FeedReadsCompressedColumns(t *testing.T) {
	if dbtest.IsMySQL() {
		t.Skip("MySQL has none")
	}
	f := follow(t, dbtest.MariaDB(t), append([]string{
		`CREATE TABLE note (id int PRIMARY KEY, body varchar(2000) COMPRESSED, more text COMPRESSED,
			price decimal(10,2), name varchar(300))`,
		`CREATE TABLE late (body varchar(200) COMPRESSED, name varchar(300), id int PRIMARY KEY)`,
		`CREATE TABLE other (id int PRIMARY KEY, body blob COMPRESSED)`,
	}, flatSchema...), "note id name price", "late id body", "t id")
	f.want(one(`INSERT INTO other VALUES (1, REPEAT('long body ', 90))`))
	f.want(one(`INSERT INTO note VALUES (1, REPEAT('long body ', 90), REPEAT('more ', 90), 1.5, 'n')`),
		"note I ->(id=1 name=n price=1.50)")
	f.want(one(`INSERT INTO note VALUES (2, 'b', NULL, 2, 'short'), (3, NULL, NULL, 3, 'none')`),
		"note I ->(id=2 name=short price=2.00); note I ->(id=3 name=none price=3.00)")
	f.want(one(`UPDATE note SET body = REPEAT('x', 900) WHERE id = 2`),
		"note U (id=2 name=short price=2.00)->(id=2 name=short price=2.00)")
	f.want(one(`INSERT INTO late VALUES (REPEAT('y', 100), 'l', 7)`), "late*")
	f.want(one(`INSERT INTO late VALUES (NULL, 'l', 8)`), "late I ->(id=8 body null)")
	f.want([]string{`SET SESSION binlog_row_image = MINIMAL`, `DELETE FROM note WHERE id = 2`}, "note*")
	f.want([]string{`SET SESSION binlog_row_image = FULL`, `BEGIN`, countUp,
		`UPDATE late SET name = 'm'`, `DELETE FROM note WHERE id = 1`, `COMMIT`},
		countedUp+"; note D (id=1 name=n price=1.50)->; late*")
	if n := f.rec.epochs(); n != 1 {
		t.Errorf("%d epochs, want one", n)
	}
}

// A tamperer passes on what a server sends, and does something to what follows a text.
type tamperer struct {
	listener net.Listener
	to       string
	mark     []byte
	with     []byte // what is put behind mark; nil: the connection is cut there
	met      atomic.Int64
	working  sync.WaitGroup
}

// tamper puts a tamperer in front of the server at a URL, and returns the URL through it.
func tamper(t *testing.T, at string, mark, with string) (*tamperer, string) {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	p := &tamperer{to: u.Host, mark: []byte(mark), with: []byte(with)}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	p.working.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.working.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() { _ = p.listener.Close(); p.working.Wait() })
	return p, u.String()
}

func (p *tamperer) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	p.working.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	defer server.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if i := bytes.Index(buf[:n], p.mark); i >= 0 {
			p.met.Add(1)
			if len(p.with) == 0 {
				return
			}
			copy(buf[i+len(p.mark):], p.with)
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// A lines is a log that several write.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// tampered returns a fixture that is connected by a tamperer, and its log. The table torn has
// two integers, which stand behind its name in the log.
func tampered(t *testing.T, with string) (*fixture, *tamperer, *lines) {
	t.Helper()
	at := dbtest.MariaDB(t)
	p, through := tamper(t, at, "\x04torn\x00\x02", with)
	log := new(lines)
	f := &fixture{t: t, conn: foreign(t, at), rec: new(recorder), src: openSource(t, through,
		Options{Log: slog.New(slog.NewTextHandler(log, nil))})}
	run(t, f.conn, feedSchema...)
	run(t, f.conn, `CREATE TABLE torn (id int PRIMARY KEY, v int)`)
	return f, p, log
}

// An event that cannot be read ends the feed, which begins anew behind it, though what is kept
// would let it go on from before; and nothing of the event is told.
func TestMariaDB_FeedBeginsAnewBehindWhatItCannotRead(t *testing.T) {
	f, p, log := tampered(t, "\x03\xf7") // a type that no log has
	kept := f.followed()
	run(t, f.conn, `INSERT INTO torn VALUES (1, 1)`)
	rec, _ := f.again(kept, false)
	await(t, "the feed begins anew", func() bool { return f.rec.epochs() > 0 && f.tryFence() })
	f.rec.take()
	f.want(one(`UPDATE dept SET loc = 'B' WHERE deptno = 10`), "dept U (deptno=10)->(deptno=10)")
	if rec.goesOn() > 1 || f.rec.epochs() != 1 || p.met.Load() > 3 {
		t.Errorf("it has gone on %d times, begun %d times and met the event %d times",
			rec.goesOn(), f.rec.epochs(), p.met.Load())
	}
	run(t, f.conn, `INSERT INTO torn VALUES (2, 2)`)
	await(t, "the feed begins anew again", func() bool { return f.rec.epochs() == 2 && f.tryFence() })
	if text := log.String(); strings.Contains(text, "torn") {
		t.Errorf("the log has data of the event: %s", text)
	}
}

// A stream that breaks at once, each time, is not opened without a pause.
func TestMariaDB_FeedPausesBetweenStreamsThatBreak(t *testing.T) {
	f, _, log := tampered(t, "")
	f.start("dept deptno")
	run(t, f.conn, `INSERT INTO torn VALUES (1, 1)`)
	broke := func() int { return strings.Count(log.String(), "trying to go on") }
	await(t, "a cut", func() bool { return broke() > 0 })
	first := time.Now()
	await(t, "six cuts", func() bool { return broke() >= 6 })
	if d := time.Since(first); d < 250*time.Millisecond { // 0, 20, 40, 80 and 160 ms
		t.Errorf("six streams broke within %v:\n%s", d, log)
	}
}
