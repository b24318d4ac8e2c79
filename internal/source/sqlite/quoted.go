package sqlite

import "strconv"

// quoted writes a name for an error.
func quoted(name string) string { return strconv.Quote(name) }
