package catalog

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// QuoteName quotes a name, or a name within a schema, for SQL.
func QuoteName(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

// QuoteText quotes a text for SQL and for replication commands, where no
// parameter can be. It counts on standard_conforming_strings, which every
// session of ours sets.
func QuoteText(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", "''") + "'"
}

// DollarQuote quotes a function's body with a tag that it does not hold.
func DollarQuote(body string) string {
	tag := "$hotrow$"
	for strings.Contains(body, tag) {
		tag = tag[:len(tag)-1] + "_$"
	}
	return tag + body + tag
}
