package stress

import (
	"fmt"
	"strings"
	"time"
)

// A Look is what one read says of one register: that it is in State; or, with NotIn, that
// it is not a row of that parent; or, with Below, that its value is less.
type Look struct {
	Register *Register
	State    State
	NotIn    int32
	Below    int64
}

func (l *Look) accepts(s State) bool {
	switch {
	case l.NotIn != 0:
		return s.Parent != l.NotIn
	case l.Below != 0:
		return s.Value < l.Below
	}
	return s == l.State
}

// A Read is one answer: all that it looked at must have been so at one moment
// between From and To.
type Read struct {
	What     string // for people: which document, and where it came from
	Looks    []Look
	From, To Moment

	// Upto is the position that the answer states: every commit up to there is in
	// it, seen by others or not. Token is the position that the request asked
	// for: every commit up to there that was visible when it was sent, at Begin,
	// is in the answer. One that is logged and not visible cannot be asked for:
	// nobody has seen it.
	Upto, Token uint64
	Begin       Moment
}

// A span is a stretch of time, its ends included.
type span struct{ from, to Moment }

// Explain returns nil when the read is explained by the history of its
// registers, else an error that says what it should have been. Every commit
// sent before To must have been acknowledged; see History.Settled.
func (r *Read) Explain() error {
	possible := []span{{r.From, r.To}}
	for i := range r.Looks {
		l := &r.Looks[i]
		possible = intersect(possible, r.spans(l))
		if len(possible) == 0 {
			return fmt.Errorf("%s: not explained between %v and %v, with all up to %X and %X: %s",
				r.What, time.Duration(r.From), time.Duration(r.To), r.Upto, r.Token, l.describe())
		}
	}
	return nil
}

// must reports whether the read has to include v, whenever it was made.
func (r *Read) must(v *version) bool {
	return v.upto != 0 && (v.upto <= r.Upto || v.upto <= r.Token && v.done <= r.Begin)
}

// spans returns when the register may have been as l says, for this read. A
// version may be seen from when its commit was sent until that of the next one
// was acknowledged; no version may be seen that is older than one which the read
// must include.
func (r *Read) spans(l *Look) []span {
	from, to := r.From, r.To
	l.Register.mu.Lock()
	defer l.Register.mu.Unlock()
	vs := l.Register.versions
	first := len(vs) - 1
	for first > 0 && vs[first].done > from {
		first--
	}
	var out []span
	for i := first; i < len(vs) && vs[i].begun <= to; i++ {
		if r.must(&vs[i]) {
			out = out[:0]
		}
		s := span{max(from, vs[i].begun), to}
		if i+1 < len(vs) {
			s.to = min(to, vs[i+1].done)
		}
		if !l.accepts(vs[i].state) || s.from > s.to {
			continue
		}
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// intersect returns what is in both lists, which are in order.
func intersect(a, b []span) []span {
	var out []span
	for i, j := 0, 0; i < len(a) && j < len(b); {
		s := span{max(a[i].from, b[j].from), min(a[i].to, b[j].to)}
		if s.from <= s.to {
			out = append(out, s)
		}
		if a[i].to < b[j].to {
			i++
		} else {
			j++
		}
	}
	return out
}

// describe says what was seen and which versions are next to it.
func (l *Look) describe() string {
	l.Register.mu.Lock()
	defer l.Register.mu.Unlock()
	b := new(strings.Builder)
	switch {
	case l.NotIn != 0:
		fmt.Fprintf(b, "seen not in %d; versions:", l.NotIn)
	case l.Below != 0:
		fmt.Fprintf(b, "seen with less than %d; versions:", l.Below)
	default:
		fmt.Fprintf(b, "seen %+v; versions:", l.State)
	}
	vs := l.Register.versions
	for i := max(0, len(vs)-12); i < len(vs); i++ {
		v := &vs[i]
		fmt.Fprintf(b, "\n\t%+v sent %v acknowledged %v upto %X", v.state,
			time.Duration(v.begun), time.Duration(v.done), v.upto)
	}
	return b.String()
}

// Late returns for how long what the read saw had certainly been replaced when
// the request was sent: 0 when nothing of it had been.
func (r *Read) Late(sent Moment) time.Duration {
	late := time.Duration(0)
	for i := range r.Looks {
		l := &r.Looks[i]
		if l.NotIn == 0 && l.State.Value != 0 {
			if at := l.Register.replaced(l.State.Value); at < sent {
				late = max(late, time.Duration(sent-at))
			}
		}
	}
	return late
}
