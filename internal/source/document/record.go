package document

import (
	"errors"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// retryAfter is when a caller may try again what the plan does not fit now.
const retryAfter = time.Second

// A record is one row as it was read, on its way to be a document.
type record struct {
	key      row.Key    // "" when it has none, or when it is the empty text
	named    bool       // it has one
	read     row.Values // of the items; those of embedded documents are filled in later
	children []source.Child
	links    []row.Key // see Node.links
}

// records makes records, many at a time.
type records struct{ free []record }

// next returns a new record.
func (s *records) next() *record {
	if len(s.free) == 0 {
		s.free = make([]record, usualRows)
	}
	r := &s.free[0]
	s.free = s.free[1:]
	return r
}

// values returns the values of the members of a row whose items are read.
func (n *Node) values(read row.Values) row.Values {
	if n.spreads {
		return n.spread(read)
	}
	return read[:len(n.Fields):len(n.Fields)]
}

// record makes a record of a row, and takes it from of.
func (n *Node) record(row Row, of *records) (*record, error) {
	r := of.next()
	return r, n.into(r, row)
}

// into makes r the record of a row.
func (n *Node) into(r *record, row Row) (err error) {
	if r.read, err = n.read(row); err != nil {
		return err
	}
	if r.key, r.named, err = n.keyOf(row, n.KeyCols, n.Key); err != nil {
		return err
	}
	child, ok, err := n.child(row)
	if ok {
		r.children = []source.Child{child}
	}
	switch {
	case err != nil || len(n.Kids) == 0:
		return err
	case n.nested != nil:
		return n.unfold(r.read, row, &r.children)
	case n.embeds():
		r.links, err = n.links(row)
	}
	return err
}

// read returns the values of the items of a row, but for what is embedded.
func (n *Node) read(r Row) (row.Values, error) {
	values := make(row.Values, len(n.Items))
	for i := range n.Items {
		it := &n.Items[i]
		if it.Kid != nil {
			continue
		}
		var err error
		if values[i], err = r.Value(n.places[i], it); err != nil {
			return nil, n.reshaped(err)
		}
		if it.Make != nil {
			if values[i], err = it.Make(values[i]); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

// reshaped returns the error of a value that is not of the type that its column was
// when the plan was compiled. It lasts until the feed has noticed and the plan is
// made anew.
func (n *Node) reshaped(err error) error {
	if !errors.Is(err, source.ErrReshaped) {
		return err
	}
	return &source.Error{Class: source.Busy, After: retryAfter, Err: err,
		Message: n.Name + " has columns of other types than when its resource was compiled"}
}

// keyOf returns the key that columns which are items make. It reports false when
// one of them can be no part of a key.
func (n *Node) keyOf(r Row, cols []Column, at []int) (row.Key, bool, error) {
	if len(at) == 0 {
		return "", false, nil
	}
	var first [1]string
	parts := first[:]
	if len(at) > 1 {
		parts = make([]string, len(at))
	}
	for i, item := range at {
		cell, ok, err := r.Cell(n.places[item], cols[i])
		if err != nil || !ok || cell.Null {
			return "", false, n.reshaped(err)
		}
		parts[i] = cell.Text
	}
	if len(parts) == 1 {
		return row.Key(parts[0]), true, nil
	}
	return row.JoinKey(parts...), true, nil
}

// child returns the identity by which a feed calls the row, where Load reports it.
func (n *Node) child(r Row) (c source.Child, ok bool, err error) {
	if len(n.IDAt) == 0 {
		return c, false, nil
	}
	id, ok, err := n.keyOf(r, n.IDCols, n.IDAt)
	return source.Child{Table: n.Name, ID: id}, ok, err
}
