package resource

import (
	"context"
	"time"
)

// CatchUp takes a fence at a source and waits until all before it is worked in, and settled:
// what anybody has committed before the call shows in every answer that is begun after it. It
// returns the position of that, and how long ago the feed was known to be complete. It reports
// false if ctx ends first, or if there is no feed.
func (s *Set) CatchUp(ctx context.Context, name string) (Token, time.Duration, bool) {
	s.mu.Lock()
	u := s.sources[name]
	s.mu.Unlock()
	if u == nil || u.follower == nil || !u.followed.Load() {
		return Token{}, 0, false
	}
	u.wake(ctx)
	begin := monotonic()
	u.follower.fenceOnce(ctx)
	if u.domain.FencedAt() < begin {
		return Token{}, 0, false
	}
	p := u.domain.Applied()
	for u.domain.Visible().Pos < p.Pos {
		if !sleep(ctx, settleMin) || u.domain.Applied().Epoch != p.Epoch {
			return Token{}, 0, false
		}
	}
	_, lag := u.domain.Gate(monotonic())
	return u.token(p), lag, true
}
