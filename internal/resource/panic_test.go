package resource

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/workers"
)

// Lists that push each other out of a full store while they are stored end no load.
func TestLists_EvictedBesideLoads(t *testing.T) {
	h := newListHouse(t, 1<<20)
	f := h.resource("dept").revision.Load()
	found := &source.Selected{Shape: f.plan.Shape(), Total: -1}
	var wg sync.WaitGroup
	for end, g := time.Now().Add(time.Second), 0; g < 16; g++ {
		wg.Go(func() {
			for i := g; time.Now().Before(end); i++ {
				ask := &ListAsk{Limit: 1 + i%64, Pack: packLines, watched: true}
				as := f.listing(ask, row.FormatJSON)
				deps := f.depsOf(ask)
				l, leader := f.lists.BeginList(row.Key(ask.question()), listFormat, fresh.Now, &deps.Question)
				if leader {
					read := &listRead{found: found, stamp: l.Stamp}
					read.as(f, &as)
					f.finishList(l, read, ask, nil, false)
				}
			}
		})
	}
	wg.Wait()
}

// A badSource is a source whose plans panic when they are asked for what bad names.
type badSource struct {
	source.Source
	bad     atomic.Pointer[string]
	touched atomic.Pointer[func()] // is called by a write, before its commit; nil: nothing is

	cut atomic.Pointer[context.CancelFunc] // ends the feed's Run

	compiled atomic.Pointer[func()] // is called when a plan has been made; nil: nothing is
}

type badPlan struct {
	source.Plan
	s *badSource
}

func (s *badSource) is(what string) {
	if bad := s.bad.Load(); bad != nil && *bad == what {
		panic("a defect in " + what)
	}
}

func (s *badSource) Compile(ctx context.Context, spec *source.Spec) (source.Plan, error) {
	s.is("compile")
	p, err := s.Source.Compile(ctx, spec)
	if err != nil {
		return nil, err
	}
	if f := s.compiled.Load(); f != nil {
		(*f)()
	}
	return &badPlan{p, s}, nil
}

func (s *badSource) OpenFeed(
	ctx context.Context, mode source.FeedMode, tables []source.Watched,
) (source.Feed, string, error) {
	s.is("open")
	feed, why, err := s.Source.OpenFeed(ctx, mode, tables)
	if f, ok := feed.(*sqlite.Feed); ok {
		feed = badFeed{f, s}
	}
	return feed, why, err
}

// A badFeed cannot follow other tables while no feed can be opened, and after "reopen".
type badFeed struct {
	*sqlite.Feed
	s *badSource
}

func (f badFeed) Follow(ctx context.Context, tables []source.Watched) (uint64, error) {
	f.s.is("follow")
	switch bad := f.s.bad.Load(); {
	case bad == nil:
	case *bad == "open", *bad == "reopen":
		return 0, source.ErrReopen
	case *bad == "cut": // when it is done, and nobody knows yet
		if _, err := f.Feed.Follow(ctx, tables); err != nil {
			return 0, err
		}
		f.s.lose("")
	}
	return f.Feed.Follow(ctx, tables)
}

