package stress

import (
	"fmt"
	"sync"
	"time"
)

// seen is what readers have seen of one document so far: nobody who asks later
// may be told of an older state.
type seen struct {
	mu    sync.Mutex // guards marks
	marks map[*Register][]mark
}

// A mark says that a version had been seen by end.
type mark struct {
	place int
	end   Moment
	what  string
}

// check returns an error when a read that began at from saw an older version of
// a row than one that had ended before, and notes what it saw.
func (s *seen) check(r *Read, from, end Moment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.marks == nil {
		s.marks = make(map[*Register][]mark)
	}
	for i := range r.Looks {
		l := &r.Looks[i]
		if l.NotIn != 0 || l.State.Value == 0 {
			continue // which of the versions it was cannot be told
		}
		place := l.Register.find(l.State.Value)
		marks := s.marks[l.Register]
		at := len(marks)
		for ; at > 0 && marks[at-1].place > place; at-- {
			if marks[at-1].end < from {
				return fmt.Errorf("%s: went back from version %d, seen by %s until %v, to %d: %s", r.What,
					marks[at-1].place, marks[at-1].what, time.Duration(marks[at-1].end), place,
					l.describe())
			}
		}
		s.marks[l.Register] = note(marks, at, mark{place, end, r.What})
	}
	return nil
}

// note puts m, whose place is not before that of marks[at-1], among the marks.
func note(marks []mark, at int, m mark) []mark {
	const most = 64
	if at > 0 && marks[at-1].place == m.place {
		if m.end < marks[at-1].end {
			marks[at-1] = m
		}
		return marks
	}
	marks = append(marks, mark{})
	copy(marks[at+1:], marks[at:])
	marks[at] = m
	if len(marks) > most {
		marks = append(marks[:0], marks[len(marks)-most/2:]...)
	}
	return marks
}
