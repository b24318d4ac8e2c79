package respfront

import (
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// A valued says what the value of a key is: a document, or one column.
type valued struct {
	format   row.Format // of documents
	column   kv.Column
	isColumn bool
}

// valued returns what the value of the key at hand is, for who writes it and, with reads,
// is told what it was.
func (w *writing) valued(reads bool) (v valued, err error) {
	live := w.c.f.store.Live()
	v.format = w.c.ReadAs.Document(live.Format)
	res, _ := live.Find(w.key)
	if res == nil {
		return v, nil // the write says so
	}
	if reads && !w.c.Who.Passes(live, live.IssuedNow(), res.Access().Read) {
		return v, kv.ErrForbidden
	}
	v.column, v.isColumn = kv.ColumnOf(res)
	return v, nil
}

// of returns the value of a row, nil if it has none.
func (v *valued) of(shape *row.Shape, was row.Values) []byte {
	if v.isColumn {
		return v.column.Of(shape, was)
	}
	return shape.Append(nil, v.format, was)
}

// setColumn is SET of a key whose value is one column: change has the value, and the
// conditions on the row. The other columns stay as they are.
func (w *writing) setColumn(v valued, change kv.Change) error {
	value := change.Value
	change.Members = func(shape *row.Shape) ([]byte, error) {
		return v.column.AppendMembers(nil, shape, value, nil)
	}
	change.JSONNull = true
	switch {
	case change.IfNoneMatch != nil:
		_, err := w.write(change)
		return err
	case change.IfMatch != nil:
		change.Op = source.OpMerge
		if _, err := w.write(change); source.ClassOf(err) != source.NoRow {
			return err
		}
		return resource.ErrPrecondition
	}
	_, _, err := w.upsert(change)
	return err
}

// format answers HOTROW.FORMAT: documents on the connection are in a format from now on.
// What its client keeps is in another one.
func format(t *turn, args [][]byte) {
	as, known := kv.ReadAsFormat(lower(args[1]))
	if !known {
		t.fail("ERR unknown format '" + clip(args[1]) + "': want json, msgpack or cbor")
		return
	}
	if t.c.ReadAs != as {
		t.c.ReadAs = as
		t.c.Flush()
	}
	ok(t, args)
}

// appendValue appends what a client gets of a key.
func appendValue(c *conn, out []byte, f *kv.Found) []byte {
	if f.Doc == nil {
		return c.v.AppendNil(out)
	}
	return resp.AppendBulk(out, f.Value())
}
