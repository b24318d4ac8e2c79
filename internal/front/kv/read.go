package kv

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/workers"
)

// A Found is what there is under one key.
type Found struct {
	Res *Served       // nil: the key names no resource
	Doc *row.Document // nil: there is no row, or no answer
	Err error         // why there is no answer

	// Uncacheable says that no feed tells of changes of this answer: it is stale, or was read
	// past the cache, or the resource has none. Nobody may keep it.
	Uncacheable bool
	Stale       bool

	// Inexact says that the row has another key: who is told of changes is told of that.
	Inexact bool

	// List says that Doc is an array of documents: the key is one of a query.
	List bool

	gone   bool       // it was said to be absent, flagged as stale
	format row.Format // in which Doc is, or is to be loaded
}

// ErrForbidden is the error of a key of a resource that may not be read.
var ErrForbidden = errors.New("the resource may not be read")

// state returns what memory has said of the row.
func (f *Found) state() resource.State {
	switch {
	case f.Stale:
		return resource.Stale
	case f.Doc == nil:
		return resource.Absent
	}
	return resource.Hit
}

// A Reader is who reads, and how.
type Reader struct {
	Who   *Identity
	Track *Tracked // has the keys noted; nil: nobody
	As    ReadAs

	// Flags says that the reply can say that an answer is stale. One that cannot has none:
	// while the feed lags the database is read.
	Flags bool
}

// takesStale reports whether a stale answer is one for the reader.
func (s *Scope) takesStale(r *Reader) bool { return r.Flags || s.Live.StaleAllowed }

// Get looks one key up in memory. It reports false when memory has no answer: then Miss is
// what to load. Before that it notes the key for r.Track, if that is not nil. A hit takes no
// lock without, and allocates nothing. Count notes it when it is answered with.
func (s *Scope) Get(r Reader, key []byte, f *Found) bool {
	of, where := s.begin(&r, key, f)
	if where != inTier {
		return where == atHand
	}
	doc, state, at := f.Res.Lookup(of, f.format, &s.Snapshot)
	return s.take(&r, f, doc, state, at)
}

// GetAll is Get of several keys, which are looked up together. It returns how many it has
// found before the first that memory has no answer for. What was found before is used no more.
func (s *Scope) GetAll(r Reader, keys [][]byte, found []Found) (n int) {
	s.Snapshot.Reuse()
	if len(keys) == 1 {
		if s.Get(r, keys[0], &found[0]) {
			return 1
		}
		return 0
	}
	for n < len(keys) {
		end := min(n+Together, len(keys))
		n += s.getSome(&r, keys[n:end], found[n:end])
		if n < end {
			return n
		}
	}
	return n
}

// Track notes keys for r.Track, as Get does, and looks nothing up.
func (s *Scope) Track(r Reader, keys [][]byte) {
	if r.Track == nil {
		return
	}
	for _, key := range keys {
		var f Found
		s.begin(&r, key, &f)
	}
}

// getSome is GetAll of Together keys at most.
func (s *Scope) getSome(r *Reader, keys [][]byte, found []Found) int {
	var where [Together]whereabouts
	for i, key := range keys {
		var of row.Key
		f := &found[i]
		if of, where[i] = s.begin(r, key, f); where[i] == inTier {
			s.lookups.Add(f.Res.Resource, of, f.format)
		}
	}
	s.lookups.Get(&s.Snapshot)
	looked := 0
	for i := range found {
		switch where[i] {
		case inDatabase:
			return i
		case inTier:
			doc, state, at := s.lookups.Result(looked, &s.Snapshot)
			if looked++; !s.take(r, &found[i], doc, state, at) {
				return i
			}
		}
	}
	return len(found)
}

// A whereabouts says where the answer to a key is.
type whereabouts uint8

const (
	atHand     whereabouts = iota
	inTier                 // or in the database
	inDatabase             // memory has none
)

