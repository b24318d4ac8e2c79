package mysql

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A settingsCase is a database with a row of every type, and what hotrow makes of it under
// the server's own settings.
type settingsCase struct {
	t      *testing.T
	server *dbtest.MariaDBServer
	url    string
	body   string
	sum    string
}

// query is a resource whose answer depends on settings of the session.
const settingsQuery = `SELECT t.id, t.id / 3 AS third, DATE_FORMAT(t.day, '%M %W') AS named,
	WEEK(t.day) AS week, (SELECT GROUP_CONCAT(v.word SEPARATOR '') FROM words v) AS words,
	CAST('10:00' AS TIME) AS clock, 'a' REGEXP 'A' AS found, 'x' || 0 AS either
	FROM types t WHERE t.id = :key`

func newSettingsCase(t *testing.T) *settingsCase {
	t.Helper()
	server := dbtest.NewMariaDB(t, nil)
	c := &settingsCase{t: t, server: server, url: server.Database(t)}
	columns, values := []string{"id int PRIMARY KEY", "day date"}, []string{"1", "'2027-01-03'"}
	for i, typ := range typeCases {
		columns = append(columns, fmt.Sprintf("c%d %s", i, typ.typ))
		values = append(values, typ.value)
	}
	dbtest.MariaDBShell(t, c.url, "CREATE TABLE types ("+strings.Join(columns, ", ")+`);
		INSERT INTO types VALUES (`+strings.Join(values, ", ")+`);
		CREATE TABLE kept AS SELECT * FROM types;
		CREATE TABLE kids (id int PRIMARY KEY, parent int NOT NULL, FOREIGN KEY (parent) REFERENCES types (id));
		CREATE TABLE words (word varchar(2000)); INSERT INTO words
			SELECT REPEAT('x', 2000) FROM seq_1_to_600;
		CREATE USER plain@'127.0.0.1';
		GRANT ALL ON *.* TO plain@'127.0.0.1'; REVOKE SUPER, CONNECTION ADMIN ON *.* FROM plain@'127.0.0.1'`)
	c.sum = c.hash()
	var err error
	if c.body, err = c.read(openSource(t, c.url, Options{MaxConns: 1})); err != nil {
		t.Fatal(err)
	}
	return c
}

// hash returns a sum of the row, as a session without settings of its own has it.
func (c *settingsCase) hash() string {
	return dbtest.MariaDBShell(c.t, c.url, `SET SESSION sql_select_limit = 1000, time_zone = '+00:00';
		CHECKSUM TABLE types EXTENDED;`)
}

// read returns the row and the answer of the query as hotrow has them.
func (c *settingsCase) read(s *Source) (string, error) {
	said := ""
	for _, spec := range []source.Spec{{Table: "types"}, {Query: settingsQuery,
		Depends: []source.Dep{{Table: "types", Columns: []string{"id"}}, {Table: "words"}}}} {
		spec.Name = "t"
		p, err := s.Compile(c.t.Context(), &spec)
		if err != nil {
			return "", err
		}
		l, err := p.Load(c.t.Context(), []row.Key{"1"})
		if err != nil {
			return "", err
		}
		said += jsonOf(p.(*plan), l[0]) + "\n"
	}
	return said, nil
}

// same reads and writes the row with new connections. It returns "" if nothing is other than
// with the server's own settings.
func (c *settingsCase) same(url string) string {
	s, err := Open(c.t.Context(), url, Options{MaxConns: 1})
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	defer dbtest.MariaDBShell(c.t, c.url, "SET SESSION sql_select_limit = 1000;"+
		" REPLACE INTO types SELECT * FROM kept; TRUNCATE kids")
	got, err := c.read(s)
	if err != nil || got != c.body {
		return fmt.Sprintf("read: %v\n%s", err, got)
	}
	p := mustCompile(c.t, s, &source.Spec{Name: "types", Table: "types"})
	for _, step := range []source.Write{{Op: source.OpDelete, Key: "1"},
		{Op: source.OpReplace, Key: "1", Input: mustInput(c.t, p, strings.Split(c.body, "\n")[0])}} {
		if _, err := p.Write(c.t.Context(), &step); err != nil {
			return "write: " + err.Error()
		}
	}
	if sum := c.hash(); sum != c.sum {
		return "the row is another: " + sum + ", not " + c.sum
	}
	kids := mustCompile(c.t, s, &source.Spec{Name: "kids", Table: "kids"})
	_, err = kids.Write(c.t.Context(), &source.Write{Op: source.OpCreate,
		Input: mustInput(c.t, kids, `{"id":1,"parent":7}`)})
	if source.ClassOf(err) != source.Conflict {
		return fmt.Sprintf("a row without its parent: %v", err)
	}
	return ""
}

