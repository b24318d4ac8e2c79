package gofast

import (
	"fmt"
	"slices"
)

// check compares what a session counts with what it holds.
func check(s *Session) error {
	live, partial := 0, 0
	for i, x := range s.locals.slots {
		if x == nil {
			continue
		}
		live++
		partial += len(x.partial)
		if !x.is(local) || s.locals.slot(x.opaque) != uint64(i) {
			return fmt.Errorf("exchange %d of ours is in the wrong place", x.opaque)
		}
		if x.is(sending) != slices.Contains(s.pending, x) || x.is(sending) != (len(x.queue) > 0) {
			return fmt.Errorf("exchange %d of ours: wrong queue", x.opaque)
		}
	}
	parked := 0
	for opaque, x := range s.remotes {
		partial += len(x.partial)
		if x.is(local) || x.opaque != opaque {
			return fmt.Errorf("exchange %d of the peer is in the wrong place", opaque)
		}
		if x.is(sending) != slices.Contains(s.pending, x) || x.is(sending) != (len(x.queue) > 0) {
			return fmt.Errorf("exchange %d of the peer: wrong queue", opaque)
		}
		if x.wide != 0 && (x.wide != sinkCredit || !x.is(sunk)) {
			return fmt.Errorf("exchange %d of the peer has %d more of credit", opaque, x.wide)
		}
		if x.seg != nil {
			parked++
		}
		if len(x.partial) > 0 && !x.is(receiving) {
			return fmt.Errorf("exchange %d of the peer keeps fragments", opaque)
		}
	}
	left := 0
	for i, seg := range s.segments {
		if left += seg.left; seg.closed != (seg.barrier != 0) || !seg.closed && i < len(s.segments)-1 {
			return fmt.Errorf("segment %d of %d is wrong", i, len(s.segments))
		}
	}
	switch {
	case live != s.locals.live:
		return fmt.Errorf("%d exchanges of ours, %d are counted", live, s.locals.live)
	case 2*live > len(s.locals.slots):
		return fmt.Errorf("%d exchanges of ours in %d slots", live, len(s.locals.slots))
	case live > s.cfg.Own:
		return fmt.Errorf("%d exchanges of ours, at most %d", live, s.cfg.Own)
	case partial != s.unfinished || partial > s.cfg.MaxUnfinished:
		return fmt.Errorf("%d bytes of fragments, %d are counted, at most %d",
			partial, s.unfinished, s.cfg.MaxUnfinished)
	case left != parked:
		return fmt.Errorf("%d requests are waited for, %d are parked", left, parked)
	case len(s.free) > keptExchanges:
		return fmt.Errorf("%d exchanges are kept", len(s.free))
	case s.last != nil && s.last != s.locals.get(s.last.opaque) && s.last != s.remotes[s.last.opaque]:
		return fmt.Errorf("the last exchange %d has ended", s.last.opaque)
	}
	return nil
}
