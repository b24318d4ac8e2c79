package resource

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Load returns the documents of keys in order, each with its own error: what memory may
// answer from memory, all else with one read of the disk or the database, or of somebody
// who reads it already. A key may be any spelling; one that no row can have is an error
// that wraps row.ErrKey; a row that is not there is an Answer whose Doc is Absent. keys
// may alias a buffer.
//
// Whoever leaves early, by ctx, leaves the load to the others who wait for it.
func (r *Resource) Load(ctx context.Context, keys []row.Key, o Options) []Answer {
	answers := make([]Answer, len(keys))
	for _, key := range keys {
		r.hot.Read(r.name, string(key))
	}
	for begun := monotonic(); ; {
		f := r.revision.Load()
		f.load(ctx, keys, &o, answers)
		again := false
		for i := 0; i < len(answers) && !again; i++ {
			again = r.outdated(f, answers[i].Err, begun)
		}
		if !again {
			return answers
		}
	}
}

// load is Load of one revision.
func (f *revision) load(ctx context.Context, keys []row.Key, o *Options, answers []Answer) {
	var one [1]pending
	list := one[:]
	if len(keys) != 1 {
		list = make([]pending, len(keys))
	}
	f.begin(ctx, keys, o, list)
	for i := range list {
		answers[i] = f.end(ctx, &list[i], o)
	}
}

// A pending is a read that has been begun: its answer, or the load that it waits
// for.
type pending struct {
	key    row.Key
	answer Answer
	lease  *fresh.Lease // nil: there is nothing to wait for
	leader bool
	need   fresh.Need
	begun  int64
	timing *loadTiming // nil: another loads, or nobody
}

// begin begins to read keys, into list. It waits for a position, if o asks for one, and
// for the disk.
func (f *revision) begin(ctx context.Context, keys []row.Key, o *Options, list []pending) {
	begun := monotonic()
	need, err := f.await(ctx, o)
	at := f.src.asOf(monotonic()) // after the wait
	var lead []*fresh.Lease
	defer f.begunAll(list, &lead)
	var held map[row.Key]Answer // by memory, of several: whoever asks twice gets one copy
	if len(keys) > 1 {
		held = make(map[row.Key]Answer)
	}
	for i, asked := range keys {
		rd := &list[i]
		rd.need, rd.answer.Err, rd.begun = need, err, begun
		if err == nil {
			rd.key, rd.answer.Err = f.canonical(asked)
		}
		if rd.answer.Err != nil {
			continue
		}
		if a, again := held[rd.key]; again {
			rd.answer = a
			f.countKept(&rd.answer)
			continue
		}
		if lead = f.open(rd, o, &at, lead); rd.lease == nil && rd.answer.Err == nil && held != nil {
			held[rd.key] = rd.answer
		}
	}
	if len(lead) == 0 {
		return
	}
	t := &loadTiming{begun: monotonic()}
	for i := range list {
		if list[i].leader {
			list[i].timing = t
		}
	}
	f.fetch(lead, t)
}

// open answers one read from memory, or joins or takes the lease of its load, which is
// added to lead.
func (f *revision) open(
	rd *pending, o *Options, at *AsOf, lead []*fresh.Lease,
) []*fresh.Lease {
	if rd.need != fresh.Now {
		doc, state, age := f.lookup(rd.key, o.Format, at, false)
		if state != Miss && (state != Stale || o.takesStale()) {
			rd.answer = f.remembered(rd.key, doc, state, age, at)
			return lead
		}
	}
	if o.OnlyIfCached {
		rd.answer.Err = fmt.Errorf("%s/%s: %w", f.r.name, rd.key, ErrNotCached)
		return lead
	}
	f.r.counts.misses.Add(1)
	if rd.need == fresh.Now {
		f.r.counts.bypassed.Add(1)
	}
	rd.lease, rd.leader = f.join(rd.key, o.Format, rd.need)
	if !rd.leader {
		return lead
	}
	if a, ok := f.recheck(rd.lease, rd.need); ok {
		rd.answer, rd.lease = a, nil
		return lead
	}
	return f.lead(lead, rd.lease, rd.need)
}

// end returns the answer of a read that was begun with o.
func (f *revision) end(ctx context.Context, rd *pending, o *Options) Answer {
	if rd.lease == nil {
		return rd.answer
	}
	a, err := f.answer(ctx, rd.lease, rd.leader, o, rd.need)
	if err == nil {
		a.Steps = rd.timing.steps(rd.begun)
		return a
	}
	return f.rescue(rd.key, o, err)
}

// rescue answers a read that the source has failed: with a copy flagged as
// stale if the reader takes one, else with the error.
func (f *revision) rescue(key row.Key, o *Options, err error) Answer {
	if source.ClassOf(err).Passing() && o.takesStale() {
		at := f.src.asOf(monotonic())
		if doc, state, age := f.lookup(key, o.Format, &at, true); state != Miss {
			return f.remembered(key, doc, state, age, &at)
		}
	}
	return Answer{Err: fmt.Errorf("read %s/%s: %w", f.r.name, key, err)}
}

