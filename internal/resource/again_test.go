package resource

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// compiles is a source whose plans take a time, and are counted.
type compiles struct {
	source.Source
	takes time.Duration
	count atomic.Int64
}

// Compile implements source.Source.
func (c *compiles) Compile(ctx context.Context, s *source.Spec) (source.Plan, error) {
	c.count.Add(1)
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
	}
	return c.Source.Compile(ctx, s)
}

// Without a feed, resources that are read are compiled again, few of them as often as the
// bound says, and many not more often than so many in a second.
func TestRecompile_HasABound(t *testing.T) {
	const takes, during = 5 * time.Millisecond, 2 * time.Second
	for _, resources := range []int{1, 40} {
		t.Run(fmt.Sprint(resources), func(t *testing.T) {
			c := &compiles{takes: takes}
			h := newHouse(t, func(o *SetOptions) {
				c.Source = o.Sources[0].Source
				o.Sources[0].Source, o.Sources[0].Mode = c, source.FeedNone
				o.Resources = nil
				for i := range resources {
					o.Resources = append(o.Resources, Spec{Source: "main",
						Table: &source.Spec{Name: fmt.Sprint("dept", i), Table: "dept"}})
				}
			})
			before, begun := c.count.Load(), time.Now()
			for time.Since(begun) < during {
				for i := range resources {
					h.get(fmt.Sprint("dept", i), "10", Options{})
				}
			}
			n, took := c.count.Load()-before, time.Since(begun)
			most := int64(took/recompileEvery) + recompileBurst + 1
			least := min(int64(took/h.resource("dept0").form.Load().src.opts.StaleAfter), most) / 2
			if n > most || n < least {
				t.Errorf("%d resources are compiled %d times in %v, want %d to %d", resources, n, took,
					least, most)
			}
		})
	}
}
