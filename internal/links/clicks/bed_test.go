package clicks

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMain(m *testing.M) {
	if runChild() {
		return
	}
	dbtest.Main(m)
}

// A store is a database that tests may also close.
type store interface {
	source.Store
	Exec(ctx context.Context, statements ...string) error
	Close() error
}

// openURL opens a database by what dbtest says of it, or a file.
func openURL(ctx context.Context, kind, url string) (store, error) {
	switch kind {
	case "postgres":
		return postgres.Open(ctx, url, postgres.Options{})
	case "mariadb":
		return mysql.Open(ctx, url, mysql.Options{})
	}
	return sqlite.Open(ctx, url, sqlite.Options{Own: true})
}

// databaseOf returns where a new database of a kind is.
func databaseOf(t testing.TB, kind string) string {
	t.Helper()
	switch kind {
	case "postgres":
		return dbtest.Postgres(t)
	case "mariadb":
		return dbtest.MariaDB(t)
	}
	return filepath.Join(t.TempDir(), "links.db")
}

// A bed is a database, a log and what drains it.
type bed struct {
	t     testing.TB
	kind  string
	url   string
	dir   string
	store store
	log   *clicklog.Log
	d     *Drainer
	opts  Options
	mu    sync.Mutex // guards out
	out   bytes.Buffer
}

// Write takes what is logged.
func (b *bed) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(p)
}

// logged returns what was logged.
func (b *bed) logged() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.String()
}

// newBed makes a bed with an empty database.
func newBed(t testing.TB, kind string, o Options) *bed {
	t.Helper()
	return newBedAt(t, kind, databaseOf(t, kind), o)
}

// newBedAt is newBed in a database that is there.
func newBedAt(t testing.TB, kind, url string, o Options) *bed {
	t.Helper()
	b := &bed{t: t, kind: kind, url: url, dir: t.TempDir(), opts: o}
	b.openStore()
	t.Cleanup(func() { b.closeAll() })
	if _, err := schema.Migrate(t.Context(), b.store); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bed) openStore() {
	b.t.Helper()
	var err error
	if b.store, err = openURL(b.t.Context(), b.kind, b.url); err != nil {
		b.t.Fatal(err)
	}
}

// start opens the log and drains it.
func (b *bed) start() {
	b.t.Helper()
	b.openLog()
	b.opts.Store, b.opts.Log = b.store, b.log
	b.opts.Logger = slog.New(slog.NewTextHandler(b, nil))
	if b.opts.Every == 0 {
		b.opts.Every = 5 * time.Millisecond
	}
	var err error
	if b.d, err = Start(b.t.Context(), b.opts); err != nil {
		b.t.Fatal(err)
	}
}

// openLog opens the log.
func (b *bed) openLog() {
	b.t.Helper()
	sums, rows, err := Cursors(b.t.Context(), b.store)
	if err != nil {
		b.t.Fatal(err)
	}
	b.log, err = clicklog.Open(clicklog.Options{Dir: b.dir, Loops: 2, Segment: 1 << 20,
		Keep: 256 << 20, Cursors: sums, Rows: rows})
	if err != nil {
		b.t.Fatal(err)
	}
}

// stop ends drainer and log.
func (b *bed) stop() {
	b.t.Helper()
	if b.d != nil {
		if err := b.d.Close(); err != nil {
			b.t.Error(err)
		}
	}
	if b.log != nil {
		if err := b.log.Close(); err != nil {
			b.t.Error(err)
		}
	}
	b.d, b.log = nil, nil
}

func (b *bed) closeAll() {
	b.stop()
	if err := b.store.Close(); err != nil {
		b.t.Error(err)
	}
}

// drained waits until the database has everything.
func (b *bed) drained() {
	b.t.Helper()
	for start := time.Now(); b.log.Stats().Undone > 0; time.Sleep(2 * time.Millisecond) {
		if waittest.Late(time.Since(start), 60*time.Second) {
			b.t.Fatalf("not drained in 60 s: %+v, %+v\n%s", b.d.Stats(), b.log.Stats(), b.logged())
		}
	}
}

// append appends a record with the shared writer, waiting for room.
func (b *bed) append(r *clicklog.Record) (seq clicklog.Seq) {
	b.t.Helper()
	waittest.Until(b.t, "room in the log", func() bool {
		seq, _ = b.log.Shared().Append(r)
		return seq != 0
	})
	return seq
}

