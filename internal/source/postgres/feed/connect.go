package feed

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// Connect opens a connection. Connect, ConnectRaw and NewPool are the only ways to one: what
// they pin no role, database, URL or environment may decide.
func Connect(ctx context.Context, cfg *pgx.ConnConfig) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, pinned(cfg))
}

// ConnectRaw opens a connection without pgx's own types, such as one for replication.
func ConnectRaw(ctx context.Context, cfg *pgx.ConnConfig) (*pgconn.PgConn, error) {
	return pgconn.ConnectConfig(ctx, &pinned(cfg).Config)
}

// NewPool returns a pool that connects when it is used.
func NewPool(ctx context.Context, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	cfg = cfg.Copy()
	cfg.ConnConfig = pinned(cfg.ConnConfig)
	return pgxpool.NewWithConfig(ctx, cfg)
}

// asked are the settings that a connection asks for as it begins: those under which the
// server makes texts of values, and values of texts. Poolers know or ignore these.
var asked = map[string]string{
	"client_encoding": "UTF8",

	"datestyle":                   "ISO, YMD",
	"intervalstyle":               "postgres",
	"timezone":                    "UTC",
	"bytea_output":                "hex",
	"extra_float_digits":          "1",
	"standard_conforming_strings": "on",
}

// A pin is a setting that a connection looks at once it is there, and sets where it must.
// Most are as hotrow needs them: to ask for them would only annoy poolers.
type pin struct {
	value string
	same  []string // other values that mean the same
	own   bool     // the configuration of the server itself may say something else
}

// pins are what else changes bytes, or what a statement means or does. Not among them, since
// statements of the configuration are written for them: search_path, role and
// default_text_search_config. Nor are settings of the planner, of memory, of the log and of
// how long something may take.
var pins = map[string]pin{
	"array_nulls":                       {value: "on"},
	"backslash_quote":                   {value: "safe_encoding"},
	"default_transaction_deferrable":    {value: "off"},
	"default_transaction_isolation":     {value: "read committed"},
	"exit_on_error":                     {value: "off"}, // else a conflict ends the connection
	"gin_fuzzy_search_limit":            {value: "0"},   // else rows are left out
	"idle_session_timeout":              {value: "0"},
	"lc_monetary":                       {value: "C", same: sameAsC},
	"lc_numeric":                        {value: "C", same: sameAsC, own: true},
	"lc_time":                           {value: "C", same: sameAsC, own: true},
	"log_parameter_max_length_on_error": {value: "0"}, // else each error is one of a function
	"quote_all_identifiers":             {value: "off"},
	"row_security":                      {value: "on"},
	"session_replication_role":          {value: "origin"}, // else no foreign key is checked
	"timezone_abbreviations":            {value: "Default"},
	"transform_null_equals":             {value: "off"},
	"xmlbinary":                         {value: "base64"},
	"xmloption":                         {value: "content"},
}

// sameAsC are the locales that write numbers and days as C does.
var sameAsC = []string{"POSIX", "C.UTF-8", "C.utf8", "C.UTF8"}

// fits reports whether a session may have the value. source says who has set it.
func (p pin) fits(value, source string) bool {
	if p.own {
		switch source {
		case "default", "environment variable", "configuration file", "command line", "override":
			return true
		}
	}
	if value == p.value {
		return true
	}
	for _, same := range p.same {
		if value == same {
			return true
		}
	}
	return false
}

// pinned returns a copy of cfg whose connections have the settings of asked and pins. A
// name in another case is the same to the server, which would take the last of them.
func pinned(cfg *pgx.ConnConfig) *pgx.ConnConfig {
	cfg = cfg.Copy()
	if cfg.RuntimeParams == nil {
		cfg.RuntimeParams = make(map[string]string)
	}
	for name := range cfg.RuntimeParams {
		_, first := asked[strings.ToLower(name)]
		if _, then := pins[strings.ToLower(name)]; first || then {
			delete(cfg.RuntimeParams, name)
		}
	}
	for name, value := range asked {
		cfg.RuntimeParams[name] = value
	}
	cfg.AfterConnect = settle
	return cfg
}

// sqlPins asks for the settings of pins that this server has, and for the process that
// answers: a pooler gives out another number.
var sqlPins = func() string {
	names := make([]string, 0, len(pins))
	for name := range pins {
		names = append(names, catalog.QuoteText(name))
	}
	return "SELECT pg_catalog.pg_backend_pid(), name, setting, source FROM pg_catalog.pg_settings" +
		" WHERE name OPERATOR(pg_catalog.=) ANY (ARRAY[" + strings.Join(names, ", ") + "])"
}()

// settle gives a new session what it could not ask for as it began. A database with the
// encoding SQL_ASCII does not know which texts are UTF-8: it sends them as they are stored.
// Else a row with one that is not could not be read, and a feed would break at its changes.
func settle(ctx context.Context, conn *pgconn.PgConn) error {
	if conn.ParameterStatus("server_encoding") == anyEncoding {
		sql := "SET client_encoding TO '" + anyEncoding + "'"
		if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
			return err
		}
	}
	return setPins(ctx, conn)
}

// anyEncoding is that of a database which takes any bytes for texts.
const anyEncoding = "SQL_ASCII"

// setPins gives a new session the settings of pins, or refuses it by the name of one. Through
// a pooler it sets nothing: the server's session is somebody else's next.
func setPins(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, sqlPins).ReadAll()
	if err != nil {
		return err
	}
	if len(results) != 1 {
		return errors.New("the server does not say which settings a session has")
	}
	for _, r := range results[0].Rows {
		pid, name, value := string(r[0]), string(r[1]), string(r[2])
		p := pins[name]
		if p.fits(value, string(r[3])) {
			continue
		}
		if pid != strconv.FormatUint(uint64(conn.PID()), 10) && conn.PID() != 0 {
			return refusedSetting(name, value, p.value, "the URL leads to a pooler", nil)
		}
		sql := "SET " + name + " TO " + catalog.QuoteText(p.value)
		if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
			return refusedSetting(name, value, p.value, err.Error(), err)
		}
	}
	return nil
}

// refusedSetting is the error of a session whose setting is not what hotrow needs, and which
// cannot be set.
func refusedSetting(name, value, needed, why string, err error) error {
	return &source.Error{
		Class: source.Unavailable, Lasting: true, Err: err, Code: SQLState(err),
		Message: fmt.Sprintf("the setting %s is %q, hotrow needs %q and cannot set it: %s", name,
			value, needed, why),
		Hint: "ALTER ROLE ... RESET " + name + ", or ALTER DATABASE ... RESET " + name +
			", wherever it was set",
	}
}
