package resource

import (
	"context"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// tokenOf returns the token of what a lease has given: what was read, or a copy. Where
// nobody tells of changes it includes nothing for certain.
func (u *sourceState) tokenOf(l *fresh.Lease, doc *row.Document) Token {
	t := u.token(l.AsOf)
	if l.Untold {
		t = t.unsure()
	}
	if pos := l.Shows(); pos != 0 {
		return t.Showing(source.Position(pos))
	}
	return u.copied(t, doc.At())
}

// answer waits for the lease and says where the answer came from.
func (f *revision) answer(
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
	a := Answer{Doc: doc, Key: l.Key, Token: f.src.tokenOf(l, doc), Origin: Unstored}
	now := monotonic()
	state, lag := f.src.domain.Gate(now)
	a.Lag = f.src.lagOf(l, lag, now)
	if f.wide && !doc.Absent() {
		a.Key = l.Row
	}
	switch {
	case o.NoCache:
		a.Origin = Requested
	case !f.followed(), f.memory == nil, state != fresh.Fresh, need == fresh.Now:
		a.Origin = Bypassed
	case !leader:
		a.Origin = Collapsed
		f.r.counts.collapsed.Add(1)
	case l.FromDisk():
		a.Origin = HitDisk
	case l.Stored():
		a.Origin = Stored
	}
	return a, nil
}
