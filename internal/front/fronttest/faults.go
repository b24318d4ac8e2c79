package fronttest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Faults is a source whose feed lags, and that cannot be reached, as a test says.
type Faults struct {
	source.Source
	Down, Denied atomic.Bool // nothing is loaded

	lags atomic.Bool
	told sync.RWMutex // held by Lag while the feed lags: nothing is told
}

// Lag makes the feed lag, or not any more: what changes meanwhile it tells later. It is for one
// goroutine.
func (f *Faults) Lag(lags bool) {
	switch was := f.lags.Swap(lags); {
	case lags && !was:
		f.told.Lock()
	case was && !lags:
		f.told.Unlock()
	}
}

// OpenFeed returns a feed that reaches no fence while it lags.
func (f *Faults) OpenFeed(
	ctx context.Context, m source.FeedMode, w []source.Watched,
) (source.Feed, string, error) {
	feed, why, err := f.Source.OpenFeed(ctx, m, w)
	return laggingFeed{feed, f}, why, err
}

// Compile returns a plan that loads nothing while f.Down.
func (f *Faults) Compile(ctx context.Context, spec *source.Spec) (source.Plan, error) {
	p, err := f.Source.Compile(ctx, spec)
	return failingPlan{p, f}, err
}

type laggingFeed struct {
	source.Feed
	f *Faults
}

func (l laggingFeed) Fence(ctx context.Context) (source.Position, error) {
	if l.f.lags.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return l.Feed.Fence(ctx)
}

func (l laggingFeed) Run(ctx context.Context, h source.Handler) error {
	return l.Feed.Run(ctx, laggingHandler{h, l.f})
}

type laggingHandler struct {
	source.Handler
	f *Faults
}

func (h laggingHandler) Apply(tx *source.Tx) {
	h.f.told.RLock()
	defer h.f.told.RUnlock()
	h.Handler.Apply(tx)
}

func (h laggingHandler) Advance(pos source.Position) {
	h.f.told.RLock()
	defer h.f.told.RUnlock()
	h.Handler.Advance(pos)
}

type failingPlan struct {
	source.Plan
	f *Faults
}

func (p failingPlan) Load(ctx context.Context, keys []row.Key) ([]source.Loaded, error) {
	if p.f.Down.Load() {
		return nil, &source.Error{Class: source.Unavailable, Message: "a test has cut it off"}
	}
	if p.f.Denied.Load() {
		return nil, &source.Error{Class: source.Forbidden, Message: "permission denied"}
	}
	return p.Plan.Load(ctx, keys)
}
