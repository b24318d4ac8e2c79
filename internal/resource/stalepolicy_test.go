package resource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A failing source is a real one whose feed, reads or both can be held back, as
// a network or a busy server does.
type failing struct {
	source.Source
	lags, down atomic.Bool
	torn       atomic.Bool                   // the next compile meets a table that is being replaced
	hold       atomic.Pointer[chan struct{}] // loads wait until it is closed
	slow       atomic.Pointer[chan struct{}] // what the next load has read comes then
	running    atomic.Int64
	most       atomic.Int64 // loads at one time
}

func (s *failing) OpenFeed(ctx context.Context, m source.FeedMode, w []source.Watched) (
	source.Feed, string, error) {
	f, why, err := s.Source.OpenFeed(ctx, m, w)
	return lagging{f, s}, why, err
}

// Compile returns a plan whose loads can be held back.
func (s *failing) Compile(ctx context.Context, spec *source.Spec) (source.Plan, error) {
	if s.torn.Swap(false) {
		return nil, errors.New("table public.dept has no primary key")
	}
	p, err := s.Source.Compile(ctx, spec)
	return held{p, s}, err
}

type lagging struct {
	source.Feed
	s *failing
}

func (f lagging) Fence(ctx context.Context) (source.Position, error) {
	if f.s.lags.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return f.Feed.Fence(ctx)
}

type held struct {
	source.Plan
	s *failing
}

func (p held) Load(ctx context.Context, keys []row.Key) ([]source.Loaded, error) {
	n := p.s.running.Add(1)
	defer p.s.running.Add(-1)
	for most := p.s.most.Load(); n > most && !p.s.most.CompareAndSwap(most, n); {
		most = p.s.most.Load()
	}
	if wait := p.s.hold.Load(); wait != nil {
		select {
		case <-*wait:
		case <-ctx.Done():
			return nil, &source.Error{Class: source.Unavailable, Message: "held"}
		}
	}
	if p.s.down.Load() {
		return nil, &source.Error{Class: source.Unavailable, Message: "the database is away"}
	}
	loaded, err := p.Plan.Load(ctx, keys)
	if wait := p.s.slow.Swap(nil); wait != nil {
		select {
		case <-*wait:
		case <-ctx.Done():
		}
	}
	return loaded, err
}

// newFailingHouse serves dept with a policy over a source that can fail.
func newFailingHouse(t *testing.T, change func(*SourceOptions), o StalePolicy) (*house, *failing) {
	t.Helper()
	s := new(failing)
	h := newHouse(t, func(so *SetOptions) {
		s.Source = so.Sources[0].Source
		so.Sources[0].Source = s
		if change != nil {
			change(&so.Sources[0])
		}
		for i := range so.Resources {
			so.Resources[i].Stale = o
		}
	})
	return h, s
}

// lag holds the feed back and waits until that is noticed.
func (s *failing) lag(h *house) {
	s.lags.Store(true)
	h.until(func() bool { return h.set.Ready() != nil })
}

func ptr[T any](v T) *T { return &v }

