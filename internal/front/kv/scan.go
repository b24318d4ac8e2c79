package kv

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

const leastPage = 10

// ErrCursor is the error of a cursor that nobody has given, or that is too old.
var ErrCursor = errors.New("invalid cursor")

// cursors are the places at which walks go on.
type cursors struct {
	mu    sync.Mutex // guards what follows; innermost
	byID  map[uint64]place
	count map[string]int // by owner
	given []uint64       // in the order in which they were
}

// A place is a row behind which a walk goes on.
type place struct {
	resource string
	after    row.Key
	whole    bool // at the beginning of the resource
	owner    string
	until    time.Time
}

// keep returns a cursor for a place, less than 2^53: some clients keep it as a float.
func (c *cursors) keep(p place, now time.Time) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID == nil {
		c.byID, c.count = make(map[uint64]place), make(map[string]int)
	}
	for len(c.given) > 0 && !now.Before(c.byID[c.given[0]].until) {
		c.forget(0)
	}
	if len(c.given) >= front.Cursors {
		c.forget(c.greedy())
	}
	id := 1 + rand.Uint64N(1<<53-1)
	for c.byID[id] != (place{}) {
		id = 1 + rand.Uint64N(1<<53-1)
	}
	p.until = now.Add(front.CursorLife)
	c.byID[id], c.given = p, append(c.given, id)
	c.count[p.owner]++
	return id
}

// forget takes back the cursor that was given at place i.
func (c *cursors) forget(i int) {
	id := c.given[i]
	owner := c.byID[id].owner
	if c.count[owner]--; c.count[owner] == 0 {
		delete(c.count, owner)
	}
	delete(c.byID, id)
	c.given = slices.Delete(c.given, i, i+1)
}

// greedy returns the place of the oldest cursor of who has the most: others keep theirs.
func (c *cursors) greedy() int {
	owner, most := "", 0
	for o, n := range c.count {
		if n > most {
			owner, most = o, n
		}
	}
	return slices.IndexFunc(c.given, func(id uint64) bool { return c.byID[id].owner == owner })
}

func (c *cursors) get(id uint64, now time.Time) (place, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.byID[id]
	return p, ok && now.Before(p.until)
}

// A Scan is one step of a walk over the keys.
type Scan struct {
	Cursor uint64 // 0: from the beginning
	Match  string // a pattern; "": every key
	Count  int    // about how many rows to look at
	None   bool   // of a type that no key has
	Owner  string // the address of who walks, whichever connection asks for a step

	// May reports whether the rows of a resource may be listed.
	May func(*resource.Resource) bool
}

// Scan takes one step and returns the keys, and the cursor to go on with: 0 when there
// are no more. It reads the database, as lists do.
func (s *Store) Scan(ctx context.Context, q *Scan) (next uint64, keys []string, err error) {
	o := s.Live()
	at := place{whole: true}
	if q.Cursor != 0 {
		var ok bool
		if at, ok = s.cursors.get(q.Cursor, time.Now()); !ok {
			return 0, nil, ErrCursor
		}
	}
	if q.None {
		return 0, nil, nil
	}
	starting := o.starting() // before it is looked which there are
	res := s.walks(o, q, at.resource)
	if len(res) == 0 && starting {
		return 0, nil, ErrStarting
	}
	if len(res) == 0 {
		return 0, nil, nil
	}
	r := res[0]
	if r.Name() != at.resource {
		at = place{resource: r.Name(), whole: true}
	}
	var after *row.Key
	if !at.whole {
		after = &at.after
	}
	limit := max(q.Count, leastPage)
	if most := r.MaxLimit(); most > 0 {
		limit = min(limit, most)
	}
	ctx, cancel := context.WithTimeout(ctx, o.ReadTimeout)
	defer cancel()
	page, more, err := r.Keys(ctx, after, limit)
	if err != nil {
		return 0, nil, err
	}
	for _, k := range page {
		name := o.NameOf(r.Name(), k)
		switch {
		case q.Match == "" || Match(q.Match, name.Main):
			keys = append(keys, name.Main)
		case name.Other != "" && Match(q.Match, name.Other):
			keys = append(keys, name.Other)
		}
	}
	switch {
	case more && len(page) > 0:
		at = place{resource: r.Name(), after: page[len(page)-1]}
	case len(res) > 1:
		at = place{resource: res[1].Name(), whole: true}
	default:
		return 0, keys, nil
	}
	at.owner = q.Owner
	return s.cursors.keep(at, time.Now()), keys, nil
}

// walks returns the resources that a walk has before it, from the one called from on.
func (s *Store) walks(o *Options, q *Scan, from string) []*resource.Resource {
	only := ""
	if rest, ok := strings.CutPrefix(Literal(q.Match), o.Prefix); ok {
		if name, _, whole := strings.Cut(rest, o.Separator); whole {
			own, served := o.resourceOf(name)
			_, known := o.Resources.Lookup(own)
			switch {
			case served && known:
				only = own
			case o.Default != "" && o.Queries[name] == nil:
				only = o.Default // the name is part of a key
			default:
				return nil
			}
		}
	}
	var list []*resource.Resource
	for _, r := range o.Resources.All() {
		if r.Name() >= from && (only == "" || r.Name() == only) && q.May(r) {
			list = append(list, r)
		}
	}
	return list
}
