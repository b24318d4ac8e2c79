package httpfront

import (
	"net/http"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// A loopResource is a resource as one loop sees it, with the counters that
// the loop alone writes.
type loopResource struct {
	*resource.Resource
	name        string
	rule        resource.Rule
	tally       *resource.Tally
	notModified atomic.Uint64
	counts
	hits front.Timed

	spec  *querySpec // of its lists
	shape *row.Shape // that spec is for
	limit int
}

// counts are lists that were answered from memory: those of documents by key, with what
// the tally has counted for them; and those that were kept as a whole, by status.
type counts struct{ lists, listed, unlisted, kept, keptPart, keptSame atomic.Uint64 }

// answeredList counts a list of so many documents, without so many that are not there.
func (r *loopResource) answeredList(documents, absent uint64) {
	r.tally.Add(resource.Hit, documents)
	r.tally.Add(resource.Absent, absent)
	r.lists.Store(r.lists.Load() + 1)
	r.listed.Store(r.listed.Load() + documents)
	r.unlisted.Store(r.unlisted.Load() + absent)
}

// answeredKept counts a list that was found as a whole.
func (r *loopResource) answeredKept(code int) {
	r.tally.List()
	to := &r.kept
	switch code {
	case http.StatusPartialContent:
		to = &r.keptPart
	case http.StatusNotModified:
		to = &r.keptSame
	}
	to.Store(to.Load() + 1)
}

// querySpec returns what the query of a list may say.
func (r *loopResource) querySpec() *querySpec {
	shape, limit := r.Shape(), r.MaxLimit()
	if shape != r.shape || limit != r.limit {
		r.spec, r.shape, r.limit = specOf(r.Resource), shape, limit
	}
	return r.spec
}

// answered counts an answer from memory.
func (r *loopResource) answered(state resource.State, code int) {
	r.tally.Answered(state)
	if code == 304 {
		r.notModified.Store(r.notModified.Load() + 1)
	}
}
