package kv

import (
	"context"
	"errors"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// Ask reads the document of a key as o says, and returns the resource, too. A key that no
// row can have has none.
//
// Errors: ErrNoResource, ErrStarting, ErrForbidden, those of resource.Get.
func (s *Store) Ask(
	ctx context.Context, who *Identity, key []byte, o resource.Options,
) (*resource.Resource, resource.Answer, error) {
	live, began := s.Live(), time.Now()
	res, of := live.Find(key)
	if res == nil {
		s.stats.unknown.Add(1)
		return nil, resource.Answer{}, live.NoResource(key)
	}
	if !who.Passes(live, live.IssuedNow(), res.Access().Read) {
		return res, resource.Answer{}, ErrForbidden
	}
	if l := who.Least; o.Min.IsZero() && l.Source == res.Source() {
		o.Min, o.Wait = l, who.Wait
	}
	ctx, cancel := context.WithTimeout(ctx, live.ReadTimeout)
	defer cancel()
	a, err := res.Get(ctx, of, o)
	s.observe(res.Name(), CodeOf(err), time.Since(began))
	if errors.Is(err, row.ErrKey) {
		return res, resource.Answer{Key: of}, nil
	}
	return res, a, err
}
