package binlog

import (
	"context"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// LogStall is logStall.
const LogStall = logStall

// Asking makes a fence wait for the answer to a question that somebody else has asked. It
// reports whether nobody had asked; answered ends that.
func (f *Feed) Asking() (answered func(), ok bool) {
	s := f.session.Load()
	if s == nil { // the feed has begun, and has no session yet
		return nil, false
	}
	return func() { s.asking.Store(false) }, s.asking.CompareAndSwap(false, true)
}

// A Definition is what the feed knows of a table.
type Definition struct {
	*catalog.Table
	ID       string
	Key      []int
	OnDelete []string
}

// ReadDefinitions is readDefinitions.
func ReadDefinitions(
	ctx context.Context, r *catalog.Reader, tables []source.Watched,
) (map[catalog.Name]Definition, error) {
	d, err := readDefinitions(ctx, r, tables)
	if err != nil {
		return nil, err
	}
	out := make(map[catalog.Name]Definition)
	for name, t := range d.tables {
		out[name] = Definition{t.Table, t.id, t.key, t.onDelete}
	}
	return out, nil
}
