package sqlfront

import (
	"cmp"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/sqlcache"
)

// A Statement is what was counted of statements of one shape.
type Statement struct {
	Shape  string // without any value; "": of all that are too many
	Reason string // "eligible", or the code of why memory could not answer
	Why    string // the same in words
	Count  uint64
	Within uint64        // of them, within a transaction
	Took   time.Duration // in the database, and on the way there and back

	Memory sqlcache.Counts // what memory would have done
}

// Statements returns what was counted, by the time that it took.
func (f *Front) Statements() []Statement { return f.shapes.statements() }

func (s *shapes) statements() []Statement {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]Statement, 0, len(s.byShape)+len(s.others))
	add := func(one *shape) {
		list = append(list, Statement{Shape: one.text, Reason: one.reason.String(),
			Why: one.reason.Text(), Count: one.count.Load(), Within: one.within.Load(),
			Took: time.Duration(one.took.Load()), Memory: one.tally.Counts()})
	}
	for _, one := range s.byShape {
		add(one)
	}
	for _, one := range s.others {
		add(one)
	}
	slices.SortFunc(list, func(a, b Statement) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Shape, b.Shape))
	})
	return list
}
