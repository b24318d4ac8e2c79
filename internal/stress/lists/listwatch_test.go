package lists

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/testbed"
)

// A watchedList is a list that is followed.
type watchedList struct {
	ask  *resource.ListAsk
	of   string
	as   row.Format
	body atomic.Pointer[[]byte] // what was told last
	told int                    // of whoever follows
	err  error
}

// follow notes what is told until ctx ends.
func (w *watchedList) follow(ctx context.Context, r *resource.Resource) {
	list := r.WatchList(w.ask, w.as)
	defer list.Close()
	for {
		a, err := list.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				w.err = err
			}
			return
		}
		body := a.Doc.Body()
		w.body.Store(&body)
		w.told++
	}
}

// TestStress_WatchedLists: whoever waits for lists to change knows in the end what the database
// has, whatever was written to their tables and to those that they embed, and however often
// the feed was cut.
func TestStress_WatchedLists(t *testing.T) {
	blogs(t, changingRows(), func(t *testing.T, b *blog) {
		b.next = 20
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		defer func() {
			cancel()
			following.Wait()
		}()
		lists := make([]*watchedList, 2*len(embedAsks))
		for i := range lists {
			a := embedAsks[i/2]
			q, err := b.query(t, a.of, a.raw)
			if err != nil {
				t.Fatalf("%s?%s: %v", a.of, a.raw, err)
			}
			lists[i] = &watchedList{of: a.of, as: row.Format(i % 2), ask: &resource.ListAsk{Query: q, Pack: packAll}}
			following.Go(func() { lists[i].follow(ctx, b.s.Resource(a.of)) })
		}
		writes, cuts := 0, 0
		for end := time.Now().Add(testbed.Length(time.Second)); time.Now().Before(end) || writes < 100; writes++ {
			b.exec(strings.Split(b.change(), "; ")...)
			if writes%100 == 99 && strings.HasSuffix(t.Name(), "postgres") {
				b.exec("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")
				cuts++
			}
			time.Sleep(time.Duration(b.rng.IntN(10)) * time.Millisecond)
		}
		b.s.Quiet()
		began := time.Now()
		for i, w := range lists {
			b.name = w.of
			is := b.ask(w.ask.Query, resource.Options{NoCache: true, Format: w.as}).Doc.Body()
			for told := w.body.Load(); told == nil || !bytes.Equal(*told, is); told = w.body.Load() {
				if time.Since(began) > testbed.Patience {
					t.Fatalf("of %s?%s is known\n%s\nand it is\n%s", w.of, w.ask.Query, *told, is)
				}
				time.Sleep(time.Millisecond)
			}
			if i == 0 {
				t.Logf("the first list was right after %v", time.Since(began))
			}
		}
		cancel()
		following.Wait()
		told := 0
		for _, w := range lists {
			if told += w.told; w.err != nil {
				t.Errorf("%s?%s: %v", w.of, w.ask.Query, w.err)
			}
		}
		testbed.Figures(t, "%d writes and %d cuts of the feed, %d changes of %d lists were told", writes, cuts, told,
			len(lists))
		if told < 3*len(lists) {
			t.Errorf("%d changes were told", told)
		}
	})
}
