package postgres

import (
	"reflect"
	"slices"
	"sync"

	"github.com/hotrow/hotrow/internal/source"
)

// A definition is what the documents of one resource stand on besides the
// definitions of its tables: the views and functions that its query names, and the
// types of what it returns, each by its OID.
type definition struct {
	tables []string // of the resource's dependencies: who changes when the rest does
	views  []uint32
	procs  []uint32 // users' functions only
	types  []uint32
}

func (d *definition) empty() bool { return len(d.views)+len(d.procs)+len(d.types) == 0 }

// definitions are those of a source's resources, as they were compiled last.
type definitions struct {
	mu      sync.Mutex // guards what follows
	of      map[string]definition
	version int // changes when any of them does
}

// put notes the definition of a resource that has been compiled.
func (d *definitions) put(name string, def definition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, is := d.of[name]
	if def.empty() && !is || reflect.DeepEqual(was, def) {
		return
	}
	if d.of == nil {
		d.of = make(map[string]definition)
	}
	if d.of[name] = def; def.empty() {
		delete(d.of, name)
	}
	d.version++
}

// all returns them by name, not to be changed, and their version.
func (d *definitions) all() (map[string]definition, int) {
	if d == nil { // a feed without a source, as tests have
		return nil, 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make(map[string]definition, len(d.of))
	for name, def := range d.of {
		out[name] = def
	}
	return out, d.version
}

// definition returns what c has found, once all is compiled.
func (c *compiler) definition(deps []source.Dep) definition {
	def := definition{views: unique(c.views), procs: unique(c.procs), types: unique(c.results)}
	for _, d := range deps {
		if !slices.Contains(def.tables, d.Table) {
			def.tables = append(def.tables, d.Table)
		}
	}
	return def
}

// unique returns oids sorted, each once; nil for none.
func unique(oids []uint32) []uint32 {
	slices.Sort(oids)
	return slices.Compact(oids)
}

// watchedIDs returns the names of tables.
func watchedIDs(tables []source.Watched) []string {
	names := make([]string, len(tables))
	for i, w := range tables {
		names[i] = w.Table
	}
	return names
}
