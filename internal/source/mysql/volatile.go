package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// A result that changes while no row does cannot be kept: no feed tells when. One rule says
// which expressions are such, wherever the server evaluates them at reading: in the queries
// of resources and in views, which are refused, and in virtual columns, with which nothing
// is kept.

// clocks are functions whose results change without a change of any table.
// Those in words are also called without parentheses.
var (
	clocks = []string{"now", "sysdate", "curdate", "curtime", "unix_timestamp", "rand", "uuid",
		"uuid_short", "uuid_v4", "uuid_v7", "sys_guid", "random_bytes", "connection_id", "user",
		"session_user", "system_user", "last_insert_id", "row_count", "found_rows", "sleep",
		"benchmark", "get_lock", "release_lock", "release_all_locks", "is_free_lock",
		"is_used_lock", "default", "encrypt", "nextval", "lastval", "setval", "load_file",
		"master_pos_wait", "master_gtid_wait"}
	clockWords = []string{"current_timestamp", "current_date", "current_time", "localtime",
		"localtimestamp", "utc_date", "utc_time", "utc_timestamp", "current_user", "current_role"}
)

// clock returns the name of what makes the result of an expression, or of a query, change by
// itself; "" for none. (default() of a column is its default's value of now.)
func clock(tokens []token) string {
	for i, t := range tokens {
		if !t.isName() {
			continue
		}
		name := strings.ToLower(t.text)
		called := before(tokens, i, "(") && !(follows(tokens, i, ".") && i >= 2)
		word := !t.quoted && !follows(tokens, i, ".") && !before(tokens, i, ".")
		empty := i+2 < len(tokens) && tokens[i+2].is(")")
		if isSequence(tokens, i) || slices.Contains(clockWords, name) && (word || called) ||
			called && slices.Contains(clocks, name) && (name != "unix_timestamp" || empty) {
			return name
		}
	}
	return ""
}

// dated are words of expressions that make a date of a time of day: it is today's.
var dated = []string{"datetime", "timestamp", "date", "timestampdiff", "datediff", "to_days",
	"to_seconds", "date_format", "unix_timestamp", "dayname", "dayofmonth", "dayofweek",
	"dayofyear", "month", "monthname", "quarter", "week", "weekday", "weekofyear", "year",
	"yearweek", "last_day", "convert_tz", "interval", "add_months", "to_char"}

// volatile says why the value of a column, of all those of a table, changes without a change
// of its row; "": it does not.
func volatile(c *catalog.Column, of []catalog.Column) string {
	if c.Virtual == "" {
		return ""
	}
	q, err := scanQuery(c.Virtual)
	if err != nil { // it has variables, for one
		return "what it depends on cannot be told: " + err.Error()
	}
	if name := clock(q.tokens); name != "" {
		return changesByItself(name).Error()
	}
	var day, makes string
	for _, t := range q.tokens {
		isTime := func(o catalog.Column) bool {
			return o.Type == "time" && strings.EqualFold(o.Name, t.text)
		}
		switch {
		case slices.ContainsFunc(of, isTime):
			day = t.text
		case !t.quoted && slices.Contains(dated, strings.ToLower(t.text)):
			makes = t.text
		}
	}
	if day != "" && makes != "" {
		return fmt.Sprintf("it calls %s, and the time %s is one of the present day there",
			makes, day)
	}
	return ""
}

// isSequence reports whether token i begins NEXT VALUE FOR s, or ends s.nextval.
func isSequence(tokens []token, i int) bool {
	switch {
	case tokens[i].is("next"), tokens[i].is("previous"):
		return i+2 < len(tokens) && tokens[i+1].is("value") && tokens[i+2].is("for")
	case tokens[i].is("nextval"), tokens[i].is("currval"):
		return follows(tokens, i, ".")
	}
	return false
}

// changesByItself is the error of a result that no feed can tell about.
func changesByItself(name string) error {
	return fmt.Errorf("it calls %s, whose result changes without a change of any table",
		strings.ToLower(name))
}
