package mysql

import "strings"

// A geometry is read and written as text, and stored as neither. Beside the text it has a
// number that says what its coordinates are (SRID), which the text does not tell.

// made returns the expression, of placeholders for one value, that a new row's column is set
// to. A geometry has the SRID 0.
func (wr *writer) made(col *column) string {
	switch {
	case col.geometry():
		return wr.geometry("ST_GeomFromText(?)")
	case col.Type == "vector":
		return "VEC_FromText(?)"
	}
	return "?"
}

// changed returns the expression that a row's column is changed to. A geometry whose text is
// what was read stays as it is, and another one keeps the SRID.
func (wr *writer) changed(col *column) string {
	if !col.geometry() {
		return wr.made(col)
	}
	name := quote(col.Name)
	return "IF(" + col.expr() + " <=> ?, " + name + ", " +
		wr.geometry("ST_GeomFromText(?, IFNULL(ST_SRID("+name+"), 0))") + ")"
}

// geometry returns parsed, an expression that makes a geometry of a text, such that a text of
// none is an error. MariaDB would make NULL of it; MySQL says so itself.
func (wr *writer) geometry(parsed string) string {
	if wr.plan.insert {
		return "IFNULL(" + parsed + ", ?)"
	}
	return parsed
}

// geometry reports whether the column holds geometries.
func (c *column) geometry() bool { return strings.HasPrefix(c.Read, "ST_AsText(") }

// appendTimes appends v so many times.
func appendTimes(args []any, v any, times int) []any {
	for range times {
		args = append(args, v)
	}
	return args
}