// begin finds the row that a key is of, and notes the key for r.Track. Where f is not the
// answer already, that is looked up.
func (s *Scope) begin(r *Reader, key []byte, f *Found) (of row.Key, where whereabouts) {
	if q, value := s.Live.queryOf(key); q != nil {
		return "", s.getList(r, q, value, f)
	}
	res, of, exact := s.Find(key)
	*f = Found{Res: res, Inexact: !exact && res != nil}
	if res == nil {
		if err := s.Live.NoResource(key); err != ErrNoResource {
			f.Err = err
		}
		return "", atHand
	}
	f.format = res.formatOf(r.As)
	if res.rule != "public" && !r.Who.Passes(s.Live, s.Issued, res.rule) {
		f.Err = ErrForbidden
		return "", atHand
	}
	if r.Track != nil && exact && res.follows {
		s.store.tracker.Track(row.Alias(key), r.Track)
	}
	return of, inTier
}

// take makes what memory says of a row the answer. It reports false when that is none.
func (s *Scope) take(
	r *Reader, f *Found, doc *row.Document, state resource.State, at *resource.AsOf,
) bool {
	if state == resource.Miss || state == resource.Stale && !s.takesStaleRow(r, f, doc) ||
		!r.Who.takes(f.Res, state, at) {
		return false
	}
	f.Stale, f.Uncacheable = state == resource.Stale, !f.Res.follows || state == resource.Stale
	f.keep(doc)
	return true
}

// takesStaleRow is takesStale of a row: no reply can say that it is only said to be absent.
func (s *Scope) takesStaleRow(r *Reader, f *Found, doc *row.Document) bool {
	f.gone = doc.Absent() && !s.Live.StaleAllowed
	return s.takesStale(r) && !f.gone
}

// A Miss is a key that memory does not answer.
type Miss struct {
	Res *Served
	Key row.Key
	To  *Found

	list                  string // what a key of a query asks for; "": the row of Key
	format                row.Format
	least                 resource.Token
	wait                  time.Duration
	follows               bool // as the loop has seen the resource, which alone may look
	noStale, staleAllowed bool
}

// Miss returns what Get did not answer, to be loaded into f.
func (s *Scope) Miss(r *Reader, key []byte, f *Found) Miss {
	m := Miss{Res: f.Res, To: f, format: f.format, noStale: f.gone || !s.takesStale(r)}
	m.staleAllowed = s.Live.StaleAllowed
	who := r.Who
	if l := who.Least; !l.IsZero() && l.Source == f.Res.Source() {
		m.least, m.wait = l, who.Wait
	}
	if q, value := s.Live.queryOf(key); q != nil {
		m.list = strings.Clone(s.spell(q, value))
		return m
	}
	res, rowKey, _ := s.Find(key)
	m.Res, m.follows = res, res.follows
	m.Key = row.Key(strings.Clone(string(rowKey)))
	return m
}

// options returns how a miss may be answered: all of one load are of one client.
func (m *Miss) options() resource.Options {
	return resource.Options{Format: m.format, Min: m.least, Wait: m.wait, NoStale: m.noStale}
}

// Size returns how large the answers to misses may become.
func (s *Store) Size(list []Miss) int64 {
	count := make(map[*Served]int)
	for _, m := range list {
		count[m.Res]++
	}
	var sum int64
	for r, n := range count {
		sum += s.unsent.Estimate(r.name, n, front.AnswerBytes)
	}
	return min(sum, front.AnswerBytes)
}

// ErrAnswer is the error of what is not read because the answer would have too much.
var ErrAnswer = &source.Error{Class: source.TooLarge,
	Message: "the rows together are too large for one answer", Hint: "ask for fewer keys at once"}

