package demo

import "strings"

// PostgresSQL returns the demo without Options.Scale as a script for
// PostgreSQL: tables, then rows.
func PostgresSQL() string {
	var b strings.Builder
	for _, part := range [][]string{postgresTables, classicRows, userRows()} {
		for _, statement := range part {
			b.WriteString(statement)
			b.WriteString(";\n")
		}
	}
	return b.String()
}

// PostgresScaleSQL returns the INSERTs of n more departments with their
// employees, after the first from of them.
func PostgresScaleSQL(from, n int) []string { return scaleRows(from, n) }
