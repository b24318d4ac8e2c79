package stress

import (
	"math"
	"sync"
	"time"
)

// A Moment is a time of a run: nanoseconds since it began, by the monotonic
// clock.
type Moment int64

// never is the moment of what has not happened.
const never = Moment(math.MaxInt64)

// A State is what a register holds: the value that its last writer gave it and,
// for a row that belongs to another one, the parent's key. The zero State says
// that there is no row.
type State struct {
	Value  int64 // not 0, and used by no other write of the run
	Parent int32 // 0: none
}

// A version is one State of a register. It became visible at some time between
// begun and done.
type version struct {
	state State
	begun Moment // when the commit was sent
	done  Moment // when it was acknowledged; never: not yet
	upto  uint64 // a position of the log behind the commit; 0: not known
}

// A Register is one row of a database with all that it ever held.
type Register struct {
	// mu guards versions, which are in the order of the commits.
	mu       sync.Mutex
	versions []version
}

// NewRegister returns a register that holds s from the beginning on.
func NewRegister(s State) *Register {
	return &Register{versions: []version{{state: s}}}
}

// Last returns what the register holds when all commits that were sent are
// done. Whoever changes the register must keep others from doing so meanwhile,
// with a lock that the database gives back at the commit.
func (r *Register) Last() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.versions[len(r.versions)-1].state
}

// find returns the place of the version with this value, or -1.
func (r *Register) find(value int64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.versions) - 1; i >= 0; i-- {
		if r.versions[i].state.Value == value {
			return i
		}
	}
	return -1
}

// replaced returns when the version with this value had certainly been replaced
// by the next one; never: it has not been.
func (r *Register) replaced(value int64) Moment {
	i := r.find(value)
	r.mu.Lock()
	defer r.mu.Unlock()
	if i < 0 || i+1 >= len(r.versions) {
		return never
	}
	return r.versions[i+1].done
}

// A Change gives a register a new state.
type Change struct {
	Register *Register
	State    State
}

// A History is all that was written during a run.
type History struct {
	base time.Time

	// mu guards open.
	mu   sync.Mutex
	open map[*Commit]struct{}
}

// NewHistory returns the history of a run that begins now.
func NewHistory() *History {
	return &History{base: time.Now(), open: make(map[*Commit]struct{})}
}

// Now returns the present moment.
func (h *History) Now() Moment { return Moment(time.Since(h.base)) }

// A Commit is one transaction that is being committed.
type Commit struct {
	history *History
	begun   Moment
	changes []Change
	places  []int
}

// Begin notes that the commit of these changes is about to be sent. The locks
// that order the writers of each register must be held.
func (h *History) Begin(changes []Change) *Commit {
	c := &Commit{history: h, changes: changes}
	h.mu.Lock()
	c.begun = h.Now()
	h.open[c] = struct{}{}
	h.mu.Unlock()
	for _, ch := range changes {
		r := ch.Register
		r.mu.Lock()
		c.places = append(c.places, len(r.versions))
		r.versions = append(r.versions, version{state: ch.State, begun: c.begun, done: never})
		r.mu.Unlock()
	}
	return c
}

// Done notes that the commit has been acknowledged, and a position of the log
// that was read after that; it returns how long the commit took.
func (c *Commit) Done(upto uint64) time.Duration {
	now := c.history.Now()
	for i, ch := range c.changes {
		r := ch.Register
		r.mu.Lock()
		v := &r.versions[c.places[i]]
		v.done, v.upto = now, upto
		r.mu.Unlock()
	}
	c.history.mu.Lock()
	delete(c.history.open, c)
	c.history.mu.Unlock()
	return time.Duration(now - c.begun)
}

// Settled returns a moment before which no commit was sent that has not been
// acknowledged by now: reads that ended before it can be explained for good.
func (h *History) Settled() Moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.Now()
	for c := range h.open {
		m = min(m, c.begun)
	}
	return m
}
