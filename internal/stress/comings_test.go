package stress

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/testbed"
)

// comings are those of a resource that reloads take away and give back: the feed is to follow its
// table again each time, as it runs.
type comings struct {
	table string
	away  sync.RWMutex // held while it is not served
	added atomic.Int64 // how often it was not followed when it came
}

// comesAndGoes has a resource come and go until ctx ends.
func (rs *readers) comesAndGoes(ctx context.Context, wg *sync.WaitGroup, table string) *comings {
	c := &comings{table: table}
	rs.comes = c
	without := slices.DeleteFunc(worldSpecs(), func(s resource.Spec) bool {
		return s.Table.Name == table
	})
	rests := func(most int) bool { return testbed.Pause(ctx, time.Duration(rand.IntN(most))*time.Millisecond) }
	wg.Go(func() {
		for rests(80) {
			if err := c.once(ctx, rs.stand, without); err != nil {
				rs.t.Errorf("reload: %v", err)
				return
			}
			for r := rs.stand.Resource(table); !r.Followed() && rests(40); {
			}
		}
	})
	return c
}

// once takes the resource away for a moment.
func (c *comings) once(ctx context.Context, s *stand, without []resource.Spec) error {
	c.away.Lock()
	defer c.away.Unlock()
	ctx = context.WithoutCancel(ctx) // it is served when this has ended
	if err := s.Set.Reload(ctx, without); err != nil {
		return err
	}
	testbed.Pause(ctx, time.Duration(rand.IntN(30))*time.Millisecond)
	if err := s.Set.Reload(ctx, worldSpecs()); err != nil {
		return err
	}
	if !s.Resource(c.table).Followed() {
		c.added.Add(1)
	}
	return nil
}

// reads holds up who reads a page while its resource is away. The caller calls the function that
// it returns when it has read.
func (c *comings) reads(p *page) (done func()) {
	if c == nil || p.table != c.table {
		return func() {}
	}
	c.away.RLock()
	return c.away.RUnlock
}
