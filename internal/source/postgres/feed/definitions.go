package feed

import (
	"reflect"
	"sync"

	"github.com/hotrow/hotrow/internal/source"
)

// A Definition is what the documents of one resource stand on besides the
// definitions of its tables: the views and functions that its query names, and the
// types of what it returns, each by its OID.
type Definition struct {
	Tables []string // of the resource's dependencies: who changes when the rest does
	Views  []uint32
	Procs  []uint32 // users' functions only
	Types  []uint32
}

func (d *Definition) empty() bool { return len(d.Views)+len(d.Procs)+len(d.Types) == 0 }

// Definitions are those of a source's resources, as they were compiled last.
type Definitions struct {
	mu      sync.Mutex // guards what follows
	of      map[string]Definition
	version int // changes when any of them does
}

// Put notes the definition of a resource that has been compiled.
func (d *Definitions) Put(name string, def Definition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, is := d.of[name]
	if def.empty() && !is || reflect.DeepEqual(was, def) {
		return
	}
	if d.of == nil {
		d.of = make(map[string]Definition)
	}
	if d.of[name] = def; def.empty() {
		delete(d.of, name)
	}
	d.version++
}

// all returns them by name, not to be changed, and their version.
func (d *Definitions) all() (map[string]Definition, int) {
	if d == nil { // a feed without a source, as tests have
		return nil, 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make(map[string]Definition, len(d.of))
	for name, def := range d.of {
		out[name] = def
	}
	return out, d.version
}

// watchedIDs returns the names of tables.
func watchedIDs(tables []source.Watched) []string {
	names := make([]string, len(tables))
	for i, w := range tables {
		names[i] = w.Table
	}
	return names
}
