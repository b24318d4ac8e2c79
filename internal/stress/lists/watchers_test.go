package lists

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A cachingClient keeps documents until it is told that they may have changed, as a client
// of Redis with a cache of its own does.
type cachingClient struct {
	r *resource.Resource
	w *resource.Watch

	mu   sync.Mutex // guards what follows
	told map[row.Key]int
	all  int
	have map[keptAs][]byte
}

// A keptAs is a document in one representation.
type keptAs struct {
	key row.Key
	of  row.Format
}

// representations are what such clients ask for.
var representations = []row.Format{row.FormatJSON, row.FormatMsgPack, row.FormatCBOR}

// hear takes what is told until ctx ends.
func (k *cachingClient) hear(ctx context.Context) {
	defer k.w.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-k.w.C:
			k.mu.Lock()
			if e.Reset {
				k.all++
				clear(k.have)
			} else {
				k.told[e.Key]++
				for _, of := range representations {
					delete(k.have, keptAs{e.Key, of})
				}
			}
			k.mu.Unlock()
		}
	}
}

// get reads a document that k has not. What k was told of before the answer came is not kept.
func (k *cachingClient) get(ctx context.Context, key row.Key, of row.Format) error {
	k.mu.Lock()
	_, has := k.have[keptAs{key, of}]
	told, all := k.told[key], k.all
	k.mu.Unlock()
	if has {
		return nil
	}
	a := k.r.Load(ctx, []row.Key{key}, resource.Options{Format: of})[0]
	if a.Err != nil {
		return a.Err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if told == k.told[key] && all == k.all {
		k.have[keptAs{key, of}] = slices.Clone(bodyOf(a.Doc))
	}
	return nil
}

func bodyOf(d *row.Document) []byte {
	if d.Absent() {
		return nil
	}
	return d.Body()
}

// stale returns a document that k has and the database has not.
func (k *cachingClient) stale(ctx context.Context) string {
	k.mu.Lock()
	have := maps.Clone(k.have)
	k.mu.Unlock()
	for as, body := range have {
		a := k.r.Load(ctx, []row.Key{as.key}, resource.Options{Format: as.of, NoCache: true})[0]
		if a.Err != nil {
			return a.Err.Error()
		}
		if !bytes.Equal(bodyOf(a.Doc), body) {
			return fmt.Sprintf("%q, and the database has %q", body, bodyOf(a.Doc))
		}
	}
	return ""
}

// TestStress_WatchersKeepNothingStale: whoever keeps documents that hold rows of another
// table is told of every change of them, whether memory has the document or not: rows are
// moved, by statements and through hotrow, memory has no room for all, the feed is killed.
func TestStress_WatchersKeepNothingStale(t *testing.T) {
	comments := source.Embed{Name: "comments", On: []string{"post"},
		Spec: &source.Spec{Name: "comments", Table: "comments"}}
	threads := testbed.Spec("posts", comments)
	threads.Table.Name = "threads"
	p := testbed.Plan{Specs: []resource.Spec{threads}, Memory: 48 << 10}
	blogsOf(t, changingRows(), p, func(t *testing.T, b *blog) {
		b.next = 20
		ctx, cancel := context.WithCancel(t.Context())
		var writes, answers, own atomic.Int64
		var writing sync.Mutex
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		clients := make([]*cachingClient, 3)
		for i := range clients {
			k := &cachingClient{r: b.s.Resource("threads"), told: make(map[row.Key]int),
				have: make(map[keptAs][]byte)}
			k.w = k.r.Watch(1000)
			clients[i] = k
			wg.Go(func() { k.hear(ctx) })
			wg.Go(func() {
				for testbed.Breathe(ctx) {
					err := k.get(ctx, row.Key(fmt.Sprint(1+rand.IntN(8))),
						representations[rand.IntN(len(representations))])
					if err != nil && ctx.Err() == nil && source.ClassOf(err) != source.Unavailable {
						t.Error(err)
						return
					}
					answers.Add(1)
				}
			})
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				writing.Lock()
				if b.rng.IntN(3) == 0 {
					b.move(t)
					own.Add(1)
				} else {
					b.exec(strings.Split(b.change(), "; ")...)
				}
				if b.kill != nil && b.rng.IntN(300) == 0 {
					b.kill()
				}
				took := time.Duration(b.rng.IntN(2000)) * time.Microsecond
				writing.Unlock()
				writes.Add(1)
				testbed.Pause(ctx, took)
			}
		})
		kept := 0
		for end := time.Now().Add(testbed.Length(time.Second)); time.Now().Before(end) || kept < 20; {
			testbed.Pause(ctx, time.Duration(20+rand.IntN(100))*time.Millisecond)
			kept += b.compareCaches(t, &writing, clients)
		}
		testbed.Work(t, 0, &writes, &answers, &own)
		testbed.Figures(t, "%d writes, %d of them through hotrow, beside %d reads; at rest %d documents of watchers "+
			"compared; %d evicted", writes.Load(), own.Load(), answers.Load(), kept,
			b.s.Memory.Stats().Evictions)
		if b.s.Memory.Stats().Evictions == 0 {
			t.Error("memory had room for all")
		}
	})
}

// move moves a comment to another post through hotrow, if there is such a comment.
func (b *blog) move(t *testing.T) {
	t.Helper()
	url := fmt.Sprintf("http://%s/comments/%d", b.s.Addr, 1+b.rng.IntN(b.next))
	body := fmt.Sprintf(`{"post": %d}`, 1+b.rng.IntN(8))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(resp.Body)
	if resp.StatusCode >= 400 && resp.StatusCode != http.StatusNotFound {
		t.Fatalf("PATCH %s: %d %s", url, resp.StatusCode, said)
	}
}

// compareCaches compares what watchers have with the database while nobody writes, and
// returns how many documents that were.
func (b *blog) compareCaches(t *testing.T, writing *sync.Mutex, clients []*cachingClient) (n int) {
	t.Helper()
	writing.Lock()
	defer writing.Unlock()
	b.s.Quiet()
	for _, k := range clients {
		began := time.Now()
		for stale := k.stale(t.Context()); stale != ""; stale = k.stale(t.Context()) {
			if waittest.Late(time.Since(began), 2*time.Second) {
				t.Fatalf("a watcher has %s", stale)
			}
			time.Sleep(time.Millisecond)
		}
		k.mu.Lock()
		n += len(k.have)
		k.mu.Unlock()
	}
	return n
}