func TestOutage_Policies(t *testing.T) {
	hour := ptr(time.Hour)
	tests := []struct {
		name   string
		o      StalePolicy
		down   bool
		want   Origin
		failed string // part of the error, "" for an answer
	}{
		{"stale", StalePolicy{}, false, HitStale, ""},
		{"stale with the database away", StalePolicy{}, true, HitStale, ""},
		{"stale too long", StalePolicy{MaxStale: ptr(time.Nanosecond)}, false, Bypassed, ""},
		{"stale too long with the database away", StalePolicy{MaxStale: ptr(time.Nanosecond)}, true, HitStale, ""},
		{"never stale", StalePolicy{MaxStale: new(time.Duration), StaleIfError: new(time.Duration)},
			true, 0, "the database is away"},
		{"bypass", StalePolicy{OnLag: ptr(LagBypass), MaxStale: hour}, false, Bypassed, ""},
		{"bypass with the database away", StalePolicy{OnLag: ptr(LagBypass)}, true, HitStale, ""},
		{"fail", StalePolicy{OnLag: ptr(LagFail), MaxStale: hour}, false, 0, "on_lag is fail"},
		{"fail with the database away", StalePolicy{OnLag: ptr(LagFail), StaleIfError: hour}, true, 0,
			"on_lag is fail"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, s := newFailingHouse(t, nil, tt.o)
			h.hit("dept", "10")
			s.lag(h)
			s.down.Store(tt.down)
			a, err := h.resource("dept").Get(t.Context(), "10", Options{})
			// What a loop may answer by itself is what Get has answered. Whether it may when
			// the source has failed depends on how long ago that was.
			doc, state, at := lookup(h.resource("dept"), "10")
			if state != Miss && (state != Stale || !sameDocument(doc, a.Doc) || at.Fresh || at.Lag <= 0 ||
				at.Token != a.Token || at.SameSource(at)) {
				t.Errorf("Lookup = %d, %+v; want a stale copy", state, at)
			}
			if !tt.down && (state == Stale) != (tt.want == HitStale) {
				t.Errorf("Lookup = %d, want what Get has", state)
			}
			if tt.failed != "" {
				if err == nil || !strings.Contains(err.Error(), tt.failed) {
					t.Fatalf("Get = %d, %v; want an error with %q", a.Origin, err, tt.failed)
				}
				if se := new(source.Error); !errors.As(err, &se) || se.Class != source.Unavailable {
					t.Errorf("Get = %v, want the class unavailable", err)
				}
				return
			}
			if err != nil || a.Origin != tt.want || !strings.Contains(string(a.Doc.Body()), "ACCOUNTING") {
				t.Errorf("Get = %d, %v; want origin %d", a.Origin, err, tt.want)
			}
			s.lags.Store(false)
			s.down.Store(false)
			h.hit("dept", "10")
		})
	}
}

// While the feed lags every read may go to the database: few do at a time, and
// others wait or are refused.
func TestOutage_BudgetsBoundTheDatabasesWork(t *testing.T) {
	h, s := newFailingHouse(t, func(o *SourceOptions) {
		o.Readers = 4
		o.Acquire, o.Timeout = time.Minute, time.Minute // all of them load, however slow
	}, StalePolicy{OnLag: ptr(LagBypass), StaleIfError: new(time.Duration)})
	s.lag(h)
	wait := make(chan struct{})
	s.hold.Store(&wait)
	var all sync.WaitGroup
	read := func(key row.Key) {
		all.Go(func() {
			if _, err := h.resource("emp").Get(t.Context(), key, Options{}); err != nil {
				t.Errorf("Get(%s): %v", key, err)
			}
		})
	}
	waiting := func() int { return h.set.Stats().Sources[0].Waiting }
	for i := range 2 + maxWaiting { // two load
		read(row.Key(strconv.Itoa(i)))
	}
	h.until(func() bool { return s.running.Load() == 2 && waiting() == maxWaiting })
	_, err := h.resource("emp").Get(t.Context(), "-1", Options{})
	if err == nil || !strings.Contains(err.Error(), "4096 requests wait already") {
		t.Errorf("one more load: %v, want it refused", err)
	}
	close(wait)
	all.Wait()
	if most := s.most.Load(); most != 2 {
		t.Errorf("%d loads at one time, want the bypass budget of 2", most)
	}
}

