package row

import "slices"

// A RowsError says that the documents of an array have not the same members.
type RowsError struct{}

// Error says so.
func (RowsError) Error() string { return "All object keys must match" }

// DecodeRows reads a JSON body that is one document or an array of them, each as DecodeJSON
// does. With only, all other members are passed over; without, all documents must have the same
// ones, else the error is a RowsError.
func (s *Shape) DecodeRows(body []byte, only []string) ([]*Input, error) {
	p := jsonParser{scanner: scanner{src: string(body)}}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	documents := []node{root}
	if root.kind == nodeList {
		documents = root.items
	}
	list := make([]*Input, 0, len(documents))
	for i := range documents {
		n := &documents[i]
		if only != nil {
			n.items = slices.DeleteFunc(n.items, func(m node) bool {
				return !slices.Contains(only, m.name)
			})
		}
		in, err := bind(s, n, FormatJSON, p.src)
		if err != nil {
			return nil, err
		}
		if only == nil && i > 0 && !slices.Equal(in.Present, list[0].Present) {
			return nil, RowsError{}
		}
		list = append(list, in)
	}
	return list, nil
}

// Has reports whether a member that is no documents has this name.
func (s *Shape) Has(name string) bool {
	at, known := s.compiled().place(name)
	return known && s.Fields[at].Kind != Rows
}

// Complete gives each of these members that the body in leaves out the value null.
func (s *Shape) Complete(in *Input, names []string) {
	for _, name := range names {
		at, _ := s.compiled().place(name)
		in.Present[at] = true
	}
}

// Place returns the place in Fields of the member called name, which there must be.
func (s *Shape) Place(name string) int {
	at, _ := s.compiled().place(name)
	return at
}
