package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// sqlMode is pinned, so that what is written is refused rather than bent, and
// texts mean the same whatever the server's own setting is: a backslash
// escapes, "x" is a string, CHAR columns are read without their padding, 0 is no order to
// make the next number of an AUTO_INCREMENT column.
const sqlMode = "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO," +
	"NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO"

// pins are the variables of a session that change bytes, or what a statement means or does,
// with the value that hotrow needs as the server shows it; "" stands for the empty text. A
// session sets those that it has and that have another value. The server's own configuration,
// init_connect and proxies may all say something else.
var pins = map[string]string{
	"check_constraint_checks":      "ON",
	"completion_type":              "NO_CHAIN", // else reads go on in an old snapshot
	"default_regex_flags":          "",
	"default_week_format":          "0",
	"div_precision_increment":      "4",
	"foreign_key_checks":           "ON",
	"group_concat_max_len":         "67108864", // what is longer is cut off
	"lc_time_names":                "en_US",
	"max_recursive_iterations":     "4294967295", // else rows are left out
	"max_sort_length":              "1024",
	"sql_auto_is_null":             "OFF",
	"sql_big_selects":              "ON",
	"sql_log_bin":                  "ON", // else no feed tells of what hotrow writes
	"sql_quote_show_create":        "ON",
	"sql_safe_updates":             "OFF",
	"system_versioning_asof":       "DEFAULT", // else rows are those of a past day
	"unique_checks":                "ON",
	"windowing_use_high_precision": "ON",
}

// shedding are flags that a variable with a list of them must not have.
var shedding = map[string]string{
	"old_mode": "ZERO_DATE_TIME_CAST", // a time would become one of the year 0
}

// open returns a pool of sessions. It is the only way to a connection, but for that of the
// binlog, which carries no texts of a session.
func (s *Source) open(inner driver.Connector, readOnly, free bool) *sql.DB {
	return sql.OpenDB(&connector{inner: inner, s: s, readOnly: readOnly, free: free})
}

// pinSettings gives the session the settings that all have in common.
func (ses *session) pinSettings(ctx context.Context, readOnly bool) error {
	limit := ses.s.opts.StatementTimeout
	seconds := max(1, int(limit.Seconds()))
	access := "READ WRITE"
	if readOnly {
		access = "READ ONLY"
	}
	for _, sql := range []string{
		fmt.Sprintf("SET SESSION sql_select_limit = 18446744073709551615, time_zone = '+00:00', "+
			"sql_mode = '%s', autocommit = 1, innodb_lock_wait_timeout = %d, "+
			"lock_wait_timeout = %d, %s", sqlMode, seconds, seconds, ses.server.timeLimit(limit)),
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, " + access,
	} {
		if _, err := ses.driverConn.ExecContext(ctx, sql, nil); err != nil {
			return err
		}
	}
	has, err := ses.settings(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		want, pinned := pins[name]
		if !pinned {
			want = without(has[name], shedding[name])
		}
		if strings.EqualFold(has[name], want) {
			continue
		}
		if err := ses.set(ctx, name, want); err != nil {
			return &source.Error{
				Class: source.Unavailable, Lasting: true, Err: err, After: time.Second,
				Message: fmt.Sprintf("the variable %s of the session is %q, hotrow needs %q and"+
					" cannot set it: %v", name, has[name], want, err),
				Hint: "mend init_connect, or SET GLOBAL " + name + ", wherever it was set",
			}
		}
	}
	return nil
}

// settings returns the variables of the session that hotrow looks at.
func (ses *session) settings(ctx context.Context) (map[string]string, error) {
	names := slices.Concat(slices.Collect(maps.Keys(pins)), slices.Collect(maps.Keys(shedding)))
	query := "SHOW SESSION VARIABLES WHERE Variable_name IN ('" + strings.Join(names, "', '") + "')"
	rows, err := ses.driverConn.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	has := make(map[string]string)
	values := make([]driver.Value, 2)
	for err = rows.Next(values); err == nil; err = rows.Next(values) {
		name, value := values[0].([]byte), values[1].([]byte)
		has[strings.ToLower(string(name))] = string(value)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return has, errors.Join(err, rows.Close())
}

// set sets one variable of the session.
func (ses *session) set(ctx context.Context, name, value string) error {
	switch {
	case value == "DEFAULT" || value != "" && strings.Trim(value, "0123456789") == "":
	default:
		value = "'" + value + "'"
	}
	_, err := ses.driverConn.ExecContext(ctx, "SET SESSION "+name+" = "+value, nil)
	return err
}

// without returns a list of flags without one.
func without(flags, flag string) string {
	list := slices.DeleteFunc(strings.Split(flags, ","), func(f string) bool {
		return strings.EqualFold(f, flag)
	})
	return strings.Join(list, ",")
}