// While the feed lags and the source hangs, one load at a time waits for it: the
// others fail at once, with the time after which to come again. It is asked again
// until it answers.
func TestOutage_OneLoadProbesASourceThatHangs(t *testing.T) {
	h, s := newFailingHouse(t, func(o *SourceOptions) { o.Timeout = 300 * time.Millisecond },
		StalePolicy{})
	h.hit("dept", "10")
	s.lag(h)
	wait := make(chan struct{})
	s.hold.Store(&wait)
	miss := func(i int) error {
		_, err := h.resource("emp").Get(t.Context(), row.Key(fmt.Sprint(i)), Options{})
		return err
	}
	if err := miss(0); err == nil { // from here on it is known
		t.Fatal("an answer of a source that hangs")
	}
	s.most.Store(0)
	var asked, refused atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for w := range 20 {
		all.Go(func() {
			for i := 0; time.Since(begin) < 2*time.Second ||
				asked.Load() < 2 && time.Since(begin) < time.Minute; i++ {
				err := miss(1 + w + 20*i)
				if se := new(source.Error); !errors.As(err, &se) || se.After == 0 &&
					se.Message != "held" {
					t.Errorf("a miss: %v", err)
				}
				if strings.Contains(fmt.Sprint(err), "cannot be reached") {
					refused.Add(1)
				} else {
					asked.Add(1)
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	all.Wait()
	limit := 2 + int64(time.Since(begin)/(300*time.Millisecond))
	// A load whose time is over may still be on its way back, on a busy machine, when the next begins.
	if most := s.most.Load(); most < 1 || most > 2 || asked.Load() < 2 || asked.Load() > limit || refused.Load() == 0 {
		t.Errorf("%d loads at one time; %d misses waited, %d failed at once", most, asked.Load(),
			refused.Load())
	}
	close(wait)
	s.hold.Store(nil)
	h.until(func() bool {
		_, err := h.resource("dept").Get(t.Context(), "20", Options{})
		return err == nil
	})
	s.lags.Store(false)
	h.hit("dept", "20")
}

// What a load reads that takes its time is old when it comes. While the feed is
// complete a change in between is known by then; while it lags nobody knows, so who
// has no copy to be answered with, flagged, reads for himself. Once a process had been
// stopped, such answers were stale and said not to be.
func TestOutage_NobodyJoinsALoadThatMayHaveReadLongBefore(t *testing.T) {
	for name, need := range map[string]func(*house) Options{
		"a plain reader": func(*house) Options { return Options{} },
		"a reader with a token": func(h *house) Options {
			f := h.resource("dept").revision.Load()
			return Options{Min: f.src.token(f.src.domain.Applied())}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, s := newFailingHouse(t, nil, StalePolicy{})
			o := need(h)
			read := make(chan struct{})
			s.slow.Store(&read)
			var first sync.WaitGroup
			first.Go(func() { h.get("dept", "10", Options{}) })
			h.until(func() bool { return s.slow.Load() == nil })
			s.lag(h)
			h.exec("UPDATE dept SET dname = 'CHANGED' WHERE deptno = 10")
			got := make(chan string, 1)
			go func() {
				doc, _ := h.get("dept", "10", o)
				got <- doc
			}()
			h.until(func() bool { return len(got) > 0 || s.most.Load() > 1 })
			close(read)
			if doc := <-got; !strings.Contains(doc, "CHANGED") {
				t.Errorf("while the feed lags: %s, which was read before the change", doc)
			}
			first.Wait()
		})
	}
}

// TestOutage_FencesThatFailAreCounted: nobody drops their errors, and the log has the
// first.
func TestOutage_FencesThatFailAreCounted(t *testing.T) {
	var logged lockedBuffer
	s := new(failing)
	h := newHouse(t, func(so *SetOptions) {
		s.Source, so.Sources[0].Source = so.Sources[0].Source, s
		so.Log = slog.New(slog.NewTextHandler(&logged, nil))
	})
	s.lag(h)
	h.until(func() bool { return h.set.Stats().Sources[0].FencesFailed >= 2 })
	if n := strings.Count(logged.String(), "could not be shown to be complete"); n != 1 {
		t.Errorf("it was said %d times: %s", n, logged.String())
	}
}

// TestOutage_WhoLeavesSaysNothingOfTheSource: a read that ends because nobody waits for it
// any more keeps nobody else from asking, whatever the feed says.
func TestOutage_WhoLeavesSaysNothingOfTheSource(t *testing.T) {
	h, s := newFailingHouse(t, nil, StalePolicy{})
	s.lag(h)
	f := h.resource("dept").revision.Load()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	plain := func() bool { return false }
	if _, _, err := f.readList(ctx, &ListAsk{Limit: 3}, plain); err == nil {
		t.Fatal("a read that had ended before it began has an answer")
	}
	if _, _, err := f.readList(t.Context(), &ListAsk{Limit: 3}, plain); err != nil {
		t.Errorf("the next read: %v", err)
	}
}

// TestRecompile_ATableReplacedMeanwhile: a catalogue that was read while a table was
// replaced is read again, before the resource is said not to compile.
func TestRecompile_ATableReplacedMeanwhile(t *testing.T) {
	h, s := newFailingHouse(t, nil, StalePolicy{})
	f := h.resource("dept").revision.Load()
	s.torn.Store(true)
	h.set.renew(f.src, f, false)
	if s.torn.Load() || f.unverified.Load() || f.complaint != "" {
		t.Errorf("compiled: %v, unsure: %v, %q", !s.torn.Load(), f.unverified.Load(), f.complaint)
	}
}
