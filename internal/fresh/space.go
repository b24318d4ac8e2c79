package fresh

import (
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
)

// shards is how many locks the keys of a space are spread over.
const shards = 64

// A Space is the keys of one resource: which are being loaded, and which have
// changed without the change being settled yet.
type Space struct {
	domain      *Domain
	drop        func(row.Key)
	evictOthers func(l *Lease, doc *row.Document, stored bool)
	flush       func() // nil: see OnWhole

	// generation counts the changes of the resource's tables as a whole, and
	// wholes those of them that are not settled. Apply raises wholes first;
	// Begin reads generation first.
	generation atomic.Uint64
	wholes     atomic.Int64

	watchedReads watchedReads
	seed         maphash.Seed
	shards       atomic.Pointer[[shards]shard] // nil until a key is asked for: see shard
}

// Unstorable reports whether no load is stored: a change of the table as a whole is not settled,
// or what may be invisible since the feed's beginning.
func (s *Space) Unstorable() bool { return s.wholes.Load() > 0 }

// A shard is the part of a space that one lock guards. Its maps are made when
// they are first written to.
type shard struct {
	mu       sync.Mutex
	inflight map[flight]*Lease // the newest; older ones follow it
	dirty    map[row.Key]int32 // changes that are not settled, writes under way

	answeredAt [row.NumFormats]*[slots]int64 // 1 + when the last answer was made: see noteAnswer
}

// flight names a load: each representation has one of its own.
type flight struct {
	key    row.Key
	format row.Format
}

// NewSpace adds the space of a resource to d.
//
// drop is called with a key's shard locked, and must have removed every copy of
// the key when it returns. agree is called in the same way for an answer that a
// load gives, and must have removed every copy of the lease's key that a hit could
// answer with and that is not SameVersion to doc; stored says that the answer is about to
// take the place of the copy in the lease's own format. A slower tier must have
// removed that copy only (see FinishFromDisk), unless the answer takes its place.
//
// It must not run beside Apply. What was applied before and is not settled
// may touch the new space as well: it is taken to touch all of it.
func (d *Domain) NewSpace(
	drop func(row.Key), agree func(l *Lease, doc *row.Document, stored bool),
) *Space {
	s := &Space{domain: d, drop: drop, evictOthers: agree, seed: maphash.MakeSeed()}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spaces = append(d.spaces, s)
	for _, p := range d.pending {
		p.invalidations = append(p.invalidations, Invalidation{Space: s, Whole: true})
		s.wholes.Add(1)
	}
	return s
}

// Remove takes s out of its domain. When it has returned nothing is stored through it any
// more.
func (s *Space) Remove() {
	s.domain.forget(s)
	s.wholes.Add(1) // never settled: no lease is storable
	s.generation.Add(1)
	if all := s.shards.Load(); all != nil {
		for i := range all {
			all[i].passed()
		}
	}
}

// forget takes s out of d.
func (d *Domain) forget(s *Space) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, o := range d.spaces {
		if o == s {
			d.spaces = append(d.spaces[:i:i], d.spaces[i+1:]...)
			return
		}
	}
}

// passed returns when those have gone on who have locked the shard before.
func (sh *shard) passed() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
}

// shard returns the part of s that has a key. All of them are made for the first key: of most
// of a great many tables nobody asks for a row.
func (s *Space) shard(k row.Key) *shard {
	all := s.shards.Load()
	if all == nil {
		s.shards.CompareAndSwap(nil, new([shards]shard))
		all = s.shards.Load()
	}
	return &all[maphash.String(s.seed, string(k))%shards]
}

// Valid reports whether a copy with this stamp may be trusted, the gate being
// open. It takes no lock.
func (s *Space) Valid(st row.Stamp) bool {
	return st.Epoch == s.domain.epoch.Load() && st.Generation == s.generation.Load()
}

// errUnfinished is the result of a lease whose leader has panicked while ending it.
var errUnfinished = errors.New("fresh: what was loaded could not be taken over")

