// Package resource is the core: named sets of documents, read through the tiers
// that keep them and the source that has them, written through to it, and kept
// fresh by its feed. Fronts speak to a Set and know nothing else.
//
// The protocol that decides what may be kept is package fresh; this package
// gives it a clock, goroutines and a source.
package resource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/hotkeys"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// A Spec is one resource of a Set.
type Spec struct {
	Source   string // the name of its source
	Table    *source.Spec
	Access   Access
	Writable bool
	Methods  []string      // those of "post", "put", "patch", "delete" that are served; nil: all
	MaxLimit int           // of a list; 0: 1,000
	TTL      time.Duration // keep documents this long, feed or none; 0: as the feed says
	Formats  []row.Format  // made together when a document is loaded; others when asked for
	Pass     bool          // no tier: every read goes to the source
	Stale    StalePolicy   // what differs from the source's
	Warm     *Warm         // what is loaded before it is asked for; nil: nothing

	// Preparer makes the bytes of row.FormatPrepared, which only the front
	// that asks for them understands; nil: nobody asks. It is compared by value
	// when a configuration is reloaded.
	Preparer Preparer

	RequireIfMatch bool // a change of a document must name the one that it changes

	// Rows say which rows a request may have. They are kept for clients of PostgREST alone:
	// Access shuts all others out. nil: all.
	Rows *RowRule
}

// A RowRule is the rule of a resource about its rows, for which Access asks nobody.
type RowRule struct {
	Access      Access // who may ask
	Read, Write []RowTerm
	Except      []string // roles without a rule
}

// A RowTerm is one condition: a column is equal to a claim of the request's token.
type RowTerm struct {
	Column string
	Path   []string // of the claim
	In     bool     // to one of a claim that is a list
}

// A Preparer makes of a row what one front needs to answer from it at once.
type Preparer interface {
	// AppendPrepared appends what is kept of a row for the front. It is called
	// by loads, many at a time.
	AppendPrepared(dst []byte, shape *row.Shape, v row.Values) []byte
}

// SetOptions configure a Set.
type SetOptions struct {
	Memory    *tier.Memory // closed by the caller, after the Set
	Disk      *tier.Disk   // behind memory; nil: none. Closed by the caller, after the Set
	Lists     int64        // bytes of the versions that lists depend on; 0: no list is kept
	Sources   []SourceOptions
	Resources []Spec
	Hot       *hotkeys.Keys // is told which keys are read and changed; nil: nobody is
	Log       *slog.Logger
}

// A Set is every resource that is served.
type Set struct {
	memory    *tier.Memory
	disk      *tier.Disk
	copier    *copier
	hot       *hotkeys.Keys
	lists     *listStore
	log       *slog.Logger
	byName    atomic.Pointer[map[string]*Resource]
	revisions sync.Map      // of *revision by number
	owners    sync.Map      // of owner by number
	number    atomic.Uint32 // the last that was given

	mu      sync.Mutex // guards what follows; held while the set is rebuilt
	options map[string]SourceOptions
	sources map[string]*sourceState
	closed  bool
	loops   sync.WaitGroup
}

