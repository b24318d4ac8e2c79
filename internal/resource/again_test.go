package resource

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/query"
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
			least := min(int64(took/h.resource("dept0").revision.Load().src.opts.StaleAfter), most) / 2
			if n > most || n < least {
				t.Errorf("%d resources are compiled %d times in %v, want %d to %d", resources, n, took,
					least, most)
			}
		})
	}
}

// An away is a source whose database is not there at first.
type away struct {
	source.Source
	here atomic.Bool
}

// Compile implements source.Source.
func (a *away) Compile(ctx context.Context, s *source.Spec) (source.Plan, error) {
	if !a.here.Load() {
		return nil, &source.Error{Class: source.Unavailable, Message: "away"}
	}
	return a.Source.Compile(ctx, s)
}

// A resource that does not compile when the database comes costs itself alone, says why, and
// is served once it does.
func TestSet_StartedWithoutTheDatabase(t *testing.T) {
	a := new(away)
	h := newHouse(t, func(o *SetOptions) {
		a.Source = o.Sources[0].Source
		o.Sources[0].Source = a
		o.Resources = append(o.Resources, Spec{Source: "main", Access: Access{Read: "public"},
			Table: &source.Spec{Name: "x", Table: "nope"}})
		time.AfterFunc(100*time.Millisecond, func() { a.here.Store(true) })
	})
	h.hit("dept", "10")
	x := h.resource("x")
	if _, err := x.Get(t.Context(), "1", Options{}); source.ClassOf(err) != source.Missing {
		t.Errorf("a resource without its table: %v", err)
	}
	if _, err := x.Query("", query.Options{}); source.ClassOf(err) != source.Missing {
		t.Errorf("a list of a resource without its table: %v", err)
	}
	h.exec("CREATE TABLE nope (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO nope VALUES (1, 'a')")
	h.until(func() bool {
		_, err := x.Get(t.Context(), "1", Options{})
		return err == nil
	})
	h.hit("x", "1")
	h.hit("dept", "10")
}

// A reload does not wait for a revision that waits for the reload.
func TestSet_ReloadBesideDefinitions(t *testing.T) {
	h := newHouse(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			h.exec(fmt.Sprintf("ALTER TABLE dept ADD c%d INTEGER", i))
			h.exec(fmt.Sprintf("ALTER TABLE dept DROP c%d", i))
		}
	}()
	for i := range 40 {
		specs := houseSpecs()
		specs[1].MaxLimit = 10 + i
		if err := h.set.Reload(t.Context(), specs); err != nil {
			t.Fatal(err)
		}
		h.ready()
	}
	cancel()
	<-done
	h.hit("dept", "10")
}
