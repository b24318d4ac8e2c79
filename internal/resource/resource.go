package resource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// A Resource is a named set of documents. It stays the same object while its
// configuration, or the table under it, changes: what changes is its form.
type Resource struct {
	name   string
	form   atomic.Pointer[form]
	counts counts
	watch  hub
	warmth warmth

	tally   sync.Mutex // guards tallies
	tallies []*Tally
}

// A form is a resource as compiled for one configuration and one state of the
// catalogue. A new form has a number of its own in the tiers, so that what the
// old one kept is out of reach.
type form struct {
	r      *Resource
	spec   Spec
	src    *upstream
	plan   source.Plan // nil: not compiled yet, the database was not there
	key    row.KeyType
	wide   bool
	number uint32
	space  *fresh.Space
	memory tier.Tier  // nil: pass-through
	disk   *tier.Disk // nil: none, or one that cannot keep these documents
	copier *copier

	outage outage
	sample sample // of what was stored, for the auditor

	// asked has a bit for each format of which there has been a load: of the others
	// memory has no copy.
	asked atomic.Uint32

	tracked bool // changes may name rows whose old parents nobody knows

	renewed   int64  // when it was last compiled again; guarded by src.compiling
	complaint string // why it did not compile; the same
	doubt     doubt
	trial     atomic.Pointer[trial] // which loads wait for; nil: none
}

// Name returns the name, as in the path.
func (r *Resource) Name() string { return r.name }

// Source returns the name of its source in the configuration.
func (r *Resource) Source() string { return r.form.Load().src.name }

// Shape returns how its documents are made; nil while the database has not been
// reached since the start.
func (r *Resource) Shape() *row.Shape {
	if p := r.form.Load().plan; p != nil {
		return p.Shape()
	}
	return nil
}

// KeyType returns the columns of its key.
func (r *Resource) KeyType() row.KeyType { return r.form.Load().key }

// Plan returns the compiled resource, nil while there is none.
func (r *Resource) Plan() source.Plan { return r.form.Load().plan }

// Spec returns the configuration of the resource.
func (r *Resource) Spec() Spec { return r.form.Load().spec }

// Access returns who may read and write it.
func (r *Resource) Access() Access { return r.form.Load().spec.Access }

// Writable reports whether it takes writes at all.
func (r *Resource) Writable() bool { return r.form.Load().spec.Writable }

// Allows reports whether the configuration serves an operation.
func (r *Resource) Allows(op source.Op) bool {
	s := &r.form.Load().spec
	return s.Writable && (s.Methods == nil || slices.Contains(s.Methods, methods[op]))
}

// methods are the operations' names in the configuration.
var methods = [...]string{
	source.OpCreate: "post", source.OpReplace: "put", source.OpMerge: "patch",
	source.OpDelete: "delete",
}

// MaxLimit returns the largest limit of a list.
func (r *Resource) MaxLimit() int { return r.form.Load().spec.MaxLimit }

// Get returns the document of key, as asked for: any spelling of it. A key that
// no row can have is an error that wraps row.ErrKey; a row that is not there is
// an Answer whose Doc is Absent. key may alias a buffer.
//
// A document in memory is answered without a lock, a log line or an allocation
// (TestResource_HitAllocatesNothing).
func (r *Resource) Get(ctx context.Context, key row.Key, o Options) (Answer, error) {
	for begun := int64(0); ; {
		f := r.form.Load()

		// Fast path: memory has the document and the feed is up to date.
		if a, ok := f.hit(key, &o); ok {
			return a, nil
		}

		// Slow path: another spelling of the key, a token, a stale copy, a load.
		if begun == 0 {
			begun = monotonic()
		}
		a, err := f.get(ctx, key, &o)
		if !r.outdated(f, err, begun) {
			return a, err
		}
	}
}

// hit returns what memory holds for key if it may be answered as fresh.
func (f *form) hit(key row.Key, o *Options) (Answer, bool) {
	if o.NoCache || f.memory == nil || f.space == nil || !o.Min.IsZero() {
		return Answer{}, false
	}
	p := f.src.domain.Applied() // before the look-up: the answer includes it
	state, lag := f.src.domain.Gate(monotonic())
	if state != fresh.Fresh && !f.timed() {
		return Answer{}, false
	}
	doc, ok := f.memory.Get(tier.Ref{Resource: f.number, Format: o.Format, Key: key})
	if !ok || !f.space.Valid(doc.Stamp()) || f.expired(doc) {
		return Answer{}, false
	}
	if doc.Absent() {
		f.r.counts.negative.Add(1)
	} else {
		f.r.counts.hits.Add(1)
	}
	return Answer{Doc: doc, Key: key, Origin: HitMemory, Token: f.token(p), Lag: lag}, true
}

// timed reports whether copies are good for their time to live and nothing
// else, because no feed says when they change.
func (f *form) timed() bool { return f.spec.TTL > 0 && !f.src.followed.Load() }

// expired reports whether a copy of a resource with a time to live is too old.
func (f *form) expired(doc *row.Document) bool {
	return f.spec.TTL > 0 && monotonic()-doc.Stamp().At > int64(f.spec.TTL)
}

func (f *form) token(p *fresh.Progress) Token {
	if p.Origin == "" {
		return Token{}
	}
	return Token{Source: f.src.name, Origin: p.Origin, Pos: source.Position(p.Pos)}
}

// get is the slow path of Get.
func (f *form) get(ctx context.Context, asked row.Key, o *Options) (Answer, error) {
	rd := f.open(ctx, asked, o)
	return rd.wait(ctx, o)
}

// A pending is a read that has been begun: its answer, or the load that it waits
// for.
type pending struct {
	f      *form
	key    row.Key
	answer Answer
	err    error
	lease  *fresh.Lease // nil: there is nothing to wait for
	leader bool
	need   fresh.Need
}

