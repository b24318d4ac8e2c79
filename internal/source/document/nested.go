package document

import (
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// expr returns the expression that reads the rows of n, and what is embedded in them, within
// the row of parent that the same statement reads.
func (n *Node) expr(d *Dialect, parent *Node) string {
	cond, behind := "", ""
	if n.related != nil {
		cond, behind = n.of(d, parent), n.behind(d, 1)
	} else {
		same := make([]string, len(n.On))
		for i := range n.On {
			same[i] = d.equal(n, n.On[i:i+1], parent, parent.KeyCols[i:i+1])
		}
		cond, behind = strings.Join(same, " AND "), n.OrderBy(d)
	}
	return d.Nested.Expr(strings.Join(n.Reads(d), ", "),
		" FROM "+n.aliased(d, n.Table.From)+" WHERE "+cond+behind)
}

// columns returns how many columns rows of n have where they are nested.
func (n *Node) columns() int { return max(1, len(n.Items)) }

// unfold puts what is embedded in a row of n, which has it, into the values that were read of
// the row. The rows that Load names are appended to children.
func (n *Node) unfold(read row.Values, r Row, children *[]source.Child) error {
	for i := range n.Items {
		kid := n.Items[i].Kid
		if kid == nil {
			continue
		}
		if kid.related != nil {
			if err := n.seekIn(kid, read, r); err != nil {
				return err
			}
		}
		u := unfolding{kid: kid, children: children}
		if err := n.nested.Rows(r, n.places[i], kid.columns(), &u); err != nil {
			return err
		}
		read[i] = kid.member(u.list)
	}
	return nil
}

// An unfolding reads the rows of one list. It implements RowTaker.
type unfolding struct {
	kid      *Node
	list     []row.Values
	children *[]source.Child
}

// Begin implements RowTaker.
func (u *unfolding) Begin(rows int) error {
	u.list = make([]row.Values, 0, rows)
	return u.kid.take(rows)
}

// Take implements RowTaker.
func (u *unfolding) Take(r Row) error {
	values, err := u.kid.embedded(r, u.children)
	u.list = append(u.list, values)
	return err
}

// embedded returns the values of the members of a row of n that is embedded in another.
func (n *Node) embedded(r Row, children *[]source.Child) (row.Values, error) {
	read, err := n.read(r)
	if err == nil {
		err = n.unfold(read, r, children)
	}
	if err != nil {
		return nil, err
	}
	child, ok, err := n.child(r)
	if ok {
		*children = append(*children, child)
	}
	if err == nil && n.related != nil {
		err = n.see(r)
	}
	return n.values(read), err
}

// seekIn notes by what the database has looked for rows of kid, which a query embeds in r.
func (n *Node) seekIn(kid *Node, read row.Values, r Row) error {
	for _, at := range kid.upAt {
		if read[at].IsNull() {
			return nil // equal to nothing
		}
	}
	by, _, err := n.keyOf(r, kid.up, kid.upAt)
	kid.seek(by)
	return err
}

// see notes that a row of n was read, which a query embeds: which one, or where it leads.
func (n *Node) see(r Row) error {
	if n.linkRows != nil {
		to, _, err := n.keyOf(r, n.linkRows.embedded.via.to, n.linkRows.at)
		n.lead(to)
		return err
	}
	key, _, err := n.keyOf(r, n.KeyCols, n.Key)
	n.saw(key)
	return err
}

// saw notes that the row of n of a key was read.
func (n *Node) saw(key row.Key) {
	n.reach(source.Reached{Of: n.query, As: source.ReachedRow, By: key})
}
