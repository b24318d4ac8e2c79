// Package fronttest has what tests of fronts share: resources that become known late and, for
// key-value fronts, resources over an SQLite file of their own, and tokens.
package fronttest

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/waittest"
)

// Rows of the tables, as documents in JSON.
const (
	Dept10 = `{"deptNumber":10,"dname":"ACCOUNTING","loc":"NEW \"Y\"","pic":"AP8="}`
	Dept20 = `{"deptNumber":20,"dname":"RESEARCH","loc":"DALLAS","pic":null}`
)

// tables is the database.
var tables = []string{
	`CREATE TABLE dept (deptno INTEGER PRIMARY KEY, dname TEXT NOT NULL UNIQUE, loc TEXT,
		pic BLOB)`,
	`INSERT INTO dept VALUES (10,'ACCOUNTING','NEW "Y"',x'00ff'), (20,'RESEARCH','DALLAS',NULL),
		(30,'SALES','CHICAGO',NULL), (40,'OPERATIONS',NULL,x'')`,
	`CREATE TABLE city (city TEXT, state TEXT, people INTEGER, PRIMARY KEY (city, state))`,
	`INSERT INTO city VALUES ('Tulsa','OK',413066), ('a,b','c/d',1)`,
	`CREATE TABLE pay (id INTEGER PRIMARY KEY, sal INTEGER)`,
	`INSERT INTO pay VALUES (1,100)`,
	`CREATE TABLE codes (id INTEGER PRIMARY KEY, n INTEGER)`,
	`CREATE TABLE big (id INTEGER PRIMARY KEY, text TEXT)`,
	`INSERT INTO big VALUES (1, hex(zeroblob(50000)))`,
}

// Public is the access rule of what anybody may read and write.
var Public = resource.Access{Read: "public", Write: "public"}

// Resources is what is served, without what a test has besides.
func Resources() []resource.Spec {
	spec := func(name, table string, a resource.Access, w bool) resource.Spec {
		return resource.Spec{Source: "main", Access: a, Writable: w,
			Table: &source.Spec{Name: name, Table: table}}
	}
	depts := spec("depts", "dept", Public, true)
	depts.Table.Fields = map[string]source.FieldSpec{"deptno": {Name: "deptNumber"}}
	brief := spec("brief", "dept", Public, false)
	brief.TTL = time.Hour
	return []resource.Spec{
		depts, brief,
		spec("cities", "city", Public, true),
		spec("pay", "pay", resource.Access{Read: "role:reader", Write: "role:editor"}, true),
		spec("log", "dept", Public, false),
		spec("closed", "dept", resource.Access{Read: "none", Write: "none"}, true),
		spec("codes", "codes", Public, true),
		spec("big", "big", Public, true),
	}
}

// NoteTable is for resources whose keys have columns as values: see Notes.
const NoteTable = `CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT, n INTEGER, flags INTEGER,
	version INTEGER NOT NULL DEFAULT 1, raw BLOB, doc JSON,
	twice INTEGER GENERATED ALWAYS AS (n * 2))`

// Notes are resources over NoteTable: a column of each is the value of a key, which prepare
// is told, with those of memcached's flags and unique.
func Notes(prepare func(value, flags, unique string) resource.Preparer) []resource.Spec {
	spec := func(name, value, flags, unique string) resource.Spec {
		return resource.Spec{Source: "main", Access: Public, Writable: true,
			Table: &source.Spec{Name: name, Table: "note"}, Preparer: prepare(value, flags, unique)}
	}
	return []resource.Spec{
		spec("notes", "BODY", "flags", "version"), spec("counts", "n", "", ""),
		spec("raws", "raw", "", ""), spec("docs", "doc", "", ""),
	}
}

// More is what a test has besides. The zero value adds nothing.
type More struct {
	Tables     []string // statements
	Resources  []resource.Spec
	StaleAfter time.Duration
	Faults     *Faults // what the resources see in place of the file; nil: the file
}

// A Database is resources over an SQLite file, whose only writer it is.
type Database struct {
	Set    *resource.Set
	Memory *tier.Memory
	Src    *sqlite.Source

	t testing.TB
}

// Open opens the resources. They are closed when t ends.
func Open(t testing.TB, more More) *Database {
	t.Helper()
	ctx := context.Background()
	d := &Database{t: t, Memory: tier.NewMemory(8 << 20)}
	var err error
	path := filepath.Join(t.TempDir(), "site.db")
	if d.Src, err = sqlite.Open(ctx, path, sqlite.Options{Own: true}); err != nil {
		t.Fatal(err)
	}
	d.Exec(slices.Concat(tables, more.Tables)...)
	var src source.Source = d.Src
	if f := more.Faults; f != nil {
		f.Source = d.Src
		src = f
	}
	d.Set, err = resource.Open(ctx, resource.SetOptions{
		Memory: d.Memory, Lists: 8 << 20,
		Sources: []resource.SourceOptions{{Name: "main", Source: src, Mode: source.FeedAuto,
			Timeout: time.Minute, StaleAfter: more.StaleAfter}},
		Resources: append(Resources(), more.Resources...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if f := more.Faults; f != nil {
			f.Lag(false)
		}
		before := d.Set.Check()
		err := errors.Join(before, d.Set.Close(), d.Set.Check())
		if err = errors.Join(err, d.Src.Close(), d.Memory.Close()); err != nil {
			t.Error(err)
		}
	})
	Eventually(t, "the feed is fresh", func() bool { return d.Set.Ready() == nil })
	return d
}

// BecomeKnown is for a test of a look-up during which the resources become known: forget
// makes set know none, and starting, which a front asks when a look-up has failed, makes it
// know specs and returns false.
func BecomeKnown(
	t testing.TB, set *resource.Set, specs []resource.Spec,
) (forget func(), starting func() bool) {
	reload := func(specs []resource.Spec) {
		if err := set.Reload(context.Background(), specs); err != nil {
			t.Error(err)
		}
	}
	forget = func() { reload(nil) }
	starting = func() bool { reload(specs); return false }
	return forget, starting
}

// Exec changes the database.
func (d *Database) Exec(statements ...string) {
	d.t.Helper()
	if err := d.Src.Exec(context.Background(), statements...); err != nil {
		d.t.Fatal(err)
	}
}

// Tokens are the tokens of a front. The zero value has none.
type Tokens struct {
	live atomic.Pointer[map[string]front.Principal]
}

// Allow makes tokens good and all others bad: secret-NAME is that of a principal of the
// name and role.
func (k *Tokens) Allow(roles map[string]string) {
	m := make(map[string]front.Principal)
	for name, role := range roles {
		m["secret-"+name] = front.Principal{Name: name, Roles: []string{role}}
	}
	k.live.Store(&m)
}

// Issued returns a value that changes with the tokens.
func (k *Tokens) Issued() any { return k.live.Load() }

// Any reports whether there are tokens.
func (k *Tokens) Any() bool { m := k.live.Load(); return m != nil && len(*m) > 0 }

// Auth says whose token it is.
func (k *Tokens) Auth(token string) (front.Principal, bool) {
	m := k.live.Load()
	if m == nil {
		return front.Principal{}, false
	}
	p, ok := (*m)[token]
	return p, ok
}

// Eventually polls f until it reports true, for ten seconds.
func Eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	waittest.Until(t, what, f)
}
