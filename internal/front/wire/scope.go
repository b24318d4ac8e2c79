package wirefront

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// maxSeen is how many resources a wake-up remembers: more cost more to search
// than a map.
const maxSeen = 8

// A scope is what the connections of one loop share. The loop is its one
// writer; counters are read by others.
type scope struct {
	f      *Front
	live   *Options
	issued any    // the tokens of this wake-up
	etag   []byte // of the document that is answered with

	byName map[string]*served
	seen   []*served // looked up in this wake-up: a handful

	front.Turn
	path []byte // scratch of the access log

	asOf    []asOf
	own     []byte // of one answer: see resource.AsOf.Own
	event   gofast.Event
	get     rows.Get
	many    rows.GetMulti
	message gofast.Message
	prefix  []byte
	answer  []byte
}

// A served is a resource as one loop sees it, with the counters that the loop
// alone writes.
type served struct {
	*resource.Resource
	name        string
	rule        resource.Rule
	tally       *resource.Tally
	notModified atomic.Uint64
	hits        front.Timed
}

// An asOf is what every hit of one source and one wake-up has in common.
type asOf struct {
	at   resource.AsOf
	text []byte
}

// NewScope makes the state of a loop.
func (f *Front) NewScope() eventloop.Scope {
	return &scope{f: f, byName: make(map[string]*served)}
}

// BeginTurn begins a wake-up of the loop: what the gates and the clock say is asked
// once, and before the first look-up.
func (s *scope) BeginTurn(now time.Time) {
	if live := s.f.live.Load(); live != s.live {
		s.live = live
		maps.DeleteFunc(s.byName, func(_ string, r *served) bool {
			return !live.serves(r.Resource)
		})
	}
	s.Begin(now, s.live.Access)
	s.issued = s.live.issued()
	s.seen = s.seen[:0]
	s.asOf = s.asOf[:0]
}

// count notes a hit of r.
func (s *scope) count(r *served, state rows.State) {
	s.Touch(&r.hits)
	switch state {
	case rows.Absent:
		r.tally.Answered(resource.Absent)
		return
	case rows.NotModified:
		r.notModified.Store(r.notModified.Load() + 1)
	}
	r.tally.Answered(resource.Hit)
}

// resource returns the resource called name, nil if there is none. name may
// alias a buffer.
func (s *scope) resource(name string) *served {
	// Fast path: one of those that this wake-up has looked up.
	for _, r := range s.seen {
		if name == r.name {
			return r
		}
	}

	// Slow path: a reload may have changed which there are, and who may read.
	r, ok := s.live.Resources.Lookup(name)
	if !ok {
		return nil
	}
	known := s.byName[name]
	if known == nil || known.Resource != r {
		known = &served{Resource: r, name: r.Name(), tally: r.Tally()}
		s.byName[known.name] = known
		s.f.register(known)
	}
	known.rule = r.Access().Read
	if len(s.seen) < maxSeen {
		s.seen = append(s.seen, known)
	}
	return known
}

// asOfText returns the part of an answer that says as of when it is.
func (s *scope) asOfText(at *resource.AsOf) []byte {
	if at.Own {
		s.own = appendAsOf(s.own[:0], at)
		return s.own
	}
	for i := range s.asOf {
		if a := &s.asOf[i]; a.at.SameSource(at) {
			return a.text
		}
	}
	if len(s.asOf) < cap(s.asOf) {
		s.asOf = s.asOf[:len(s.asOf)+1]
	} else {
		s.asOf = append(s.asOf, asOf{})
	}
	a := &s.asOf[len(s.asOf)-1]
	a.at = *at
	a.text = appendAsOf(a.text[:0], at)
	return a.text
}

func appendAsOf(dst []byte, at *resource.AsOf) []byte {
	var room [128]byte
	position := room[:0]
	if !at.Token.IsZero() {
		position = at.Token.AppendSince(position)
	}
	return rows.AppendAsOf(dst, position, millis(at.Lag))
}

// millis returns d in milliseconds, rounded up: what is promised must not be
// less than what is so.
func millis(d time.Duration) uint64 {
	return uint64(max(int64(d+time.Millisecond-1)/int64(time.Millisecond), 0))
}
