package resource

import (
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// Left returns for how long a copy of doc may be used by the time to live of r; 0 when
// that is over, or r has none.
func (r *Resource) Left(doc *row.Document) time.Duration {
	ttl := r.revision.Load().spec.TTL
	if ttl <= 0 {
		return 0
	}
	return max(0, ttl-time.Duration(monotonic()-doc.Stamp().At))
}

// StaleAfter returns for how long after a fence an answer is fresh.
func (r *Resource) StaleAfter() time.Duration { return r.revision.Load().src.opts.StaleAfter }

// Fresh reports whether the feed of r's source is known to be complete now, within
// StaleAfter.
func (r *Resource) Fresh() bool {
	at := r.revision.Load().src.asOf(monotonic())
	return at.Fresh
}
