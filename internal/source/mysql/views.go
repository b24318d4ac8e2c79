package mysql

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/source"
)

// views are the views that resources read, with the tables that the resources depend on:
// a statement that defines one need not name any of these.
type views struct {
	mu sync.Mutex                          // who adds
	of atomic.Pointer[map[string][]string] // by name, without its database; never changed
}

// add notes what a resource reads and depends on. What no resource reads any more stays:
// its tables are told once too often.
func (v *views) add(names []string, deps []source.Dep) {
	if len(names) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	of := make(map[string][]string)
	maps.Copy(of, v.now())
	for _, name := range names {
		for _, d := range deps {
			if !slices.Contains(of[name], d.Table) {
				of[name] = append(slices.Clone(of[name]), d.Table)
			}
		}
	}
	v.of.Store(&of)
}

// now returns what is known. The caller must not change it.
func (v *views) now() map[string][]string {
	if of := v.of.Load(); of != nil {
		return *of
	}
	return nil
}
