package lists

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
)

// TestStress_EmbedsBesideWriters: while rows of every table are written, readers load lists
// that embed rows all the time, and the feed is killed now and then; whenever the writer
// rests, no list differs from the database's.
func TestStress_EmbedsBesideWriters(t *testing.T) {
	blogs(t, changingRows(), func(t *testing.T, b *blog) {
		b.next = 20
		asks := b.embedQueries(t)
		ctx, cancel := context.WithCancel(t.Context())
		var commits, reads, hits atomic.Int64
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		var writing sync.Mutex
		wg.Go(func() {
			for ctx.Err() == nil {
				writing.Lock()
				var statements []string
				for more := true; more; more = b.rng.IntN(3) == 0 {
					statements = append(statements, strings.Split(b.change(), "; ")...)
				}
				b.exec(statements...)
				if b.kill != nil && b.rng.IntN(300) == 0 {
					b.kill()
				}
				took := time.Duration(b.rng.IntN(3)) * time.Millisecond
				writing.Unlock()
				commits.Add(1)
				testbed.Pause(ctx, took)
			}
		})
		for range 3 {
			wg.Go(func() {
				for testbed.Breathe(ctx) {
					i := rand.IntN(len(asks))
					a, err := b.embedAsk(ctx, i, asks[i], resource.Options{})
					if err != nil && ctx.Err() == nil && source.ClassOf(err) != source.Unavailable {
						t.Errorf("%s?%s: %v", embedAsks[i].of, embedAsks[i].raw, err)
						return
					}
					if reads.Add(1); a.Origin == resource.HitMemory {
						hits.Add(1)
					}
					testbed.Pause(ctx, 100*time.Microsecond)
				}
			})
		}
		kept, compared := 0, 0
		for end := time.Now().Add(testbed.Length(time.Second / 2)); time.Now().Before(end) || kept == 0; {
			testbed.Pause(ctx, time.Duration(50+rand.IntN(200))*time.Millisecond)
			kept, compared = kept+b.compareEmbeds(t, &writing, asks), compared+len(asks)
		}
		testbed.Work(t, 0, &commits, &hits)
		testbed.Figures(t, "%d commits beside %d reads, %d of them hits; at rest %d lists compared, %d of "+
			"them from memory", commits.Load(), reads.Load(), hits.Load(), compared, kept)
	})
}

// embedQueries returns the queries of embedAsks.
func (b *blog) embedQueries(t *testing.T) []*query.Query {
	asks := make([]*query.Query, len(embedAsks))
	for i, a := range embedAsks {
		var err error
		if asks[i], err = b.query(t, a.of, a.raw); err != nil {
			t.Fatalf("%s?%s: %v", a.of, a.raw, err)
		}
	}
	return asks
}

func (b *blog) embedAsk(
	ctx context.Context, i int, q *query.Query, o resource.Options,
) (resource.ListAnswer, error) {
	return b.s.Resource(embedAsks[i].of).SelectList(ctx, &resource.ListAsk{Query: q, Pack: packAll}, o)
}

// compareEmbeds compares each list with the database while nobody writes, and returns how
// many came from memory.
func (b *blog) compareEmbeds(
	t *testing.T, writing *sync.Mutex, asks []*query.Query,
) (kept int) {
	t.Helper()
	writing.Lock()
	defer writing.Unlock() // the writer ends, too, when a list is stale
	b.s.Quiet()
	for i, q := range asks {
		a, err := b.embedAsk(t.Context(), i, q, resource.Options{})
		is, failed := b.embedAsk(t.Context(), i, q, resource.Options{NoCache: true})
		switch {
		case err != nil || failed != nil:
			t.Fatalf("%s?%s: %v, %v", embedAsks[i].of, q, err, failed)
		case !bytes.Equal(a.Doc.Body(), is.Doc.Body()):
			t.Fatalf("%s?%s is stale (%v):\n%s\nnow\n%s", embedAsks[i].of, q, a.Origin, a.Doc.Body(),
				is.Doc.Body())
		case a.Origin == resource.HitMemory:
			kept++
		}
	}
	return kept
}