// Run ends when the feed is lost, and at once after "away".
func (f badFeed) Run(ctx context.Context, h source.Handler) error {
	if bad := f.s.bad.Load(); bad != nil && *bad == "away" {
		return errors.New("the database is away")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.s.cut.Store(&cancel)
	return f.Feed.Run(ctx, h)
}

// lose ends the feed that runs; what follows is as bad says.
func (s *badSource) lose(bad string) {
	s.bad.Store(&bad)
	(*s.cut.Load())()
}

func (p *badPlan) Load(ctx context.Context, keys []row.Key) ([]source.Loaded, error) {
	p.s.is("load")
	return p.Plan.Load(ctx, keys)
}

func (p *badPlan) List(
	ctx context.Context, after *row.Key, limit int,
) ([]source.Loaded, error) {
	p.s.is("list")
	return p.Plan.List(ctx, after, limit)
}

func (p *badPlan) Write(ctx context.Context, w *source.Write) (*source.Written, error) {
	p.s.is("write")
	touch := w.Touch
	w.Touch = func(changes []source.Change, at source.Position) {
		touch(changes, at)
		p.s.is("touch")
		if f := p.s.touched.Load(); f != nil {
			(*f)()
		}
	}
	return p.Plan.Write(ctx, w)
}

// newBadHouse is a house whose source panics as told by the function.
func newBadHouse(t *testing.T, change func(*SetOptions)) (*house, func(what string)) {
	h, bad := newHooked(t, change)
	return h, func(what string) { bad.bad.Store(&what) }
}

func newHooked(t *testing.T, change func(*SetOptions)) (*house, *badSource) {
	bad := &badSource{}
	h := newHouse(t, func(o *SetOptions) {
		bad.Source = o.Sources[0].Source
		o.Sources[0].Source = bad
		o.Sources[0].Timeout = time.Second // for twice as long an unknown write is held
		o.Lists = 1 << 20
		if change != nil {
			change(o)
		}
	})
	return h, bad
}

// A panic in what a load, a write or a list is made by is the error of all who wait, and
// nothing stays behind: the next is answered, and the set can be closed.
func TestPanic_EndsWhatItHappenedIn(t *testing.T) {
	h, panics := newBadHouse(t, nil)
	before := workers.Panics()
	ctx := t.Context()
	ways := map[string]func() error{
		"load": func() error {
			all := h.resource("emp").Load(ctx, []row.Key{"7782", "7839"}, Options{NoCache: true})
			return errors.Join(all[0].Err, all[1].Err)
		},
		"list": func() error {
			_, err := h.resource("emp").SelectList(ctx, &ListAsk{Limit: 5, Pack: packLines},
				Options{})
			return err
		},
		"write": func() error {
			_, err := h.write("emp", Write{Op: source.OpMerge, Key: "7369"}, `{"sal":801}`)
			return err
		},
		"touch": func() error {
			_, err := h.write("emp", Write{Op: source.OpMerge, Key: "7369"}, `{"sal":802}`)
			return err
		},
	}
	for what, do := range ways {
		panics(what)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				err := do()
				if what == "touch" && err != nil { // writes share a transaction, which is undone
					return
				}
				if !errors.Is(err, workers.ErrPanic) {
					t.Errorf("%s: %v after a panic", what, err)
				}
			})
		}
		wg.Wait()
		panics("")
		if err := do(); err != nil {
			t.Errorf("%s after the panics: %v", what, err)
		}
	}
	h.hit("emp", "7782") // nothing holds it
	h.keepList("emp", 5)
	if workers.Panics() == before {
		t.Error("no panic was counted")
	}
	h.hit("emp", "7839")
}

// A front's encoder that panics within a load is the error of the load, of its format only.
func TestPanic_InAnEncoder(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) { o.Resources[1].Preparer = badPreparer{} })
	_, err := h.resource("emp").Get(t.Context(), "7782", Options{Format: row.FormatPrepared})
	if !errors.Is(err, workers.ErrPanic) {
		t.Errorf("error %v", err)
	}
	h.hit("emp", "7782")
}

type badPreparer struct{}

func (badPreparer) AppendPrepared([]byte, *row.Shape, row.Values) []byte { panic("oops") }

// A change whose meaning is not found to its end makes everything of the source unknown: it
// begins anew, and follows on.
func TestPanic_InTheFeed(t *testing.T) {
	h, _ := newBadHouse(t, nil)
	h.hit("emp", "7782")
	h.keepList("emp", 5)
	old := h.resource("emp").revision.Load().src
	old.follower.Apply(nil)
	if _, origin := h.get("emp", "7782", Options{}); origin == HitMemory {
		t.Error("answered from memory though nobody knows what has changed")
	}
	if a := h.list("emp", 5, Options{}); a.Origin == HitMemory {
		t.Error("a list was answered from memory")
	}
	h.until(func() bool { return h.resource("emp").revision.Load().src != old })
	h.ready()
	h.hit("emp", "7782")
	h.exec("UPDATE emp SET sal = 4711 WHERE empno = 7782")
	h.until(func() bool { return strings.Contains(h.hit("emp", "7782"), "4711") })
	h.keepList("emp", 5)
}

// A panic of a compilation, or while the feed is opened, is that attempt's error.
func TestPanic_WhileCompiling(t *testing.T) {
	h, panics := newBadHouse(t, nil)
	panics("compile")
	h.exec("ALTER TABLE emp ADD COLUMN note TEXT")
	h.until(func() bool { // it is looked at again
		_, _ = h.resource("emp").Get(t.Context(), "7782", Options{NoCache: true})
		return h.resource("emp").revision.Load().unverified.Load()
	})
	panics("")
	h.until(func() bool {
		body, _ := h.get("emp", "7782", Options{})
		return strings.Contains(body, "note")
	})
	panics("compile")
	other := houseSpecs()[:2]
	other[1].MaxLimit = 7
	if err := h.set.Reload(t.Context(), other); !errors.Is(err, workers.ErrPanic) {
		t.Errorf("reload: %v", err)
	}
	panics("")
	if err := h.set.Reload(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	panics("open")
	if err := h.set.Reload(t.Context(), houseSpecs()[:2]); err != nil {
		t.Fatal(err)
	}
	before := workers.Panics()
	h.until(func() bool { return workers.Panics() > before })
	panics("")
	h.ready()
	h.hit("emp", "7782")
}
