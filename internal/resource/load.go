package resource

import (
	"context"
	"sync"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// load begins to read the document from the disk or the source, or joins somebody
// who does so already.
func (rd *pending) load(o *Options) {
	f := rd.f
	f.r.counts.misses.Add(1)
	l, leader := f.begin(rd.key, o.Format, rd.need)
	if leader {
		if a, ok := f.late(l, rd.need); ok {
			rd.answer = a
			return
		}
		f.fetch(f.lead(nil, l, rd.need))
	}
	rd.lease, rd.leader = l, leader
}

// late looks into memory once more under a lease: the load that this reader was
// too late to join may have stored its document since the first look. Without
// it a herd on one key would make a second load.
func (f *form) late(l *fresh.Lease, need fresh.Need) (Answer, bool) {
	if need == fresh.Now {
		return Answer{}, false
	}
	a, ok := f.hit(l.Key, &Options{Format: l.Format})
	if ok {
		ok = f.space.Found(l, a.Doc)
	}
	return a, ok
}

// begin takes or joins the lease of a load. Where the database's equality is
// wider than that of the bytes, a change of the row does not name the text that
// was asked for, so such a load is joined only while it has not been sent. The same
// holds for every load while the feed lags: its answer is not flagged as stale.
func (f *form) begin(key row.Key, of row.Format, need fresh.Need) (*fresh.Lease, bool) {
	if !f.timed() {
		need = f.src.domain.Need(need, monotonic())
	}
	if f.wide && need == fresh.Any {
		need = fresh.Settled
	}
	if f.wide && need == fresh.Settled || f.memory == nil {
		need = fresh.Now
	}
	return f.lease(key, of, need)
}

// lease is Begin of the form's space.
func (f *form) lease(key row.Key, of row.Format, need fresh.Need) (*fresh.Lease, bool) {
	if bit := uint32(1) << of; f.asked.Load()&bit == 0 {
		f.asked.Or(bit)
	}
	return f.space.Begin(key, of, need)
}

// lead adds l to the leases to be fetched, with one for each other format that
// the configuration has made at the same time.
func (f *form) lead(list []*fresh.Lease, l *fresh.Lease, need fresh.Need) []*fresh.Lease {
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
func (f *form) fetch(leases []*fresh.Lease) {
	if leases = f.enter(leases); len(leases) > 0 {
		f.src.crew.Go(func() {
			found, err := f.read(leases)
			f.loaded(leases, found, err)
		})
	}
}

// enter returns the leases that the source is to be asked for. If there are any it is
// to be asked, and loaded called: whoever replaces the source waits for that.
func (f *form) enter(leases []*fresh.Lease) []*fresh.Lease {
	if !f.src.enter() {
		for _, l := range leases {
			f.space.Finish(l, nil, errReplaced, nil, nil)
		}
		return nil
	}
	if leases = f.recall(leases); len(leases) == 0 {
		f.src.loads.Done()
	}
	return leases
}

// loaded ends the leases with what the source has answered.
func (f *form) loaded(leases []*fresh.Lease, found []source.Loaded, err error) {
	defer f.src.loads.Done()
	for i, l := range leases {
		if err != nil {
			f.space.Finish(l, nil, err, nil, nil)
			continue
		}
		f.finish(l, &found[i])
	}
}

// read waits for a place among the source's readers and reads: see form.place.
func (f *form) read(leases []*fresh.Lease) ([]source.Loaded, error) {
	ctx, cancel := context.WithTimeout(context.Background(), f.src.timeout)
	defer cancel()
	release, err := f.place(ctx)
	if err != nil {
		f.r.counts.errors.Add(uint64(len(leases)))
		return nil, err
	}
	defer release()
	keys := make([]row.Key, len(leases))
	for i, l := range leases {
		keys[i] = l.Key
		f.space.Send(l)
	}
	begin := monotonic()
	loaded, err := f.plan.Load(ctx, keys)
	f.src.observe("load", monotonic()-begin, err)
	if err != nil {
		f.r.counts.errors.Add(uint64(len(leases)))
	}
	return loaded, err
}

// finish encodes what was read and stores it if the lease allows.
func (f *form) finish(l *fresh.Lease, found *source.Loaded) {
	doc := f.document(l, found)
	var store func()
	if f.keeps(l, found) {
		store = f.store(l, doc)
	}
	var rows []fresh.Child
	if f.tracked {
		rows = children(found)
	}
	f.space.Finish(l, doc, nil, rows, store)
	if l.Stored() {
		f.r.counts.stored.Add(1)
		f.sampled(l)
	} else {
		f.r.counts.discarded.Add(1)
	}
}

// keeps reports whether the configuration lets what was found be stored under
// the lease's key: only under the key read back from the row, and the absence
// of a row only where the key asked for is the only text that could name it.
func (f *form) keeps(l *fresh.Lease, found *source.Loaded) bool {
	if f.memory == nil || !f.src.followed.Load() && f.spec.TTL == 0 {
		return false
	}
	if !found.Found() {
		return f.spec.Negative && !f.wide
	}
	return found.Key == l.Key
}

// document encodes a row under a lease. The stamp says when, which must be after
// the read: what a fence that began later has applied is all that the read can
// have seen (see fresh.Space.Recall).
func (f *form) document(l *fresh.Lease, found *source.Loaded) *row.Document {
	stamp := l.Stamp
	stamp.At, stamp.Owner = monotonic(), f.number
	if !found.Found() {
		return row.NoRow(stamp)
	}
	return f.encode(l.Key, found.Values, l.Format, stamp)
}

// encode makes the document of a row. The entity tag is that of the JSON form,
// whatever the format, so that all formats of a row have one.
func (f *form) encode(
	key row.Key, v row.Values, of row.Format, s row.Stamp,
) *row.Document {
	shape := f.plan.Shape()
	scratch, _ := scratches.Get().(*[]byte)
	if scratch == nil {
		scratch = new([]byte)
	}
	body := shape.AppendJSON((*scratch)[:0], v)
	hash := row.Hash(body)
	switch {
	case of == row.FormatMsgPack:
		body = shape.AppendMsgPack(body[:0], v)
	case of == row.FormatCBOR:
		body = shape.AppendCBOR(body[:0], v)
	case of == row.FormatPrepared && f.spec.Preparer != nil:
		body = f.spec.Preparer.AppendPrepared(body[:0], shape, v)
	}
	doc := row.NewDocument(key, of, body, hash, s)
	if cap(body) <= keptScratch {
		*scratch = body
		scratches.Put(scratch)
	}
	return doc
}

// scratches are what documents are encoded in before they are copied to memory of
// their own: buffers that grew for each were a quarter of a write's garbage.
var scratches sync.Pool

// keptScratch is how large one may be that is kept.
const keptScratch = 64 << 10

func children(found *source.Loaded) []fresh.Child {
	if len(found.Children) == 0 {
		return nil
	}
	list := make([]fresh.Child, len(found.Children))
	for i, c := range found.Children {
		list[i] = fresh.Child{Table: c.Table, ID: c.ID}
	}
	return list
}

// answer waits for the lease and says where the answer came from.
func (f *form) answer(
	ctx context.Context, l *fresh.Lease, leader bool, o *Options, need fresh.Need,
) (Answer, error) {
	select {
	case <-l.Done():
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	doc, err := l.Result()
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Doc: doc, Key: l.Key, Token: f.token(l.AsOf), Origin: Unstored}
	state, lag := f.src.domain.Gate(monotonic())
	a.Lag = lag
	switch {
	case o.NoCache:
		a.Origin = Requested
	case !f.src.followed.Load(), f.memory == nil, state != fresh.Fresh, need == fresh.Now:
		a.Origin = Bypassed
	case !leader:
		a.Origin = Collapsed
		f.r.counts.collapsed.Add(1)
	case l.Recalled():
		a.Origin = HitDisk
	case l.Stored():
		a.Origin = Stored
	}
	return a, nil
}
