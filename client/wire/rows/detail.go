package rows

import "github.com/hotrow/hotrow/client/wire/cbor"

// A Detail is what the fifth element of an error message holds: which of the
// problems of docs/reference/errors.md it is, and what the database said.
type Detail struct {
	Kind string // "read-only": the end of the problem's type over HTTP
	Code string // the database's own; "": none
	Hint string // how to mend it; "": nobody knows
}

// Append appends d.
func (d *Detail) Append(dst []byte) []byte {
	dst = cbor.AppendText(cbor.AppendArray(dst, 3), d.Kind)
	return cbor.AppendText(cbor.AppendText(dst, d.Code), d.Hint)
}

// Decode reads a Detail.
func (d *Detail) Decode(b []byte) error {
	r := newReader(b)
	r.Array(3, 3)
	*d = Detail{Kind: r.Text(maxText), Code: r.Text(maxText), Hint: r.Text(maxText)}
	return r.end("detail")
}
