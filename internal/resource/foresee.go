package resource

import (
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// Foreseen is how many hits a Foresight has room for.
const Foreseen = tier.Foreseen

// A Foresight is the next few hits of an event loop, which memory is asked to
// have at hand: see tier.Foreseer. It belongs to one goroutine.
type Foresight struct {
	refs   [tier.Foreseen]tier.Ref
	n      int
	memory tier.Foreseer
}

// Add notes that Hit will be called with these. key may alias a buffer that
// stays as it is until Fetch.
func (s *Foresight) Add(r *Resource, key row.Key, of row.Format) {
	f := r.form.Load()
	memory, ok := f.memory.(tier.Foreseer)
	if !ok || s.n == len(s.refs) {
		return
	}
	s.memory = memory // all resources of a Set have one
	s.refs[s.n] = tier.Ref{Resource: f.number, Format: of, Key: key}
	s.n++
}

// Fetch has memory fetch what was added since the last Fetch.
func (s *Foresight) Fetch() {
	if s.n > 1 {
		s.memory.Foresee(s.refs[:s.n])
	}
	s.n = 0
}
