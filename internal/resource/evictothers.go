package resource

import (
	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// evictOthers forgets what is kept of other states of a row than the one that a load
// answers with; see fresh.Domain.NewSpace. Copies of the same state stay: where
// every load asks the source itself, formats would push each other out.
//
// What memory holds of a format is what the disk holds of it, if that holds any.
func (f *revision) evictOthers(l *fresh.Lease, doc *row.Document, stored bool) {
	if f.memory == nil {
		return
	}
	asked := f.asked.Load()
	for of := range row.Format(row.NumFormats) {
		own := of == l.Format
		if asked&(1<<of) == 0 || own && stored {
			continue
		}
		ref := tier.Ref{Resource: f.number, Format: of, Key: l.Key}
		held, same := f.memory.Compare(ref, doc)
		if same {
			continue
		}
		if held {
			f.memory.Drop(ref)
		}
		if own && f.disk != nil {
			f.disk.Drop(ref)
		}
	}
}