// A Lease is the permission, taken before the source is read, to store what is
// read. Its leader calls Send just before the read and Finish after it; others
// wait on Done and take Result.
type Lease struct {
	Key    row.Key
	Format row.Format
	Stamp  row.Stamp // for the document that is made
	AsOf   *Progress // includes every change up to here
	Fenced int64     // when the last fence began that had been reached; 0: none had

	done     chan struct{}
	storable bool       // no change of the key was unsettled when the lease was taken
	settled  bool       // the same; of what depends on versions: nor of any of those
	at       Position   // of the write that it is a write-through of; 0: it is a load
	list     *listLease // nil: marks alone keep it fresh

	// Guarded by the shard's lock until done is closed.
	invalidated bool          // a change came after the lease was taken
	after       *row.Document // what others were answered since it was sent: see supersede
	answered    bool          // others were answered before it was sent: see Found
	now         bool          // a reader asked for the source itself
	sent        bool
	older       *Lease // the next of the same flight
	stored      bool
	doc         *row.Document
	err         error

	fromDisk bool     // doc is a copy that a slower tier had kept
	shows    Position // see Space.Saw

	// With, Row and Untold are the caller's: the leader may set them before it ends the lease,
	// for those who wait. Row is the key of the row that was found, where it may be another text
	// than Key. Untold says that the feed does not tell of what is read: AsOf says nothing then.
	With   any
	Row    row.Key
	Untold bool
}

// Done is closed when the lease is finished.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Result returns what the leader read. Done must have been closed.
func (l *Lease) Result() (*row.Document, error) { return l.doc, l.err }

// Stored reports whether the document was kept. Done must have been closed.
func (l *Lease) Stored() bool { return l.stored }

// Need is what a reader asks of a load beyond its key.
type Need uint8

// The needs.
const (
	Any     Need = iota // a copy as fresh as the feed knows, which knows: see Domain.Need
	Settled             // a snapshot that has every change applied by now; the same
	Now                 // a read that has not been sent yet
)

// Begin returns the lease under which k is to be loaded, and whether the caller
// leads: then it must call Finish, whatever happens.
//
// A reader never joins a load that began before a change which is known, or
// known to be visible, by now (the load is invalidated, its stamp is no longer
// valid), nor one that was sent before others were
// answered, in whatever format: its answer could be older than one given
// before, and a slow load would make it older than what is promised. One with a
// token (Settled) joins only a load begun when all was settled: the others may
// read a snapshot from before a change that was applied but not visible when
// they began, if no fence has been reached since: then that began no longer ago than
// the answers to this reader may be old (see recent). One that must read the source now
// joins only a load not yet sent, and invalidates any other: the copy that it would leave may
// be older than what this reader is about to see.
func (s *Space) Begin(k row.Key, f row.Format, need Need) (l *Lease, leader bool) {
	sh := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	last := sh.inflight[flight{k, f}]
	if last != nil && s.joinable(last) {
		switch {
		case need == Any && s.recent(last), need == Settled && last.settled,
			need == Now && !last.sent:
			last.now = last.now || need == Now
			return last, false
		}
	}
	if need == Now {
		sh.invalidate(k, 0)
	}
	l = s.lease(sh, k, f)
	l.now = need == Now
	sh.launch(l)
	return l, true
}

// launch puts l in flight. The shard is locked.
func (sh *shard) launch(l *Lease) {
	if sh.inflight == nil {
		sh.inflight = make(map[flight]*Lease)
	}
	fl := flight{l.Key, l.Format}
	l.older, sh.inflight[fl] = sh.inflight[fl], l
}

// recent reports whether what l may miss is within the bound. What is applied and was not
// settled when l began may have become visible right after its read, and is not known to
// be. But the reader's gate is open: the last fence that was reached began within the
// bound, and l began after it.
func (s *Space) recent(l *Lease) bool {
	return l.settled || l.Fenced == s.domain.fenced.Load()
}

// joinable reports whether nothing is known that l may have read before. The shard
// is locked.
func (s *Space) joinable(l *Lease) bool {
	return l.at == 0 && !l.invalidated && l.after == nil && s.Valid(l.Stamp)
}

// lease makes the lease of a load that begins now. The shard is locked.
//
// The order matters. Apply publishes the position after all of its marks, so
// it is read before them: it covers no change whose marks are not seen. Apply
// raises wholes before generation, so a lease that has seen the new generation
// sees the unsettled change as well.
func (s *Space) lease(sh *shard, k row.Key, f row.Format) *Lease {
	l := &Lease{Key: k, Format: f, done: make(chan struct{})}
	l.AsOf, l.Fenced = s.domain.applied.Load(), s.domain.fenced.Load()
	l.Stamp.Epoch = s.domain.epoch.Load()
	l.Stamp.Generation = s.generation.Load()
	s.domain.versions.step()
	l.storable = sh.dirty[k] == 0 && s.wholes.Load() == 0 && l.Stamp.Epoch != 0
	l.settled = l.storable
	if !l.settled {
		l.AsOf = s.domain.settledTo(l.AsOf)
		s.domain.want()
	}
	return l
}

