package resource

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// List returns up to limit documents whose keys follow after (nil: from the
// beginning), in the order of the key, read from the database, and whether
// there are more.
func (r *Resource) List(
	ctx context.Context, after *row.Key, limit int, of row.Format,
) ([]Answer, bool, error) {
	for begun := monotonic(); ; {
		f := r.form.Load()
		answers, more, err := f.page(ctx, after, limit, of)
		if !r.outdated(f, err, begun) {
			return answers, more, err
		}
	}
}

// page is List of one form.
func (f *form) page(
	ctx context.Context, after *row.Key, limit int, of row.Format,
) ([]Answer, bool, error) {
	if f.plan == nil {
		return nil, false, f.src.notReady()
	}
	if after != nil {
		k, err := f.key.ParseAfter(*after)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", f.r.name, err)
		}
		after = &k
	}
	f.src.awake(ctx)
	at := f.src.asOf(monotonic())
	found, err := f.list(ctx, after, limit+1)
	if err != nil {
		return nil, false, err
	}
	more := len(found) > limit
	if more {
		found = found[:limit]
	}
	answers := make([]Answer, len(found))
	for i := range found {
		answers[i] = Answer{
			Doc: f.encode(found[i].Key, found[i].Values, of, row.Stamp{}), Key: found[i].Key,
			Origin: Bypassed, Token: at.Token, Lag: at.Lag,
		}
	}
	return answers, more, nil
}

func (f *form) list(ctx context.Context, after *row.Key, limit int) ([]source.Loaded, error) {
	ctx, cancel := context.WithTimeout(ctx, f.src.timeout)
	defer cancel()
	release, err := f.place(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	begin := monotonic()
	found, err := f.plan.List(ctx, after, limit)
	f.src.observe("list", monotonic()-begin, err)
	return found, err
}