// open begins a read. It waits for a position, if o asks for one, and for the
// disk.
func (f *form) open(ctx context.Context, asked row.Key, o *Options) (rd pending) {
	rd.f = f
	if rd.key, rd.err = f.canonical(asked); rd.err != nil {
		return rd
	}
	if rd.need, rd.err = f.await(ctx, o); rd.err != nil {
		return rd
	}
	key, need := rd.key, rd.need
	if need != fresh.Now && f.memory != nil {
		plain := Options{Format: o.Format} // the token has been waited for
		if !o.missed || key != asked {
			if a, ok := f.hit(key, &plain); ok {
				rd.answer = a
				return rd
			}
		}
		if a, ok := f.stale(key, o, false); ok {
			rd.answer = a
			return rd
		}
	}
	if o.OnlyIfCached {
		rd.err = fmt.Errorf("%s/%s: %w", f.r.name, key, ErrNotCached)
		return rd
	}
	rd.load(o)
	return rd
}

// wait returns the answer of a read that was opened with o.
func (rd *pending) wait(ctx context.Context, o *Options) (Answer, error) {
	if rd.lease == nil {
		return rd.answer, rd.err
	}
	a, err := rd.f.answer(ctx, rd.lease, rd.leader, o, rd.need)
	if err == nil {
		return a, nil
	}
	return rd.f.rescue(rd.key, o, err)
}

// canonical returns the one text of a key that may be kept, in memory of its
// own.
func (f *form) canonical(asked row.Key) (row.Key, error) {
	if f.plan == nil {
		return "", f.src.notReady()
	}
	key, err := f.key.Parse(asked)
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.r.name, err)
	}
	if key == asked {
		key = row.Key(strings.Clone(string(asked)))
	}
	return key, nil
}

// await waits until the position that the reader asks for has been applied, as
// long as the reader allows, and says how the answer must be read.
func (f *form) await(ctx context.Context, o *Options) (fresh.Need, error) {
	switch {
	case o.NoCache:
		return fresh.Now, nil
	case !f.src.followed.Load():
		if f.timed() && o.Min.IsZero() {
			return fresh.Any, nil
		}
		return fresh.Now, nil
	case o.Min.IsZero():
		return f.need(f.src.domain.Gate(monotonic()))
	case o.Min.Source != f.src.name:
		return fresh.Now, nil
	}
	wait := o.Wait
	if wait <= 0 {
		wait = 100 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, min(wait, 2*time.Second))
	defer cancel()
	if f.src.reached(ctx, o.Min) {
		return fresh.Settled, nil
	}
	return fresh.Now, nil
}

// stale returns a copy that is flagged as stale, while the feed lags or when the
// source has failed, and for a reader who has asked for nothing better.
func (f *form) stale(key row.Key, o *Options, failed bool) (Answer, bool) {
	if o.NoCache || !o.Min.IsZero() || f.memory == nil {
		return Answer{}, false
	}
	now := monotonic()
	state, _ := f.src.domain.Gate(now)
	limit := f.staleLimit(state, failed)
	if limit <= 0 {
		return Answer{}, false
	}
	p := f.src.domain.Applied()
	doc, ok := f.memory.Get(tier.Ref{Resource: f.number, Format: o.Format, Key: key})
	if !ok || f.expired(doc) {
		return Answer{}, false
	}
	age, ok := f.src.domain.Suspect(f.space, doc.Stamp(), now)
	if !ok || age > limit {
		return Answer{}, false
	}
	f.r.counts.stale.Add(1)
	a := Answer{Doc: doc, Key: key, Origin: Stale, Lag: age}
	if doc.Stamp().Epoch == p.Epoch {
		a.Token = f.token(p) // an older epoch's copy includes nobody knows what
	}
	return a, true
}

// rescue answers a read that the source has failed: with a copy flagged as
// stale if the reader takes one, else with the error.
func (f *form) rescue(key row.Key, o *Options, err error) (Answer, error) {
	if source.ClassOf(err).Passing() {
		if a, ok := f.stale(key, o, true); ok {
			return a, nil
		}
	}
	return Answer{}, fmt.Errorf("read %s/%s: %w", f.r.name, key, err)
}

// Invalidate forgets the document of key in every form; with no key, all of
// them.
func (r *Resource) Invalidate(key *row.Key) error {
	f := r.form.Load()
	if f.plan == nil {
		return nil // nothing was ever kept
	}
	r.counts.admin.Add(1)
	if key == nil {
		f.space.DropAll()
		return f.synced()
	}
	k, err := f.canonical(*key)
	if err != nil {
		return err
	}
	f.space.Drop(k)
	return f.synced()
}

// Kept reports whether memory, or the disk behind it, has a document of key in any
// form, or the knowledge that there is none.
func (r *Resource) Kept(key row.Key) (bool, error) {
	f := r.form.Load()
	if f.plan == nil || f.memory == nil {
		return false, nil
	}
	k, err := f.canonical(key)
	if err != nil {
		return false, err
	}
	for of := range row.Format(row.NumFormats) {
		ref := tier.Ref{Resource: f.number, Format: of, Key: k}
		_, kept := f.memory.Get(ref)
		if !kept && f.disk != nil {
			_, kept = f.disk.Get(ref)
		}
		if kept {
			return true, nil
		}
	}
	return false, nil
}

// Example returns a key that exists, for the index page; "" when there is none.
func (r *Resource) Example(ctx context.Context) row.Key {
	f := r.form.Load()
	if f.plan == nil {
		return ""
	}
	found, err := f.plan.List(ctx, nil, 1)
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0].Key
}