// remembered is the answer with what lookup has returned.
func (f *revision) remembered(
	key row.Key, doc *row.Document, state State, age time.Duration, at *AsOf,
) Answer {
	a := Answer{Doc: doc, Key: key, Origin: HitMemory, Token: at.shows(doc.At()), Lag: at.Lag}
	if own := rowOf(doc); own != "" {
		a.Key = own
	}
	if !f.followed() { // it has a ttl
		a.Token = a.Token.unsure()
	}
	if state == Stale {
		flagged := at.stale(doc, age)
		a.Origin, a.Token, a.Lag = HitStale, flagged.Token, flagged.Lag
	}
	f.countKept(&a)
	return a
}

// countKept counts an answer that memory has given.
func (f *revision) countKept(a *Answer) {
	switch {
	case a.Origin == HitStale:
		f.r.counts.stale.Add(1)
	case a.Doc.Absent():
		f.r.counts.negative.Add(1)
	default:
		f.r.counts.hits.Add(1)
	}
}

// canonical returns the one text of a key that may be kept, in memory of its
// own.
func (f *revision) canonical(asked row.Key) (row.Key, error) {
	if f.plan == nil {
		return "", f.notReady()
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
func (f *revision) await(ctx context.Context, o *Options) (fresh.Need, error) {
	f.src.wake(ctx)
	switch {
	case o.NoCache:
		return fresh.Now, nil
	case !f.followed():
		if f.timed() && o.Min.IsZero() {
			return fresh.Any, nil
		}
		return fresh.Now, nil
	case o.Min.IsZero():
		state, lag := f.src.domain.Gate(monotonic())
		return f.need(o, state, lag)
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

// recheck looks into memory once more under a lease: the load that this reader was
// too late to join may have stored its document since the first look. Without
// it a herd on one key would make a second load.
func (f *revision) recheck(l *fresh.Lease, need fresh.Need) (Answer, bool) {
	if need == fresh.Now {
		return Answer{}, false
	}
	at := f.src.asOf(monotonic())
	doc, state, _ := f.lookup(l.Key, l.Format, &at, false)
	if state != Hit && state != Absent {
		return Answer{}, false
	}
	if l.Row = rowOf(doc); l.Row == "" {
		l.Row = l.Key
	}
	if !f.space.Found(l, doc) {
		return Answer{}, false
	}
	return f.remembered(l.Key, doc, state, 0, &at), true
}

// join takes or joins the lease of a load. While the feed lags it is joined only while it has
// not been sent: its answer is not flagged as stale.
func (f *revision) join(key row.Key, of row.Format, need fresh.Need) (*fresh.Lease, bool) {
	if !f.timed() {
		need = f.src.domain.Need(need, monotonic())
	}
	if f.memory == nil {
		need = fresh.Now
	}
	return f.lease(key, of, need)
}

// lease is Begin of the revision's space.
func (f *revision) lease(key row.Key, of row.Format, need fresh.Need) (*fresh.Lease, bool) {
	if bit := uint32(1) << of; f.asked.Load()&bit == 0 {
		f.asked.Or(bit)
	}
	told := f.followed()
	l, leader := f.begins(key, of, need)
	if leader {
		f.notesUntold(l, told)
	}
	return l, leader
}

// begins is Begin, or BeginList where versions keep the document fresh.
func (f *revision) begins(key row.Key, of row.Format, need fresh.Need) (*fresh.Lease, bool) {
	if f.docDeps == nil {
		return f.space.Begin(key, of, need)
	}
	ask := f.docDeps.ask(key)
	l, leader := f.space.BeginList(key, of, need, &ask.Question)
	if leader {
		l.With = ask
	}
	return l, leader
}

// notesUntold notes whether the feed tells of what a lease reads, and did (told) when it began. If
// not, the position that the feed has reached may be past a change that no read sees yet: no mark
// tells of it.
func (f *revision) notesUntold(l *fresh.Lease, told bool) { l.Untold = !told || !f.followed() }

// lead adds l to the leases to be fetched, with one for each other format that
// the configuration has made at the same time.
func (f *revision) lead(list []*fresh.Lease, l *fresh.Lease, need fresh.Need) []*fresh.Lease {
	list = append(list, l)
	if need == fresh.Now || f.wide || f.memory == nil {
		return list
	}
	for _, of := range f.spec.Formats {
		if of == l.Format {
			continue
		}
		if other, leader := f.lease(l.Key, of, need); leader {
			list = append(list, other)
		}
	}
	return list
}

// fetch reads what the leases are for in one go. The disk is asked at once, which
// takes microseconds; the source in a goroutine of its own: the caller may leave,
// those who have joined still want the answer.
func (f *revision) fetch(leases []*fresh.Lease, t *loadTiming) {
	if leases = f.enter(leases); len(leases) > 0 {
		f.src.workers.Go(func() {
			defer f.src.loads.Done()
			defer f.loadedAll(leases)
			found, err := f.read(leases, t)
			f.loaded(leases, found, err, t)
		})
	}
}

// enter returns the leases that the source is to be asked for. If there are any, it counts
// among the source's loads until it has answered: whoever replaces the source waits for that.
func (f *revision) enter(leases []*fresh.Lease) []*fresh.Lease {
	if !f.src.enter() {
		for _, l := range leases {
			f.space.Finish(l, nil, errReplaced, nil)
		}
		return nil
	}
	asks := false
	defer func() {
		if !asks {
			f.src.loads.Done()
		}
	}()
	leases = f.loadFromDisk(leases)
	asks = len(leases) > 0
	return leases
}

// loaded ends the leases with what the source has answered.
func (f *revision) loaded(leases []*fresh.Lease, found []source.Loaded, err error, t *loadTiming) {
	for i, l := range leases {
		if err != nil {
			f.space.Finish(l, nil, err, nil)
			continue
		}
		f.finish(l, &found[i], t)
	}
}

// read waits for a place among the source's readers and reads: see revision.place.
func (f *revision) read(leases []*fresh.Lease, t *loadTiming) ([]source.Loaded, error) {
	ctx, cancel := context.WithTimeout(context.Background(), f.src.opts.Timeout)
	defer cancel()
	release, err := f.place(ctx)
	if err != nil {
		f.r.counts.errors.Add(uint64(len(leases)))
		return nil, err
	}
	defer release()
	keys, now := make([]row.Key, len(leases)), false
	for i, l := range leases {
		keys[i] = l.Key
		f.space.Send(l)
		now = now || f.space.WantsNow(l)
	}
	begin := monotonic()
	ctx, seen := f.seeing(ctx)
	var loaded []source.Loaded
	t.elsewhere, err = f.src.reads(ctx, now, func() (err error) {
		loaded, err = f.plan.Load(ctx, keys)
		return err
	})
	t.shows = fresh.Position(seen.Position())
	t.pool, t.database = begin-t.begun, monotonic()-begin
	f.src.observe("load", t.database, err)
	if err != nil {
		f.r.counts.errors.Add(uint64(len(leases)))
	}
	return loaded, unreadable(err)
}

// unreadable returns err, the error of a read, with ErrUnreadable if it is that.
func unreadable(err error) error {
	if source.ClassOf(err) != source.Forbidden {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, err)
}

// seeing has a read of the source say how far what it has seen may reach, if a feed gives
// positions a meaning.
func (f *revision) seeing(ctx context.Context) (context.Context, *source.Seen) {
	if !f.followed() {
		return ctx, new(source.Seen)
	}
	return source.Seeing(ctx)
}

// finish encodes what was read and stores it if the lease allows.
func (f *revision) finish(l *fresh.Lease, found *source.Loaded, t *loadTiming) {
	begin := monotonic()
	f.space.Saw(l, t.shows)
	doc := f.document(l, found)
	t.encode.Add(monotonic() - begin)
	if f.wide {
		l.Row = found.Key
	}
	if f.docDeps != nil {
		f.docDeps.finish(l, doc, found, t.elsewhere)
	} else {
		f.finishDocument(l, doc, found, t.elsewhere)
	}
	if l.Stored() {
		f.r.counts.stored.Add(1)
		f.sampled(l)
	} else {
		f.r.counts.discarded.Add(1)
	}
}

// finishDocument ends the lease of a document that feeds drop by its key.
func (f *revision) finishDocument(
	l *fresh.Lease, doc *row.Document, found *source.Loaded, elsewhere bool,
) {
	var store func()
	if !elsewhere && f.keeps(l, found) {
		store = f.store(l, doc)
	}
	f.space.Finish(l, doc, nil, store)
}

// keeps reports whether what was found may be stored under the lease's key: a row that has
// another text for it, only where versions tell what becomes of that.
func (f *revision) keeps(l *fresh.Lease, found *source.Loaded) bool {
	if f.memory == nil || !f.followed() && f.spec.TTL == 0 {
		return false
	}
	return f.wide || !found.Found() || found.Key == l.Key
}

// document encodes a row under a lease. The stamp says when, which must be after
// the read: what a fence that began later has applied is all that the read can
// have seen (see fresh.Space.FinishFromDisk).
func (f *revision) document(l *fresh.Lease, found *source.Loaded) *row.Document {
	stamp := l.Stamp
	stamp.At, stamp.Owner = monotonic(), f.number
	if !found.Found() {
		return row.NoRow(stamp)
	}
	return f.encode(l.Key, found.Values, l.Format, stamp)
}