// table is rows of a query, all as text.
func (b *bed) table(sql string, args ...any) []string {
	b.t.Helper()
	var rows []string
	err := b.store.Query(context.Background(), sql, args, func(r source.StoreRow) error {
		line := ""
		for i := range r {
			if i > 0 {
				line += " "
			}
			line += r.Text(i)
		}
		rows = append(rows, line)
		return nil
	})
	if err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// want compares the rows of a query.
func (b *bed) want(sql string, rows ...string) {
	b.t.Helper()
	if diff := cmp.Diff(rows, b.table(sql)); diff != "" {
		b.t.Errorf("%s:\n%s", sql, diff)
	}
}

// count returns the one number of a query.
func (b *bed) count(sql string, args ...any) int64 {
	b.t.Helper()
	n := int64(-1)
	err := b.store.Query(context.Background(), sql, args, func(r source.StoreRow) error {
		n = r.Int(0)
		return nil
	})
	if err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// consistent compares every sum with the raw rows: the first invariant.
func (b *bed) consistent() {
	b.t.Helper()
	const day, hour = "86400000", "3600000"
	div, total := "/", "SUM(clicks)"
	switch b.kind {
	case "mariadb":
		div = " DIV "
	case "postgres":
		total += "::bigint"
	}
	all := " WHERE kind = 0 OR kind = 1 GROUP BY "
	sum := "SUM(CASE kind WHEN 0 THEN 1 ELSE 0 END), SUM(CASE kind WHEN 1 THEN 1 ELSE 0 END)"
	compare := func(raw, sums string) {
		b.t.Helper()
		if diff := cmp.Diff(b.table(raw), b.table(sums)); diff != "" {
			b.t.Errorf("raw and sums differ\n%s\n%s\n%s", raw, sums, diff)
		}
	}
	compare("SELECT link_id, "+sum+" FROM clicks"+all+"link_id ORDER BY link_id",
		"SELECT link_id, clicks, bots FROM link_stats WHERE link_id >= 0 ORDER BY link_id")
	for unit, ms := range map[string]string{"h": hour, "d": day} {
		bucket := "at" + div + ms
		compare("SELECT link_id, "+bucket+", "+sum+" FROM clicks"+all+"link_id, "+bucket+" ORDER BY 1, 2",
			"SELECT link_id, bucket, clicks, bots FROM click_time WHERE link_id >= 0 AND unit = '"+unit+
				"' ORDER BY 1, 2")
		compare("SELECT "+bucket+", "+sum+" FROM clicks WHERE link_id > 0 AND (kind = 0 OR kind = 1)"+
			" GROUP BY "+bucket+" ORDER BY 1",
			"SELECT bucket, clicks, bots FROM click_time WHERE link_id = -1 AND unit = '"+unit+"' ORDER BY 1")
	}
	compare("SELECT link_id, at"+div+day+", COUNT(*) FROM clicks WHERE kind = 0 AND link_id > 0"+
		" GROUP BY link_id, at"+div+day+" ORDER BY 1, 2",
		"SELECT link_id, day, "+total+" FROM click_dims WHERE link_id > 0 AND dim = 1"+
			" GROUP BY link_id, day ORDER BY 1, 2")
	compare("SELECT COUNT(*) FROM clicks", "SELECT COUNT(DISTINCT seq) FROM clicks")
}

// visit is a click of a person on a link.
func visit(link int64, n int) *clicklog.Record {
	browsers := []string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) " +
			"Chrome/142.0.0.0 Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
			"Version/26.0 Mobile/15E148 Safari/604.1",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
	}
	refs := []string{"", "https://news.ycombinator.com/item?id=1", "https://www.example.com/a/b"}
	return &clicklog.Record{At: time.Now().UnixMilli(), Link: link,
		IP:    netip.AddrFrom4([4]byte{203, 0, byte(n >> 8), byte(n)}).As16(),
		Agent: []byte(browsers[n%len(browsers)]), Referrer: []byte(refs[n%len(refs)])}
}

// sameOn runs a test on each database by its own name.
func sameOn(t *testing.T, kind string, tests map[string]func(*testing.T, string)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, kind) })
	}
}