// Send says that the leader reads the source from now on. It reports false when
// the lease is invalidated already: the read is then of use to its waiters only.
func (s *Space) Send(l *Lease) bool {
	sh := s.shard(l.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	l.sent = true
	return !l.invalidated
}

// WantsNow reports whether a reader who waits for l asked for the source itself. After Send
// no other can.
func (s *Space) WantsNow(l *Lease) bool {
	sh := s.shard(l.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return l.now
}

// Finish ends a lease with what was read. If the document may be kept, store is
// called with the key's shard locked; nil: the caller does not want it kept.
//
// It may be kept when (a) no change of the key was unsettled as the lease was
// taken: the read, which began later, then has every change delivered before;
// and (b) no change of the key was delivered since: one delivered later will
// drop the copy. Leases alone (b) are not enough, because a feed may deliver a
// commit before a new read sees it.
//
// What a reader has been told must not be followed by an older state, in any
// format: see SameVersion and what stands above it. So (c) no answer of another state
// was given since the read began, and the copies of other states go.
func (s *Space) Finish(l *Lease, doc *row.Document, err error, store func()) {
	sh := s.shard(l.Key)
	sh.mu.Lock()
	defer l.finish(sh)
	l.err = errUnfinished
	sh.land(l)
	if err == nil {
		sh.supersede(l.Key, doc)
		l.stored = store != nil && l.storable && !l.invalidated && l.sameVersion(doc) &&
			s.Valid(l.Stamp)
		s.evictOthers(l, doc, l.stored)
		s.noteAnswer(sh, l, doc)
		if l.stored {
			store()
		}
	}
	l.doc, l.err = doc, err
}

// finish lets those who wait for l go on, and the next have the shard. What a function of
// the caller's has left unfinished by a panic is not stored, and no answer.
func (l *Lease) finish(sh *shard) {
	l.stored = l.stored && l.err == nil
	sh.mu.Unlock()
	close(l.done)
}

// Fail ends a lease by err if it has not ended yet: its leader has panicked.
func (s *Space) Fail(l *Lease, err error) {
	select {
	case <-l.done:
	default:
		s.Finish(l, nil, err, nil)
	}
}

// Found ends a lease whose reader has found a valid copy after all, stored
// between its look into the tier and its lease: the copy is the answer for all
// that have joined. It reports false, and the lease goes on, when one of those
// wants the source itself, or when others were answered since the lease was taken: the
// copy may have been found before that, and those who have joined since may know more.
func (s *Space) Found(l *Lease, doc *row.Document) bool {
	sh := s.shard(l.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if l.now || l.answered {
		return false
	}
	sh.land(l)
	l.doc = doc
	close(l.done)
	return true
}

// land takes l out of flight. The shard is locked.
func (sh *shard) land(l *Lease) {
	fl := flight{l.Key, l.Format}
	if sh.inflight[fl] == l {
		if sh.inflight[fl] = l.older; l.older == nil {
			delete(sh.inflight, fl)
		}
	}
	for o := sh.inflight[fl]; o != nil; o = o.older {
		if o.older == l {
			o.older = l.older
		}
	}
	l.older = nil
}

// supersede lets an answer supersede every load of k in flight. The shard is locked.
func (sh *shard) supersede(k row.Key, doc *row.Document) {
	for f := range row.Format(row.NumFormats) {
		for l := sh.inflight[flight{k, f}]; l != nil; l = l.older {
			l.supersede(doc)
		}
	}
}

// Drop forgets k and invalidates its loads, as an operator asks for.
func (s *Space) Drop(k row.Key) {
	sh := s.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.invalidate(k, 0)
	s.drop(k)
}

// DropAll makes every copy of the space invalid.
func (s *Space) DropAll() {
	s.flushed()
	s.generation.Add(1)
	s.flushed()
}

// mark adds a change of k, by the transaction at a position, that is not settled. The
// shard is locked.
func (s *Space) mark(sh *shard, k row.Key, by Position) {
	if sh.dirty == nil {
		sh.dirty = make(map[row.Key]int32)
	}
	sh.dirty[k]++
	sh.invalidate(k, by)
	s.drop(k)
}

// unmark takes one mark away. The shard is locked.
func unmark(sh *shard, k row.Key) {
	if sh.dirty[k]--; sh.dirty[k] <= 0 {
		delete(sh.dirty, k)
	}
}

// invalidate lets the loads of k in flight answer those who wait, and store nothing, because
// of the transaction at a position (0: of something else). Its own write-through
// is spared. The shard is locked.
func (sh *shard) invalidate(k row.Key, by Position) {
	for f := range row.Format(row.NumFormats) {
		for l := sh.inflight[flight{k, f}]; l != nil; l = l.older {
			l.invalidated = l.invalidated || by == 0 || l.at != by
		}
	}
}
