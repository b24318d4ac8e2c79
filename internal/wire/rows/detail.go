package rows

// A Detail is what the fifth element of an error message holds: which of the
// problems of docs/reference/errors.md it is, and what the database said.
type Detail struct {
	Kind string // "read-only": the end of the problem's type over HTTP
	Code string // the database's own; "": none
	Hint string // how to mend it; "": nobody knows
}

// Append appends d.
func (d *Detail) Append(dst []byte) []byte {
	return appendText(appendText(appendText(appendArray(dst, 3), d.Kind), d.Code), d.Hint)
}

// Decode reads a Detail.
func (d *Detail) Decode(b []byte) error {
	r := reader{b: b}
	r.array(3, 3)
	*d = Detail{Kind: r.text(maxText), Code: r.text(maxText), Hint: r.text(maxText)}
	return r.end("detail")
}
