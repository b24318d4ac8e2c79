package resource

import (
	"sync"

	"github.com/hotrow/hotrow/internal/row"
)

// encode makes the document of a row. The entity tag is that of the JSON form,
// whatever the format, so that all formats of a row have one.
func (f *revision) encode(
	key row.Key, v row.Values, of row.Format, s row.Stamp,
) *row.Document {
	return f.encodeAs(f.plan.Shape(), key, v, of, s)
}

// encodeAs is encode of a row of another shape, as a list may have.
func (f *revision) encodeAs(
	shape *row.Shape, key row.Key, v row.Values, of row.Format, s row.Stamp,
) *row.Document {
	scratch, _ := scratches.Get().(*[]byte)
	if scratch == nil {
		scratch = new([]byte)
	}
	body := shape.AppendJSON((*scratch)[:0], v)
	hash := row.Hash(body)
	switch {
	case of == row.FormatPrepared && f.spec.Preparer != nil:
		body = f.spec.Preparer.AppendPrepared(body[:0], shape, v)
	case of != row.FormatJSON:
		body = shape.Append(body[:0], of, v)
	}
	doc := row.NewDocument(key, of, body, hash, s)
	if cap(body) <= keptScratch {
		*scratch = body
		scratches.Put(scratch)
	}
	return doc
}

// scratches are what documents are encoded in before they are copied to memory of
// their own: buffers that grew for each were a quarter of a write's garbage.
var scratches sync.Pool

// keptScratch is how large one may be that is kept.
const keptScratch = 64 << 10