// Open compiles the resources and follows the feeds of their sources. A
// database that cannot be reached is not an error: its resources answer that
// they are unavailable, and are compiled when it comes. Close the Set.
func Open(ctx context.Context, o SetOptions) (*Set, error) {
	s := &Set{
		memory: o.Memory, disk: o.Disk, copier: newCopier(), hot: o.Hot, log: o.Log,
		lists:   newListStore(o.Lists),
		options: make(map[string]SourceOptions), sources: make(map[string]*sourceState),
	}
	if s.hot == nil {
		s.hot = new(hotkeys.Keys) // at which nobody looks
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, so := range o.Sources {
		s.options[so.Name] = so
	}
	s.loops.Go(s.copier.run)
	empty := make(map[string]*Resource)
	s.byName.Store(&empty)
	if err := s.Reload(ctx, o.Resources); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Lookup returns the resource called name. name may alias a buffer.
func (s *Set) Lookup(name string) (*Resource, bool) {
	r, ok := (*s.byName.Load())[name]
	return r, ok
}

// kindRows is the kind of documents: see Number.
const kindRows = "rows"

// An owner is what memory keeps answers for under a number.
type owner struct{ name, kind string }

// Number gives a number under which memory keeps answers of a kind, other than any before: see
// tier.Ref. Metrics and the console show the kind beside the name.
func (s *Set) Number(name, kind string) uint32 {
	n := s.number.Add(1)
	s.owners.Store(n, owner{name, kind})
	return n
}

// NameOf returns what a number was given for; "" of a resource's that is no more.
func (s *Set) NameOf(number uint32) (name, kind string) {
	v, _ := s.owners.Load(number)
	o, _ := v.(owner)
	return o.name, o.kind
}

// Memory returns where answers are kept.
func (s *Set) Memory() *tier.Memory { return s.memory }

// All returns the resources by name.
func (s *Set) All() []*Resource {
	m := *s.byName.Load()
	list := make([]*Resource, 0, len(m))
	for _, r := range m {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *Resource) int { return cmp.Compare(a.name, b.name) })
	return list
}

// discard ends an source state that was built for nothing: nothing of it stays known.
func (s *Set) discard(u *sourceState) {
	for _, f := range u.revisions {
		s.retire(f)
	}
	u.close()
}

// retire takes a revision out of use. Requests that hold it still get answers, and
// store nothing.
func (s *Set) retire(f *revision) {
	if f.space != nil {
		f.space.Remove()
	}
	if f.lists != nil {
		f.lists.Remove()
	}
	if f.docDeps != nil {
		f.docDeps.unpin()
	}
	if f.memory != nil {
		s.loops.Go(func() { f.memory.DropAll(f.number, f.listed, f.spellings) })
	}
	if s.disk != nil {
		s.disk.Unbind(f.number)
	}
	s.revisions.Delete(f.number)
	for _, n := range []uint32{f.number, f.listed, f.spellings} {
		s.owners.Delete(n)
	}
}

// Ready returns nil when every source has been reached and its feed, where
// there is one, is fresh; else an error that says what is missing.
func (s *Set) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, u := range s.sources {
		switch st := u.stats(); {
		case st.State == "down":
			errs = append(errs, u.notReady())
		case st.State == "lagging":
			errs = append(errs, fmt.Errorf("source %s: the feed has not been complete for %v",
				u.name, st.Lag.Round(time.Millisecond)))
		}
	}
	return errors.Join(errs...)
}

// Behind returns how many sources have been reached and are not fresh, or were not reached.
// It is cheap.
func (s *Set) Behind() (n int) {
	now := monotonic()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.sources {
		if state, _ := u.condition(now); state != fresh.Fresh {
			n++
		}
	}
	return n
}

// Uncached returns the sources of which nothing is kept: they have no feed, and none
// of their resources has a time for which copies are good.
func (s *Set) Uncached() []string {
	kept := make(map[string]bool)
	for _, r := range s.All() {
		f := r.revision.Load()
		kept[f.src.name] = kept[f.src.name] || f.spec.TTL > 0
	}
	var names []string
	for _, st := range s.Stats().Sources {
		if some, served := kept[st.Name]; st.State == "none" && served && !some {
			names = append(names, st.Name)
		}
	}
	return names
}

// Available returns nil when requests can be answered: from every source, or from what
// is kept of it, flagged as stale. How fresh that is, Ready says.
func (s *Set) Available() error {
	answers := make(map[*sourceState]bool) // of those that lag
	for _, r := range s.All() {
		f := r.revision.Load()
		answers[f.src] = answers[f.src] || f.available()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, u := range s.sources {
		some, served := answers[u]
		switch {
		case u.feed.Load() == nil:
			errs = append(errs, u.notReady())
		case served && !some:
			errs = append(errs, fmt.Errorf("source %s: it cannot be asked, and what is kept of it "+
				"is too old to be answered", u.name))
		}
	}
	return errors.Join(errs...)
}

// Stats returns a snapshot of everything.
func (s *Set) Stats() Stats {
	st := Stats{Copies: s.copier.stats()}
	for _, r := range s.All() {
		st.Resources = append(st.Resources, r.Stats())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.sources {
		st.Sources = append(st.Sources, u.stats())
	}
	slices.SortFunc(st.Sources, func(a, b SourceStats) int { return cmp.Compare(a.Name, b.Name) })
	return st
}

// Close ends the feeds and waits for the loads under way. The sources and the
// tier are the caller's to close.
func (s *Set) Close() error {
	s.mu.Lock()
	sources := s.sources
	if !s.closed {
		close(s.copier.done)
	}
	s.closed = true
	s.mu.Unlock()
	for _, u := range sources {
		u.close()
	}
	s.loops.Wait()
	return nil
}