// Load reads misses, those of one resource and format together that take the same answers: one
// query for front.BatchKeys of them.
func (s *Store) Load(ctx context.Context, list []Miss) {
	type group struct {
		res     *Served
		format  row.Format
		noStale bool
	}
	var of []group
	together := make(map[group][]Miss)
	for _, m := range list {
		g := group{m.Res, m.format, m.noStale}
		if together[g] == nil {
			of = append(of, g)
		}
		together[g] = append(together[g], m)
	}
	ctx, cancel := context.WithTimeout(ctx, s.Live().ReadTimeout)
	defer cancel()
	read := new(atomic.Int64)
	if len(of) == 1 {
		s.loadAll(ctx, of[0].res, list, read)
		return
	}
	var loads sync.WaitGroup
	for _, g := range of {
		loads.Go(func() {
			defer func() {
				err := workers.Caught(s.Live().Log, "read "+g.res.name, recover())
				for i := 0; err != nil && i < len(together[g]); i++ {
					together[g][i].To.Err = err
				}
			}()
			s.loadAll(ctx, g.res, together[g], read)
		})
	}
	loads.Wait()
}

// atOnce returns how many misses of a resource one query is for: as many as are about an
// eighth of what an answer may have.
func (s *Store) atOnce(res *Served) int {
	each := s.unsent.Estimate(res.name, 2, math.MaxInt) / 2
	return int(min(front.BatchKeys, front.AnswerBytes/8/max(each, 1)))
}

// loadAll reads misses of one resource and format. read has the bytes of all documents of
// the answer.
func (s *Store) loadAll(ctx context.Context, res *Served, list []Miss, read *atomic.Int64) {
	list = s.loadLists(ctx, res, list, read)
	list, repeated := firsts(list)
	defer func() {
		for _, m := range repeated { // each has the same document
			*m.to = *m.first
		}
	}()
	for len(list) > 0 {
		if read.Load() > front.AnswerBytes {
			for i := range list {
				list[i].To.Err = ErrAnswer
			}
			return
		}
		some := list[:min(len(list), s.atOnce(res))]
		list = list[len(some):]
		began := time.Now()
		keys := make([]row.Key, len(some))
		for i := range some {
			keys[i] = some[i].Key
		}
		s.stats.batches.Add(1)
		answers := res.Load(ctx, keys, some[0].options())
		documents, size := 0, 0
		for i := range answers {
			some[i].set(&answers[i])
			if d := some[i].To.Doc; d != nil {
				documents, size = documents+1, size+len(d.Body())
				read.Add(int64(len(d.Body())))
			}
			s.observe(res.name, CodeOf(some[i].To.Err), time.Since(began))
		}
		s.unsent.Learn(res.name, documents, size)
	}
}

// A repetition is a miss of a key that was missed before.
type repetition struct{ to, first *Found }

// firsts returns the misses of a list without those that ask for what an earlier one does:
// whoever names a row often reads it once.
func firsts(list []Miss) (once []Miss, repeated []repetition) {
	if len(list) < 2 {
		return list, nil
	}
	type asked struct {
		key     row.Key
		inexact bool
	}
	seen := make(map[asked]int, len(list))
	once = make([]Miss, 0, len(list))
	for _, m := range list {
		of := asked{m.Key, m.To.Inexact}
		if at, ok := seen[of]; ok {
			repeated = append(repeated, repetition{m.To, once[at].To})
			continue
		}
		seen[of] = len(once)
		once = append(once, m)
	}
	return once, repeated
}

// errStaleAbsence is the error of a row of which memory alone says, flagged as stale, that it
// is not there.
var errStaleAbsence = &source.Error{Class: source.Unavailable,
	Message: "the database cannot be reached, and whether the row is there is not known"}

// set makes a the answer to what was missed.
func (m *Miss) set(a *resource.Answer) {
	f := m.To
	*f = Found{Res: m.Res, Inexact: f.Inexact, format: m.format}
	if errors.Is(a.Err, row.ErrKey) {
		m.Res.nothing.Add(1)
		return // no row can have this key: so there is none
	}
	if a.Err != nil {
		f.Err, f.Uncacheable = a.Err, true
		return
	}
	if f.keep(a.Doc); f.Doc == nil && a.Origin == resource.HitStale && !m.staleAllowed {
		f.Err, f.Uncacheable = errStaleAbsence, true
		return
	}
	f.Stale = a.Origin == resource.HitStale
	f.Uncacheable = !m.follows || f.Stale || a.Origin == resource.Bypassed
	f.Inexact = f.Inexact || a.Key != m.Key
}