// bounds are variables that end what takes long, or is more than there is, or that have the
// server do something else than answer.
var bounds = []string{"max_statement_time", "max_join_size", "max_session_mem_used",
	"max_user_connections", "net_read_timeout", "net_write_timeout", "wait_timeout",
	"interactive_timeout", "idle_transaction_timeout", "idle_write_transaction_timeout",
	"idle_readonly_transaction_timeout", "max_error_count", "thread_stack", "tmp_disk_table_size",
	"max_tmp_session_space_usage", "max_delayed_threads", "max_heap_table_size", "tmp_table_size",
	"net_buffer_length", "max_allowed_packet", "open_files_limit", "debug_no_thread_alarm",
	"server_id", "gtid_domain_id", "enforce_storage_engine", "binlog_format", "binlog_row_image",
	"explicit_defaults_for_timestamp", "read_only", "tx_read_only", "transaction_read_only",
	"log_slow_rate_limit", "binlog_annotate_row_events", "histogram_type", "sort_buffer_size",
	"tcp_nodelay", "sql_log_bin", "lc_messages"}

// words are values of variables that are texts.
var words = map[string][]string{"time_zone": {"+09:00"}, "lc_time_names": {"de_DE"},
	"sql_mode": {"ANSI,PAD_CHAR_TO_FULL_LENGTH", "", "ORACLE"}, "div_precision_increment": {"0"},
	"character_set_client": {"latin1"}, "character_set_results": {"latin1"},
	"character_set_connection": {"latin1"}, "collation_connection": {"latin1_german2_ci"},
	"old_mode": {"ZERO_DATE_TIME_CAST"}, "default_regex_flags": {"EXTENDED"},
	"system_versioning_asof": {"2020-01-01 00:00:00"}, "sql_select_limit": {"0"},
	"default_week_format": {"3"}, "group_concat_max_len": {"4"}}

// TestMariaDB_SettingsChangeNoBytes walks every variable that a session takes from the
// server's configuration: some at a time, each by itself only if that is not enough.
func TestMariaDB_SettingsChangeNoBytes(t *testing.T) {
	c := newSettingsCase(t)
	out := c.server.Exec(`SELECT LOWER(VARIABLE_NAME), VARIABLE_TYPE, GLOBAL_VALUE,
		IFNULL(NUMERIC_MIN_VALUE, ''), IFNULL(ENUM_VALUE_LIST, '')
		FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_SCOPE = 'SESSION'
		AND READ_ONLY = 'NO' AND VARIABLE_NAME NOT LIKE 'debug%'
		AND VARIABLE_NAME NOT REGEXP '^(wsrep_|character_set_filesystem)'`)
	type setting struct{ name, value, now string }
	var rounds [][]setting
	for line := range strings.SplitSeq(out, "\n") {
		f := strings.Split(line, "\t")
		if len(f) < 5 || slices.Contains(bounds, f[0]) {
			continue
		}
		values := words[f[0]]
		switch {
		case values != nil:
		case f[1] == "BOOLEAN":
			values = []string{map[string]string{"ON": "OFF", "OFF": "ON"}[f[2]]}
		case f[1] == "ENUM":
			values = slices.DeleteFunc(strings.Split(f[4], ","), func(v string) bool { return v == "" })
		case strings.Contains(f[1], "INT") || f[1] == "DOUBLE":
			values = []string{f[3]}
		}
		values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == f[2] })
		quoted := func(v string) string {
			if strings.Contains(f[1], "INT") || f[1] == "DOUBLE" || v == "DEFAULT" {
				return v
			}
			return "'" + v + "'"
		}
		for i, v := range values {
			if i == len(rounds) {
				rounds = append(rounds, nil)
			}
			rounds[i] = append(rounds[i], setting{f[0], quoted(v), quoted(f[2])})
		}
	}
	try := func(some []setting) string {
		before, after := "", ""
		for _, v := range some {
			before += "SET GLOBAL " + v.name + " = " + v.value + ";"
			after += "SET GLOBAL " + v.name + " = " + v.now + ";"
		}
		c.server.Exec(before)
		defer c.server.Exec(after)
		return c.same(c.url)
	}
	for _, round := range rounds {
		if try(round) == "" {
			continue
		}
		found := false
		for _, v := range round {
			if why := try([]setting{v}); why != "" {
				t.Errorf("%s = %s: %s", v.name, v.value, why)
				found = true
			}
		}
		if !found {
			t.Errorf("together: %v: %s", round, try(round))
		}
	}
	if len(rounds) < 2 || len(rounds[0]) < 60 {
		t.Errorf("only %d rounds, the first of %d", len(rounds), len(rounds[0]))
	}
}

// TestMariaDB_InitConnectChangesNoBytes is about what the server has sessions do as they begin.
func TestMariaDB_InitConnectChangesNoBytes(t *testing.T) {
	c := newSettingsCase(t)
	c.server.Exec(`SET GLOBAL init_connect = "SET sql_select_limit = 0, completion_type = 'CHAIN',
		sql_auto_is_null = 1, sql_log_bin = 0, autocommit = 0, time_zone = '+09:00', foreign_key_checks = 0,
		lc_time_names = 'de_DE', div_precision_increment = 0; SET NAMES latin1"`)
	plain := strings.Replace(c.url, "root@", "plain@", 1)
	if why := c.same(plain); why != "" {
		t.Error(why)
	}
	before := c.server.Exec("SHOW MASTER STATUS")
	if why := c.same(plain); why != "" || c.server.Exec("SHOW MASTER STATUS") == before {
		t.Errorf("nothing is in the binlog: %s", why)
	}
}
