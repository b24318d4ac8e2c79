package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// feedPatience bounds every wait of these tests.
var feedPatience = waittest.Limit(20 * time.Second)

// A recorder is a handler that writes down what it is told.
type recorder struct {
	mu       sync.Mutex
	attached []string
	txs      []*source.Tx
	schema   []string
	pos      source.Position
	times    []time.Time // when each of txs came
	wrong    error       // positions that went back
}

// Attached writes down what is to be settled of before as a transaction.
func (r *recorder) Attached(origin string, pos source.Position, before uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attached = append(r.attached, origin)
	r.pos = pos
	if before != 0 {
		tx := &source.Tx{ID: before, Pos: pos, All: true}
		r.txs, r.times = append(r.txs, tx), append(r.times, time.Now())
	}
}

func (r *recorder) Apply(tx *source.Tx) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.txs, r.times = append(r.txs, tx), append(r.times, time.Now())
	r.moved(tx.Pos)
}

func (r *recorder) Advance(pos source.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved(pos)
}

func (r *recorder) moved(pos source.Position) {
	if pos < r.pos {
		r.wrong = fmt.Errorf("position %d after %d", pos, r.pos)
	}
	r.pos = pos
}

func (r *recorder) SchemaChanged(tables []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.schema = append(r.schema, tables...)
}

// taken returns the transactions since the last call, one line each.
func (r *recorder) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, tx := range r.txs {
		out = append(out, txText(tx))
	}
	r.txs, r.times = nil, nil
	return out
}

// txText writes a transaction as "dept U (deptno=10)->(deptno=11); emp*".
func txText(tx *source.Tx) string {
	var parts []string
	if tx.All {
		parts = append(parts, "all")
	}
	for _, c := range tx.Changes {
		parts = append(parts, fmt.Sprintf("%s %c %s->%s", strings.TrimPrefix(c.Table, "public."),
			"IUD"[c.Op], tupleText(c.Old), tupleText(c.New)))
	}
	for _, t := range tx.Tables {
		parts = append(parts, strings.TrimPrefix(t, "public.")+"*")
	}
	return strings.Join(parts, "; ")
}

func tupleText(t source.Tuple) string {
	if t == nil {
		return ""
	}
	var parts []string
	for _, c := range t {
		if c.Null {
			parts = append(parts, c.Column+" null")
		} else {
			parts = append(parts, c.Column+"="+c.Text)
		}
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// await waits until ok says true.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	waittest.Until(t, what, ok)
}

// A fixture is a database with a feed of it that runs.
type fixture struct {
	t      testing.TB
	url    string
	conn   *pgx.Conn
	src    feed.Config
	feed   source.Feed
	rec    *recorder
	cancel context.CancelFunc
	done   chan error
}

// feedSchema is the seed's schema in small.
const feedSchema = `
	CREATE TABLE dept (deptno int PRIMARY KEY, dname text, loc text);
	CREATE TABLE emp (empno int PRIMARY KEY, ename text, deptno int REFERENCES dept);
	INSERT INTO dept VALUES (10, 'ACCOUNTING', 'NEW YORK'), (20, 'RESEARCH', 'DALLAS');
	INSERT INTO emp VALUES (7839, 'KING', 10), (7566, 'JONES', 20);`

var feedTables = []source.Watched{
	{Table: "public.dept", Columns: []string{"deptno"}},
	{Table: "public.emp", Columns: []string{"empno", "deptno"}},
}

func feedConn(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.RuntimeParams["client_encoding"] = "UTF8" // whatever the database's is
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func sourceOf(t testing.TB, url string) feed.Config {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return feed.Config{
		Conn: cfg, Log: slog.New(slog.DiscardHandler), Pin: func(feed.Server) {}, Explain: pooled,
		Names: feed.Names{Publication: feed.DefaultPublication, Prefix: channelPrefix},
	}
}

// feedOpen opens a feed of the database at url without running it.
func feedOpen(
	t testing.TB, url string, mode source.FeedMode, tables []source.Watched,
) (source.Feed, string) {
	t.Helper()
	feed, why, err := openFeed(t.Context(), sourceOf(t, url), mode, tables)
	if err != nil {
		t.Fatal(err)
	}
	if feed != nil {
		t.Cleanup(func() { _ = feed.Close() })
	}
	return feed, why
}

// follow makes a database with sql in it and runs a feed of tables.
func follow(
	t testing.TB, url, sql string, mode source.FeedMode, tables []source.Watched,
) *fixture {
	t.Helper()
	f := &fixture{t: t, url: url, conn: feedConn(t, url), src: sourceOf(t, url)}
	f.exec(sql)
	f.feed, _ = feedOpen(t, url, mode, tables)
	if f.feed == nil || f.feed.Mode() != mode {
		t.Fatalf("the feed is not %s", mode)
	}
	f.run()
	return f
}

// run runs the feed and waits until it is attached and fences pass.
func (f *fixture) run() {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f.rec, f.cancel, f.done = new(recorder), cancel, make(chan error, 1)
	go func() { f.done <- f.feed.Run(ctx, f.rec) }()
	f.t.Cleanup(f.stop)
	await(f.t, "attach", func() bool {
		select {
		case err := <-f.done:
			f.t.Fatalf("the feed ended: %v", err)
		default:
		}
		_, err := f.feed.Fence(f.t.Context())
		return err == nil
	})
	f.rec.taken()
}

// stop ends the feed, if it has not ended, and returns Run's error.
func (f *fixture) stop() {
	f.cancel()
	select {
	case err := <-f.done:
		f.done <- err
	case <-time.After(feedPatience):
		f.t.Error("Run did not return")
	}
	f.rec.mu.Lock()
	defer f.rec.mu.Unlock()
	if f.rec.wrong != nil {
		f.t.Error(f.rec.wrong)
	}
}

func (f *fixture) exec(sql ...string) {
	f.t.Helper()
	for _, s := range sql {
		if _, err := f.conn.Exec(f.t.Context(), s, pgx.QueryExecModeSimpleProtocol); err != nil {
			f.t.Fatalf("%s: %v", s, err)
		}
	}
}

// fence returns what the feed delivered up to now.
func (f *fixture) fence() []string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), feedPatience)
	defer cancel()
	pos, err := f.feed.Fence(ctx)
	if err != nil {
		f.t.Fatalf("fence: %v", err)
	}
	if at := f.rec.position(); at < pos {
		f.t.Errorf("the fence says %d, the handler is at %d", pos, at)
	}
	return f.rec.taken()
}

func (r *recorder) position() source.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pos
}

// want compares what the feed delivers of some statements, in one simple query
// each.
func (f *fixture) want(sql string, want ...string) {
	f.t.Helper()
	f.exec(sql)
	if got := f.fence(); !slices.Equal(got, want) {
		f.t.Errorf("%s\n got %q\nwant %q", sql, got, want)
	}
}

// wantAmong is want where the watcher may add that files have changed.
func (f *fixture) wantAmong(sql, want string) {
	f.t.Helper()
	f.exec(sql)
	if got := f.fence(); !slices.Contains(got, want) {
		f.t.Errorf("%s\n got %q\nwant %q among them", sql, got, want)
	}
}

// ended waits for the end of Run.
func (f *fixture) ended() error {
	f.t.Helper()
	select {
	case err := <-f.done:
		f.done <- err
		return err
	case <-time.After(feedPatience):
		f.t.Fatal("Run did not return")
		return nil
	}
}
