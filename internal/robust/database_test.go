package robust

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// A database is a server that a row may do anything to.
type database struct {
	t     testing.TB
	url   string
	exec  func(sql string) error
	query func(sql string) string
	stop  func(dbtest.StopMode)
	start func()

	freeze, thaw func() // all its processes

	postgres *dbtest.Server
	mariadb  *dbtest.MariaDBServer
}

// newPostgres starts a server with a database that has the oracle's table.
func newPostgres(t testing.TB, o *oracle, settings map[string]string) *database {
	t.Helper()
	return newPostgresSince(t, o, 0, settings)
}

// newPostgresSince is newPostgres with a server of a version or a later one.
func newPostgresSince(
	t testing.TB, o *oracle, version int, settings map[string]string,
) *database {
	t.Helper()
	all := map[string]string{"wal_level": "logical", "max_slot_wal_keep_size": "256MB"}
	for k, v := range settings {
		all[k] = v
	}
	s := dbtest.NewPostgresSince(t, version, all)
	d := &database{t: t, postgres: s, stop: s.Stop, start: s.Start,
		url: s.Database(t, dbtest.Setup(o.schema()))}
	var frozen []int
	d.freeze = func() { frozen = s.Pids(); s.Pause(frozen...) }
	d.thaw = func() { s.Resume(frozen...) }
	d.query = func(sql string) string { return dbtest.Psql(t, d.url, sql) }
	d.exec = newSession(t, d.url)
	return d
}

// newMariaDB is newPostgres for MariaDB.
func newMariaDB(t testing.TB, o *oracle) *database {
	t.Helper()
	s := dbtest.NewMariaDB(t, nil)
	d := &database{t: t, mariadb: s, stop: s.Stop, start: s.Start, url: s.Database(t),
		freeze: s.Pause, thaw: s.Resume}
	dbtest.MariaDBShell(t, d.url, dbtest.MariaOrMySQL("SET max_recursive_iterations",
		"SET cte_max_recursion_depth")+" = 1000000;"+o.schema())
	d.query = func(sql string) string { return dbtest.MariaDBShell(t, d.url, sql) }
	d.exec = newMariaSession(t, d.url)
	return d
}

// A maker starts the database of a row.
type maker func(t *testing.T) func(*oracle) *database

// pg is PostgreSQL with these settings.
func pg(settings map[string]string) maker {
	return func(t *testing.T) func(*oracle) *database {
		return func(o *oracle) *database { return newPostgres(t, o, settings) }
	}
}

// maria is MariaDB.
func maria(t *testing.T) func(*oracle) *database {
	return func(o *oracle) *database { return newMariaDB(t, o) }
}

// A setup is what a row varies of hotrow's configuration.
type setup struct {
	url      string // "": the database's
	disk     string // path of the cache on disk; "": none
	max      string // of the disk
	memory   string // "": 64 MiB
	mode     string // of the feed; "": auto
	cert     string // of the listener, and its key
	writable bool
	tables   []string // served beside kv

	slot string // of the feed; by a URL it is one that ends with its session

	// What only a file can say.
	source string // more of sources.main
	more   string // lines of resources
	kv     string // more of resources.kv
}

// A config is what hotrow is started with, in both forms: a file, or the
// database's URL with variables for the rest.
type config struct {
	file string
	args []string // of the form by URL; nil: it has none
	env  []string // for the form by URL
}

// config returns what s says in both forms.
func (d *database) config(s setup) config {
	s.memory, s.url = cmp.Or(s.memory, "64MiB"), cmp.Or(s.url, d.url)
	s.max = cmp.Or(s.max, "256MiB")
	c := config{file: s.file()}
	if s.source+s.more+s.kv != "" {
		return c
	}
	c.env = append(c.env, "HOTROW_CACHE_MEMORY="+s.memory)
	if s.disk != "" {
		c.env = append(c.env, "HOTROW_CACHE_DISK_PATH="+s.disk, "HOTROW_CACHE_DISK_MAX="+s.max)
	}
	if s.cert != "" {
		c.env = append(c.env, "HOTROW_HTTP_TLS_CERT="+s.cert, "HOTROW_HTTP_TLS_KEY="+s.cert)
	}
	if s.writable {
		c.args = append(c.args, "--writable")
	}
	c.args = append(c.args, "--feed", cmp.Or(s.mode, "auto"), s.url)
	return c
}

// file returns the configuration as a file.
func (s setup) file() string {
	disk, feed, http, access := "", "", "", ""
	if s.disk != "" {
		disk = fmt.Sprintf(", disk: {path: %q, max: %s}", s.disk, s.max)
	}
	if s.slot != "" {
		feed += ", slot: " + s.slot
	}
	if s.mode != "" {
		feed += ", mode: " + s.mode
	}
	if s.cert != "" {
		http = fmt.Sprintf("http: {tls: {cert: %q, key: %q}}\n", s.cert, s.cert)
	}
	if s.writable {
		access = ", access: {read: public, write: public}"
	}
	text := fmt.Sprintf("version: 1\n%scache: {memory: %s%s}\nsources:\n  main:\n    url: %q\n"+
		"    feed: {%s}\n%sresources:\n"+
		"  kv: {table: kv, tiers: [memory]%s%s}\n%s", http, s.memory, disk, s.url,
		strings.TrimPrefix(feed, ", "), s.source,
		access, s.kv, s.more)
	for _, name := range s.tables {
		text += fmt.Sprintf("  %s: {table: %s%s}\n", name, name, access)
	}
	return text
}

// A load is writers and readers at work.
type load struct {
	stop    func() // ends it
	writers func() // ends the writers
}

// work starts writers and readers.
func (d *database) work(o *oracle, p *program, readers int) *load {
	reading, stopReading := context.WithCancel(context.Background())
	writing, stopWriting := context.WithCancel(reading)
	var reads, writes sync.WaitGroup
	exec := d.exec
	writes.Go(func() { o.write(writing, exec, time.Millisecond) })
	for range readers {
		reads.Go(func() { o.read(reading, p) })
	}
	w := &load{
		writers: sync.OnceFunc(func() { stopWriting(); writes.Wait() }),
		stop:    sync.OnceFunc(func() { stopReading(); writes.Wait(); reads.Wait() }),
	}
	d.t.Cleanup(w.stop)
	return w
}

// diskFile returns the path of a cache on disk.
func diskFile(t testing.TB) string { return filepath.Join(t.TempDir(), "cache.db") }
