package kv

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// maxSeen is how many resources a wake-up remembers: more cost more to search
// than a map.
const maxSeen = 8

// A Scope is what the connections of one loop share. The loop is its one writer;
// counters are read by others.
type Scope struct {
	front.Turn
	Live   *Options // for this wake-up
	Issued any      // the tokens of this wake-up
	Items  bool     // resources of items are read as such, and not as documents

	store   *Store
	byName  map[string]*Served
	seen    []*Served // looked up in this wake-up: a handful
	lookups resource.Lookups
	path    []byte // scratch of the access log
	text    []byte // scratch of what a query asks for
}

// A Served is a resource as one loop sees it, with the counters that the loop alone
// writes.
type Served struct {
	*resource.Resource
	name      string
	rule      resource.Rule
	number    bool       // its keys are whole numbers
	follows   bool       // a feed says when its copies change, and nothing else
	isDefault bool       // it is Options.Default: its rows have two names
	format    row.Format // in which it is read, unless somebody asks for another

	document row.Format // in which documents are
	items    bool       // what is found of it are items
	tally    *resource.Tally
	nothing  atomic.Uint64 // keys that no row can have
	lists    atomic.Uint64 // that memory had
	hits     front.Timed
}

// NewScope makes the state of a loop. Wake it before it is used.
func (s *Store) NewScope() *Scope {
	return &Scope{store: s, byName: make(map[string]*Served)}
}

// BeginTurn begins a wake-up of the loop: what the gates and the clock say is asked once, and
// before the first look-up.
func (s *Scope) BeginTurn(now time.Time) {
	if live := s.store.Live(); live != s.Live {
		s.Live = live
		maps.DeleteFunc(s.byName, func(name string, r *Served) bool {
			now, ok := live.Resources.Lookup(name)
			return !ok || now != r.Resource
		})
	}
	s.Begin(now, s.Live.Access)
	s.Issued = s.Live.IssuedNow()
	s.seen = s.seen[:0]
}

// Find returns the resource that a key is of, and the key of the row, which aliases it:
// nil when the key names none that is served. exact says that clients are told of the row
// by this very key, as far as its form says.
func (s *Scope) Find(key []byte) (res *Served, of row.Key, exact bool) {
	text := row.Alias(key)
	name, rest, ok := s.Live.cut(text)
	if own, served := s.Live.resourceOf(name); ok && served {
		if res = s.resource(own); res != nil && res.isDefault {
			s.store.tracker.otherUsed()
		}
	}
	if res == nil {
		if whole, has := s.Live.keyOfDefault(text); has {
			res, rest = s.resource(s.Live.Default), whole
		}
	}
	if res == nil {
		return nil, "", false
	}
	exact = true
	if res.number {
		plain := plainNumber(rest)
		exact, rest = len(plain) == len(rest), plain
	}
	return res, row.Key(rest), exact
}

// resource returns the resource called name, nil if there is none. name may alias a
// buffer.
func (s *Scope) resource(name string) *Served {
	// Fast path: one of those that this wake-up has looked up.
	for _, r := range s.seen {
		if name == r.name {
			return r
		}
	}

	// Slow path: a reload may have changed which there are, and who may read.
	r, ok := s.Live.Resources.Lookup(name)
	if !ok {
		return nil
	}
	spec, format := r.Spec(), s.Live.Format
	_, column := spec.Preparer.(Column)
	_, items := spec.Preparer.(ItemPreparer)
	if items = items && s.Items; items || column {
		format = row.FormatPrepared
	}
	known := s.byName[name]
	if known == nil || known.Resource != r || known.format != format ||
		known.document != s.Live.Format {
		known = &Served{Resource: r, name: r.Name(), format: format, document: s.Live.Format,
			items: items, tally: r.Tally()}
		s.byName[known.name] = known
		s.store.register(known)
	}
	known.rule, known.number = spec.Access.Read, isNumber(r.KeyType())
	known.isDefault = known.name == s.Live.Default
	known.follows = r.Followed() && spec.TTL == 0 && !spec.Pass
	if len(s.seen) < maxSeen {
		s.seen = append(s.seen, known)
	}
	return known
}

// Together is how many keys are looked up together.
const Together = resource.MaxLookups

// Prefetch has memory at hand what up to Together keys are of, for which Get will be called.
// It is a hint.
func (s *Scope) Prefetch(keys [][]byte) {
	for _, key := range keys {
		if res, rowKey, _ := s.Find(key); res != nil {
			s.lookups.Add(res.Resource, rowKey, res.format)
		}
	}
	s.lookups.Prefetch(&s.Snapshot)
}

// Count notes answers from memory.
func (s *Scope) Count(found []Found) {
	for i := range found {
		f := &found[i]
		r := f.Res
		if r == nil {
			s.store.stats.unknown.Add(1)
		}
		if r == nil || f.Err != nil {
			continue
		}
		s.Touch(&r.hits)
		if f.List {
			r.tally.List()
			r.lists.Store(r.lists.Load() + 1)
			continue
		}
		r.tally.Answered(f.state())
	}
}

// Name returns the resource's name.
func (r *Served) Name() string { return r.name }
