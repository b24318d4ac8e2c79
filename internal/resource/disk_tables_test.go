package resource

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
)

// some returns a change of specs that leaves the resources of these tables.
func some(names ...string) func([]Spec) []Spec {
	return func(specs []Spec) []Spec {
		return slices.DeleteFunc(specs, func(s Spec) bool { return !slices.Contains(names, s.Table.Name) })
	}
}

// A tableProcess is a house that keeps nothing in memory, as one process of several that follow
// each other.
func tableProcess(t *testing.T, first *house, file string, names ...string) *house {
	t.Helper()
	d, err := tier.OpenDisk(tier.DiskOptions{Path: file, MaxBytes: 16 << 20,
		FlushEvery: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	src, err := sqlite.Open(t.Context(), databaseOf(t, first), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, other: first.other, source: src, memory: tier.NewMemory(0)}
	h.set, err = Open(t.Context(), SetOptions{Memory: h.memory, Disk: d,
		Sources:   []SourceOptions{{Name: "main", Source: src}},
		Resources: some(names...)(houseSpecs())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.end)
	h.ready()
	return h
}

// end ends a tableProcess once what it has applied is on disk.
func (h *house) end() {
	if h.set == nil {
		return
	}
	if err := h.set.disk.Sync(); err != nil {
		h.t.Error(err)
	}
	for _, end := range []func() error{h.set.Close, h.set.disk.Close, h.source.Close} {
		if err := end(); err != nil {
			h.t.Error(err)
		}
	}
	h.set = nil
}

// onDisk reads until the disk has the answer.
func (h *house) onDisk(name, key string) {
	h.t.Helper()
	h.until(func() bool { _, from := h.get(name, key, Options{}); return from == HitDisk })
}

// passes waits until the disk is complete beyond where it was.
func (h *house) passes(do func()) {
	h.t.Helper()
	u := h.set.disk.Source("main")
	before, _ := u.Committed()
	do()
	h.until(func() bool {
		now, ok := u.Committed()
		return ok && now.Pos > before.Pos && h.set.disk.Sync() == nil
	})
}

// Of a table that a process did not follow, the next one has no copies: neither after a start with
// other tables, nor after a reload that has added it, or taken it away.
func TestDisk_ProcessesOfOtherTables(t *testing.T) {
	for name, between := range map[string]func(h *house){
		"started without": func(h *house) {
			h.passes(func() { h.exec("BEGIN; UPDATE city SET pop = 2; UPDATE dept SET loc = 'X'; COMMIT") })
		},
		"added by a reload": func(h *house) {
			h.passes(func() { h.exec("BEGIN; UPDATE city SET pop = 2; UPDATE dept SET loc = 'X'; COMMIT") })
			h.reload(some("dept", "emp", "city"))
			h.onDisk("city", "Tulsa,OK")
			if got, from := h.get("city", "Tulsa,OK", Options{}); !strings.Contains(got, `"pop":2`) {
				h.t.Errorf("after the reload: %s from %v", got, from)
			}
		},
		"taken away by a reload": func(h *house) {
			h.reload(some("dept", "emp", "city"))
			h.onDisk("city", "Tulsa,OK")
			h.reload(some("dept", "emp"))
			h.passes(func() { h.exec("BEGIN; UPDATE city SET pop = 2; UPDATE dept SET loc = 'X'; COMMIT") })
			h.exec("UPDATE dept SET loc = 'Y'")
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "cache.db")
			first := newHouse(t, nil)
			tables := first.resource("dept").revision.Load().src.wanted(nil)
			found, err := first.source.Doctor(t.Context(), source.FeedSQLite, tables)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				if err := first.source.Exec(t.Context(), f.Apply...); err != nil {
					t.Fatal(err)
				}
			}
			h := tableProcess(t, first, file, "dept", "emp", "city")
			h.passes(func() { h.exec("UPDATE city SET pop = 1") })
			h.onDisk("city", "Tulsa,OK")
			h.onDisk("dept", "10")
			h.end()

			h = tableProcess(t, first, file, "dept", "emp")
			between(h)
			h.end()

			h = tableProcess(t, first, file, "dept", "emp", "city")
			for range 3 {
				if got, from := h.get("city", "Tulsa,OK", Options{}); !strings.Contains(got, `"pop":2`) {
					t.Errorf("the third process has %s from %v", got, from)
				}
			}
		})
	}
}
