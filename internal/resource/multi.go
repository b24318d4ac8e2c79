package resource

import (
	"context"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
)

// GetMulti returns the documents of keys in order, with one read of the
// database for all that memory does not hold.
func (r *Resource) GetMulti(ctx context.Context, keys []row.Key, o Options) ([]Answer, error) {
	for begun := monotonic(); ; {
		f := r.form.Load()
		answers, err := f.multi(ctx, keys, &o)
		if !r.outdated(f, err, begun) {
			return answers, err
		}
	}
}

// multi is GetMulti of one form.
func (f *form) multi(ctx context.Context, keys []row.Key, o *Options) ([]Answer, error) {
	answers := make([]Answer, len(keys))
	need, err := f.await(ctx, o)
	if err != nil {
		return nil, err
	}
	type wait struct {
		lease  *fresh.Lease
		leader bool
	}
	waits := make(map[int]wait)
	var lead []*fresh.Lease
	defer func() {
		// Every lease that was taken is fetched, also when a later key is bad.
		if len(lead) > 0 {
			f.fetch(lead)
		}
	}()
	plain := Options{Format: o.Format}
	for i, asked := range keys {
		key, err := f.canonical(asked)
		if err != nil {
			return nil, err
		}
		var ok bool
		if need != fresh.Now {
			if answers[i], ok = f.hit(key, &plain); ok {
				continue
			}
			if answers[i], ok = f.stale(key, o, false); ok {
				continue
			}
		}
		if o.OnlyIfCached {
			return nil, ErrNotCached
		}
		f.r.counts.misses.Add(1)
		l, leader := f.begin(key, o.Format, need)
		if leader {
			if answers[i], ok = f.late(l, need); ok {
				continue
			}
			lead = f.lead(lead, l, need)
		}
		waits[i] = wait{l, leader}
	}
	if len(lead) > 0 {
		f.fetch(lead)
		lead = nil
	}
	for i, w := range waits {
		answers[i], err = f.answer(ctx, w.lease, w.leader, o, need)
		if err != nil {
			if answers[i], err = f.rescue(w.lease.Key, o, err); err != nil {
				return nil, err
			}
		}
	}
	return answers, nil
}
