package resource

import (
	"context"

	"github.com/hotrow/hotrow/internal/row"
)

// What follows are names of before, for a front that has not moved yet.

// Moments is a Snapshot.
type Moments = Snapshot

// Moment is an AsOf.
type Moment = AsOf

// Hit is Lookup without stale answers, and without the document of no row.
func (r *Resource) Hit(key row.Key, of row.Format, s *Snapshot) (*row.Document, *AsOf) {
	switch doc, state, at := r.Lookup(key, of, s); state {
	case Hit:
		return doc, at
	case Absent:
		return nil, at
	}
	return nil, nil
}

// Add counts one hit.
func (t *Tally) Add() { t.Answered(Hit) }

// AddAbsent counts one answer that there is no row.
func (t *Tally) AddAbsent() { t.Answered(Absent) }

// Count is Hits.
func (t *Tally) Count() uint64 { return t.Hits() }

// GetMulti is Load with the first error as that of all.
func (r *Resource) GetMulti(ctx context.Context, keys []row.Key, o Options) ([]Answer, error) {
	answers := r.Load(ctx, keys, o)
	for i := range answers {
		if err := answers[i].Err; err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// A Missed is a read that Begin has begun.
type Missed struct {
	r  *Resource
	of row.Format
	f  *form
	rd pending
}

// Begin begins to read a document; it waits for nothing but the disk.
func (r *Resource) Begin(key row.Key, of row.Format) Missed {
	m := Missed{r: r, of: of, f: r.form.Load()}
	var list [1]pending
	m.f.begin(context.Background(), []row.Key{key}, &Options{Format: of}, list[:])
	m.rd = list[0]
	return m
}

// Ready reports whether Answer does not wait.
func (m *Missed) Ready() bool {
	if m.rd.lease == nil {
		return true
	}
	select {
	case <-m.rd.lease.Done():
		return true
	default:
		return false
	}
}

// Answer is what Get returns, with its errors.
func (m *Missed) Answer(ctx context.Context) (Answer, error) {
	a := m.f.end(ctx, &m.rd, &Options{Format: m.of})
	if m.r.outdated(m.f, a.Err, monotonic()) {
		return m.r.Get(ctx, m.rd.key, Options{Format: m.of})
	}
	return a, a.Err
}

// OnDisk reports whether a document that memory does not have may be on disk.
func (r *Resource) OnDisk() bool { return r.form.Load().disk != nil }
