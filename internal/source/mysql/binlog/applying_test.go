package binlog

import (
	"context"
	"errors"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// A scripted connection answers with these rows: those of the first key that the statement
// begins with.
type scripted map[string][][]any

func (s scripted) Query(
	_ context.Context, sql string, _ []any, each func(values []any) error,
) error {
	for begin, rows := range s {
		if !strings.HasPrefix(sql, begin) {
			continue
		}
		for _, row := range rows {
			if err := each(row); err != nil {
				return err
			}
		}
		return nil
	}
	return &driver.MySQLError{Number: errSyntax, Message: sql}
}

// channel is a row of SHOW REPLICA STATUS.
func channel(running string) []any {
	row := make([]any, 60)
	row[sqlRunning] = []byte(running)
	return row
}

// maria is what MariaDB says.
func maria(logs, triggers, running, started, connected string) scripted {
	return scripted{
		"SELECT @@GLOBAL.log_slave_updates": {{logs, triggers, "0-1-3"}},
		"SHOW GLOBAL STATUS": {{"Slaves_running", running}, {"Com_start_slave", started},
			{"wsrep_connected", connected}},
	}
}

// mysqlSays is what MySQL says: by which name, and of which channels.
func mysqlSays(logs, status string, channels ...[]any) scripted {
	return scripted{"SHOW GLOBAL VARIABLES": {{"log_replica_updates", logs}}, status: channels,
		"SHOW GLOBAL STATUS": {{"Com_replica_start", "0"}}}
}

func TestApplying_Unseen(t *testing.T) {
	const replica, source = "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"
	tests := map[string]struct {
		says    scripted
		mariadb bool
		want    string // in what is not seen; "": everything is
	}{
		"a primary":             {maria("0", "NO", "0", "0", "OFF"), true, ""},
		"a replica":             {maria("0", "NO", "1", "0", "OFF"), true, "log_slave_updates is OFF"},
		"a replica that logs":   {maria("1", "NO", "1", "0", "OFF"), true, ""},
		"triggers of a replica": {maria("1", "YES", "1", "0", "OFF"), true, "rbr is YES"},
		"triggers, no replica":  {maria("1", "YES", "0", "0", "OFF"), true, ""},
		"triggers that log":     {maria("1", "LOGGING", "1", "0", "OFF"), true, ""},
		"Galera":                {maria("0", "NO", "0", "0", "ON"), true, "Galera"},
		"Galera that logs":      {maria("1", "NO", "0", "0", "ON"), true, ""},
		"MySQL":                 {mysqlSays("OFF", replica), false, ""},
		"MySQL, a channel": {mysqlSays("OFF", replica, channel("No"), channel("Yes")), false,
			"log_replica_updates is OFF"},
		"MySQL, stopped":         {mysqlSays("OFF", replica, channel("No")), false, ""},
		"MySQL that logs":        {mysqlSays("ON", replica, channel("Yes")), false, ""},
		"MySQL before 8.0.22":    {mysqlSays("OFF", source, channel("Yes")), false, "is OFF"},
		"MySQL, an older one":    {mysqlSays("ON", source, channel("Yes")), false, ""},
		"MySQL, starting or not": {mysqlSays("OFF", replica, channel("Connecting")), false, "is OFF"},
	}
	for name, tt := range tests {
		a, err := ReadApplying(t.Context(), tt.says, tt.mariadb)
		what, mend := a.Unseen()
		if err != nil || !strings.Contains(what, tt.want) || (what == "") != (tt.want == "") ||
			(mend == "") != (tt.want == "") {
			t.Errorf("%s: %q, %q, %v; want %q", name, what, mend, err, tt.want)
		}
	}
}

// TestApplying_Err: who has been a replica between two looks has changed rows as well.
func TestApplying_Err(t *testing.T) {
	read := func(says scripted) *Applying {
		t.Helper()
		a, err := ReadApplying(t.Context(), says, true)
		if err != nil {
			t.Fatal(err)
		}
		return &a
	}
	before := read(maria("0", "NO", "0", "1", "OFF"))
	for name, tt := range map[string]struct {
		says scripted
		want bool
	}{
		"as it was":        {maria("0", "NO", "0", "1", "OFF"), false},
		"a replica now":    {maria("0", "NO", "1", "2", "OFF"), true},
		"one meanwhile":    {maria("0", "NO", "0", "2", "OFF"), true},
		"restarted to log": {maria("1", "NO", "1", "0", "OFF"), true},
	} {
		if err := read(tt.says).Err(before); errors.Is(err, source.ErrUnseen) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMariaDB_ApplyingOfGalera: a member that does not log what others commit is no server
// that can be followed.
func TestMariaDB_ApplyingOfGalera(t *testing.T) {
	node := dbtest.NewGalera(t, 1)[0]
	for _, logs := range []string{"ON", "OFF"} {
		node.Set(map[string]string{"log-slave-updates": logs})
		node.Restart(dbtest.Fast)
		a, err := ReadApplying(t.Context(), shell{node}, true)
		what, _ := a.Unseen()
		if err != nil || (what != "") != (logs == "OFF") {
			t.Errorf("log_slave_updates=%s: %q, %v", logs, what, err)
		}
	}
}

// A shell asks by the server's own shell.
type shell struct{ server *dbtest.MariaDBServer }

func (s shell) Query(
	_ context.Context, sql string, _ []any, each func(values []any) error,
) error {
	out, err := s.server.TryExec(sql + ";")
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(out, "\n") {
		var row []any
		for _, v := range strings.Split(line, "\t") {
			row = append(row, v)
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}
