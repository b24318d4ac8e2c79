package document

import "strings"

// sign returns how the comparison sign of SQL is written between a and b, see
// Dialect.Operator. b is nil for a value of the type of a.
func (d *Dialect) sign(a, b Column, sign string) string {
	if d.Operator == nil {
		return sign
	}
	return d.Operator(a, b, sign)
}

// plain reports whether a comparison of each of cols with the one of others in its place, or
// with a value if others is nil, is written as SQL has it.
func (d *Dialect) plain(cols, others []Column, sign string) bool {
	for i, col := range cols {
		var other Column
		if others != nil {
			other = others[i]
		}
		if d.sign(col, other, sign) != sign {
			return false
		}
	}
	return true
}

// equal returns the condition that columns of n are those of other.
func (d *Dialect) equal(n *Node, cols []Column, other *Node, others []Column) string {
	if len(cols) > 1 && d.plain(cols, others, "=") {
		return d.tuple(n, cols) + " = " + d.tuple(other, others)
	}
	same := make([]string, len(cols))
	for i, col := range cols {
		same[i] = d.compared(n, col) + " " + d.sign(col, others[i], "=") + " " +
			d.compared(other, others[i])
	}
	return strings.Join(same, " AND ")
}

// among returns the condition that columns of n are those of a row of other for which cond
// holds; "": of any.
func (d *Dialect) among(n *Node, cols []Column, other *Node, others []Column, cond string) string {
	if d.plain(cols, others, "=") {
		return d.tuple(n, cols) + " IN (" + d.subselect(other, others, cond) + ")"
	}
	same := d.equal(n, cols, other, others)
	if cond != "" {
		same += " AND " + cond
	}
	return "EXISTS (" + d.subselect(other, others, same) + ")"
}
