package resource

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
)

const (
	// checkTimes is how often Check looks: what goes on beside one look seems wrong in it,
	// and not in all of them.
	checkTimes = 5
	checkPause = 20 * time.Millisecond
)

// Check compares what the set holds with what it says of it, and returns what is wrong; nil:
// nothing is. It looks at all that is kept, several times: it is for tests and operators. A
// set that is closed must have come to its end besides.
func (s *Set) Check() error {
	var wrong []string
	for i := range checkTimes {
		if i > 0 {
			time.Sleep(checkPause)
		}
		now := s.check()
		if i > 0 {
			now = slices.DeleteFunc(now, func(w string) bool { return !slices.Contains(wrong, w) })
		}
		if wrong = now; len(wrong) == 0 {
			return nil
		}
	}
	slices.Sort(wrong)
	errs := make([]error, 0, len(wrong))
	for _, w := range slices.Compact(wrong) {
		errs = append(errs, errors.New(w))
	}
	return errors.Join(errs...)
}

// check is one look.
func (s *Set) check() (wrong []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if s.memory != nil {
		wrong = s.memory.Check()
	}
	revisions := make(map[*revision]bool)
	for _, u := range s.sources {
		u.check(revisions, s.closed, func(format string, args ...any) {
			say("source "+u.name+": "+format, args...)
		})
	}
	numbers := make(map[uint32]bool)
	s.revisions.Range(func(number, f any) bool {
		if numbers[number.(uint32)] = true; !revisions[f.(*revision)] {
			say("resource %s: a form that was replaced is still known", f.(*revision).r.name)
		}
		return true
	})
	for f := range revisions {
		r, known := (*s.byName.Load())[f.r.name]
		if !known || r != f.r || r.revision.Load() != f {
			say("resource %s: its name leads elsewhere", f.r.name)
		}
		if f.plan != nil && !numbers[f.number] {
			say("resource %s: its documents lead to no resource", f.r.name)
		}
	}
	if n := len(*s.byName.Load()); n != len(revisions) {
		say("%d names lead to %d resources", n, len(revisions))
	}
	return wrong
}

// check is Check of one source, whose revisions are added to revisions.
func (u *sourceState) check(revisions map[*revision]bool, closed bool, say func(string, ...any)) {
	u.apply.Lock()
	defer u.apply.Unlock()
	var spaces []*fresh.Space
	for _, f := range u.revisions {
		revisions[f] = true
		if f.space != nil {
			spaces = append(spaces, f.space)
			if u.bySpace[f.space] != f {
				say("changes of %s are told to nobody", f.r.name)
			}
		}
		if f.lists != nil {
			spaces = append(spaces, f.lists)
		}
		f.checkWaits(say)
	}
	if !u.broken {
		for _, w := range u.domain.Check(spaces, closed) {
			say("%s", w)
		}
	}
	if n := u.waits.Len(); n > 0 && closed {
		say("%d lists are waited for, and nobody looks at them", n)
	}
}

// checkWaits is Check of what waits for one revision. sourceState.apply is held.
func (f *revision) checkWaits(say func(string, ...any)) {
	f.waiting.Range(func(l, w any) bool {
		if !w.(*waiters).of(l.(*fresh.Lease)) {
			say("somebody waits for a list of %s that nobody loads", f.r.name)
		}
		return true
	})
	switch {
	case f.verification.Load() != nil && !f.schema.stale():
		say("loads of %s wait until it is compiled again, which nobody does", f.r.name)
	case f.schema.held != f.unverified.Load():
		say("whether %s is sure is told in two ways", f.r.name)
	}
}

// of reports whether l, which w waits for, is under way.
func (w *waiters) of(l *fresh.Lease) bool {
	select {
	case <-l.Done():
		return false
	default:
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.n > 0
	}
}
