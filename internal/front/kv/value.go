package kv

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// A ReadAs says as what rows are read.
type ReadAs uint8

// The forms.
const (
	AsServed ReadAs = iota // as the configuration says: a document, or one column
	AsFields               // as a document whose members are the fields of a hash
	AsJSON                 // as a document in this format, or as one column
	AsMsgPack
	AsCBOR
)

// ReadAsFormat returns the form of documents in a format, by the name that configuration has for
// it; false: there is no such format.
func ReadAsFormat(format string) (ReadAs, bool) {
	switch format {
	case "json":
		return AsJSON, true
	case "msgpack":
		return AsMsgPack, true
	case "cbor":
		return AsCBOR, true
	}
	return AsServed, false
}

// Document returns the format of documents in this form, where usual is that of the
// configuration.
func (f ReadAs) Document(usual row.Format) row.Format {
	switch f {
	case AsFields, AsJSON:
		return row.FormatJSON
	case AsMsgPack:
		return row.FormatMsgPack
	case AsCBOR:
		return row.FormatCBOR
	}
	return usual
}

// formatOf returns in which format a row is read as a form.
func (r *Served) formatOf(as ReadAs) row.Format {
	// Fast path: nobody has asked for another.
	if as == AsServed || r.format == row.FormatPrepared && as != AsFields {
		return r.format
	}
	return as.Document(r.document)
}

// A Column makes one column of a row the value of its key. It is a resource.Preparer. Names
// are those of columns.
type Column struct {
	Value         string
	Flags, Unique string // what memcached keeps with a value; "": no column has it
}

// ColumnOf returns which column of a resource is the value of a key; false: the document
// is.
func ColumnOf(r *resource.Resource) (Column, bool) {
	c, ok := r.Spec().Preparer.(Column)
	return c, ok
}

// AppendPrepared implements resource.Preparer: it appends an item, or nothing when the
// column is null.
func (c Column) AppendPrepared(dst []byte, shape *row.Shape, v row.Values) []byte {
	at := columnAt(shape, c.Value)
	if at < 0 || at >= len(v) || v[at].IsNull() {
		return dst
	}
	number := func(name string) uint64 {
		if i := columnAt(shape, name); i >= 0 && i < len(v) {
			return uint64(v[i].Int()) // 0 when it is null, or no number
		}
		return 0
	}
	dst = append(binary.LittleEndian.AppendUint32(dst, uint32(number(c.Flags))), 0)
	dst = binary.LittleEndian.AppendUint64(dst, 0)
	dst = binary.LittleEndian.AppendUint64(dst, number(c.Unique))
	return shape.AppendPlain(dst, at, &v[at])
}

// columnAt returns the place of a column among the fields of a shape, -1 if it has none. A
// name in another case is good when there is no better one.
func columnAt(shape *row.Shape, name string) int {
	found := -1
	if shape == nil || name == "" {
		return found
	}
	for i := range shape.Fields {
		switch column := shape.Fields[i].Column; {
		case column == name:
			return i
		case found < 0 && strings.EqualFold(column, name):
			found = i
		}
	}
	return found
}

// AppendMembers appends a value, and its flags where a column has them, as members of a
// document in JSON. value may be nil for null, flags for none. The error is that of the
// function AppendMembers.
func (c Column) AppendMembers(
	dst []byte, shape *row.Shape, value, flags []byte,
) ([]byte, error) {
	var fields []Field
	if i := columnAt(shape, c.Value); i >= 0 {
		fields = append(fields, Field{Name: []byte(shape.Fields[i].Name), Value: value})
	}
	if i := columnAt(shape, c.Flags); i >= 0 && flags != nil {
		fields = append(fields, Field{Name: []byte(shape.Fields[i].Name), Value: flags})
	}
	return AppendMembers(dst, shape, fields)
}

// UniqueOf returns the unique of a row, from its document in JSON.
func (c Column) UniqueOf(shape *row.Shape, doc *row.Document) uint64 {
	if doc == nil || doc.Absent() {
		return 0
	}
	if i := columnAt(shape, c.Unique); i >= 0 {
		for _, f := range fieldsOf(doc, shape, nil) {
			if string(f.Name) == shape.Fields[i].Name {
				n, _ := strconv.ParseUint(string(f.Value), 10, 64)
				return n
			}
		}
	}
	hash, _ := row.TagHash(doc.ETag())
	return max(hash, 1)
}

// Of returns the value of a row, in memory of its own; nil: it has none.
func (c Column) Of(shape *row.Shape, v row.Values) []byte {
	at := columnAt(shape, c.Value)
	if at < 0 || at >= len(v) || v[at].IsNull() {
		return nil
	}
	return shape.AppendPlain([]byte{}, at, &v[at])
}

// Value returns the value of the key, which aliases the document. There is one.
func (f *Found) Value() []byte {
	if f.Doc.Format() == row.FormatPrepared {
		return f.Doc.Body()[atValue:]
	}
	return f.Doc.Body()
}

// HasValue reports whether a document has the value of a key: it does not when there is no
// row, or when its column is null.
func HasValue(d *row.Document) bool {
	return !d.Absent() && (d.Format() != row.FormatPrepared || len(d.Body()) >= atValue)
}

// keep makes doc the answer, if it has a value.
func (f *Found) keep(doc *row.Document) {
	if f.Doc = nil; HasValue(doc) {
		f.Doc = doc
	}
}
