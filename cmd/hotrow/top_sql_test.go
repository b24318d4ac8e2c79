package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/ops"
)

// TestTop_SQL: the statements are printed, as text and as JSON, and fill a terminal.
func TestTop_SQL(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t, dbtest.Setup("CREATE TABLE t (a int PRIMARY KEY, b text);"))
	r := start(t, []string{"HOTROW_SQL_LISTEN=127.0.0.1:0"}, database)
	until(t, r.log, r.complete)
	through := r.sqlURL(database)
	dbtest.Psql(t, through, "INSERT INTO t VALUES (1, 'one');")
	until(t, r.log, func() bool { // memory has it, and a session knows its state, from some point on
		dbtest.Psql(t, through, strings.Repeat("SELECT b FROM t WHERE a = 1;", 5))
		return strings.Contains(mustCommand(t, "top", "--sql", "--once", "--json", r.ops), `"hits":1`)
	})
	text := mustCommand(t, "top", "--sql", "--once", r.ops)
	lines := strings.Split(text, "\n")
	for _, part := range []string{"eligible ", "would-be hits ", "wrong 0", "why not",
		"  write            INSERT INTO t"} {
		if !strings.Contains(text, part) {
			t.Errorf("hotrow top --sql --once does not say %q:\n%s", part, text)
		}
	}
	if !strings.HasSuffix(lines[5], "SELECT b FROM t WHERE a = ?") {
		t.Errorf("what saves most is not first:\n%s", text)
	}
	var s ops.Statements
	line := mustCommand(t, "top", "--sql", "--once", "--json", r.ops)
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		t.Fatal(err)
	}
	if s.Total.Hits < 1 || s.Total.Saved <= 0 || s.Statements[0].Hits != s.Total.Hits ||
		s.Total.Eligible >= s.Total.Count || strings.Count(line, "\n") != 1 {
		t.Errorf("hotrow top --sql --once --json: %s", line)
	}
	if code, _, stderr := command(t, "top", "--sql", r.ops); code != 2 ||
		!strings.Contains(stderr, "--once") {
		t.Errorf("into a pipe: %d %s", code, stderr)
	}
	do, ended := inTerminal(t, fmt.Sprintf("'%s' top --sql '%s'", os.Args[0], r.ops))
	until(t, r.log, func() bool { return strings.Contains(do("capture-pane", "-p"), "WHERE a = ?") })
	dbtest.Psql(t, through, "DELETE FROM t;")
	until(t, r.log, func() bool { return strings.Contains(do("capture-pane", "-p"), "DELETE FROM t") })
	do("send-keys", "q")
	until(t, r.log, ended)
}

func TestTop_SQLThatIsOff(t *testing.T) {
	r := askedFor(t)
	code, _, stderr := command(t, "top", "--sql", "--once", r.ops)
	if code != 1 || !strings.Contains(stderr, "sql.listen is not set") {
		t.Errorf("%d %s", code, stderr)
	}
}

// A shape has the names that a client has written, and a terminal obeys.
func TestRenderSQL_FitsAndSendsNoControlCharacters(t *testing.T) {
	s := &ops.Statements{Total: new(ops.StatementTotal)}
	for range 50 {
		s.Statements = append(s.Statements, ops.Statement{Reason: "join",
			Shape: "SELECT \"a\x1b]0;title\x07\u009b2J\" " + strings.Repeat("x", 200)})
	}
	s.Found = 51
	text := renderSQL(s, topView{width: 80, height: 20})
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 20 || strings.Contains(text, "\x1b") {
		t.Errorf("%d lines where 20 have room: %q", len(lines), text)
	}
	for _, l := range lines {
		if n := len([]rune(l)); n > 80 {
			t.Errorf("a line of %d columns: %s", n, l)
		}
	}
	if text := renderSQL(s, topView{width: 80}); !strings.Contains(text, "... and 1 more") {
		t.Errorf("it does not say that there are more: %s", text)
	}
	if text := renderSQL(new(ops.Statements), topView{width: 80}); !strings.Contains(text, "eligible -") {
		t.Errorf("of nothing: %s", text)
	}
}

// Of many statements memory is looked into for a part: hits are told of that.
func TestRenderSQL_DividesHitsByLooks(t *testing.T) {
	s := &ops.Statements{Total: &ops.StatementTotal{Count: 1000, Eligible: 800, Looks: 100, Hits: 90}}
	text := renderSQL(s, topView{width: 120})
	if !strings.Contains(text, "eligible 80.0%   memory would have answered 90.0% of those that were") {
		t.Error(text)
	}
	s.Total.Mode = "serve"
	if text := renderSQL(s, topView{width: 120}); !strings.Contains(text, "memory has answered 90.0% of those") {
		t.Error(text)
	}
}
