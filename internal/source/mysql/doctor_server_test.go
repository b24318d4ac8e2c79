package mysql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A patient is a database with a user who has all that a feed and writes need, and
// an administrator who can change that.
type patient struct {
	t      *testing.T
	url    string // the user's
	user   string // as GRANT takes it
	admin  func(statements ...string)
	tables []source.Watched
}

func newPatient(t *testing.T, server *dbtest.MariaDBServer, n int) *patient {
	t.Helper()
	at := server.Database(t, dbtest.Setup("CREATE TABLE t (id int PRIMARY KEY, v int);"))
	db, name := databaseOf(at), fmt.Sprintf("patient%d", n)
	root := foreign(t, at)
	p := &patient{t: t, user: "'" + name + "'@'127.0.0.1'",
		admin:  func(statements ...string) { t.Helper(); run(t, root, statements...) },
		tables: []source.Watched{{Table: db + ".t", Columns: []string{"id"}, Writes: true}}}
	p.url = userOf(t, at, name, "REPLICATION SLAVE, BINLOG MONITOR ON *.*",
		"SELECT, INSERT, UPDATE, DELETE ON "+db+".t")
	return p
}

// works reports whether a feed can be had and rows can be written, by sessions that
// begin now: a session keeps the settings and privileges that it began with.
func (p *patient) works() error {
	s, err := Open(p.t.Context(), p.url, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, _, err := s.OpenFeed(p.t.Context(), source.FeedBinlog, p.tables); err != nil {
		return err
	}
	c, err := s.Compile(p.t.Context(), &source.Spec{Name: "t", Table: "t"})
	if err != nil {
		return err
	}
	for _, w := range []struct {
		op   source.Op
		body string
	}{{source.OpCreate, `{"id":1,"v":1}`}, {source.OpMerge, `{"v":2}`}, {source.OpDelete, ""}} {
		key := "1"
		if w.op == source.OpCreate {
			key = ""
		}
		if _, err := tryWrite(p.t, c.(*plan), w.op, row.Key(key), w.body); err != nil {
			return err
		}
	}
	return nil
}

// doctor returns what Doctor says to the user.
func (p *patient) doctor() []source.Finding {
	p.t.Helper()
	found, err := openSource(p.t, p.url, Options{}).Doctor(p.t.Context(), source.FeedAuto, p.tables)
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// treat runs what the findings at a level and above say.
func (p *patient) treat(found []source.Finding, level source.Level) (n int) {
	for _, f := range found {
		if f.Level >= level {
			p.admin(f.Apply...)
			n += len(f.Apply)
		}
	}
	return n
}

// TestMariaDB_DoctorMendsEachPrivilege: a user, or a server, that lacks one thing has
// the feed and can be written when what Doctor prints has been run, and not before.
func TestMariaDB_DoctorMendsEachPrivilege(t *testing.T) {
	t.Parallel()
	server := dbtest.NewMariaDB(t, nil)
	for i, take := range []string{
		"REVOKE REPLICATION SLAVE ON *.* FROM %s", "REVOKE BINLOG MONITOR ON *.* FROM %s",
		"REVOKE SELECT ON %d FROM %s", "REVOKE INSERT ON %d FROM %s", "REVOKE UPDATE ON %d FROM %s",
		"REVOKE DELETE ON %d FROM %s",
		"SET GLOBAL binlog_format = MIXED", "SET GLOBAL binlog_row_image = MINIMAL",
	} {
		t.Run(take, func(t *testing.T) {
			p := newPatient(t, server, i)
			if err := p.works(); err != nil {
				t.Fatalf("as it should be: %v", err)
			}
			p.admin(strings.NewReplacer("%s", p.user, "%d", p.tables[0].Table).Replace(take))
			if p.works() == nil {
				t.Fatal("nothing is missed")
			}
			if p.treat(p.doctor(), source.LevelError) == 0 {
				t.Fatalf("Doctor knows no remedy: %s", findingsText(p.doctor()))
			}
			if err := p.works(); err != nil {
				t.Errorf("after what Doctor asked for: %v", err)
			}
			if bad := findingsText(p.doctor()); strings.Contains(bad, "error") {
				t.Errorf("Doctor still says %s", bad)
			}
		})
	}
}

// TestMariaDB_DoctorWarnsOfConnections: the server lets in fewer than hotrow may open.
func TestMariaDB_DoctorWarnsOfConnections(t *testing.T) {
	server := dbtest.NewMariaDB(t, nil)
	for i, take := range []string{
		"SET GLOBAL max_connections = 12", "ALTER USER %s WITH MAX_USER_CONNECTIONS 5",
	} {
		p := newPatient(t, server, i)
		p.admin(strings.ReplaceAll(take, "%s", p.user))
		found := p.doctor()
		if p.treat(found, source.LevelWarning) != 1 {
			t.Errorf("%s: Doctor says %s", take, findingsText(found))
		}
		if again := findingsText(p.doctor()); strings.Contains(again, "warning") {
			t.Errorf("%s: after what Doctor asked for, it says %s", take, again)
		}
	}
}

// TestMariaDB_DoctorOfAReplica: what is read-only cannot be written, and nothing that
// Doctor could run would be right.
func TestMariaDB_DoctorOfAReplica(t *testing.T) {
	server := dbtest.NewMariaDB(t, nil)
	p := newPatient(t, server, 0)
	p.admin("SET GLOBAL read_only = ON")
	if text := findingsText(p.doctor()); !strings.Contains(text, "error the server is read-only") {
		t.Errorf("Doctor says %s", text)
	}
	p.tables[0].Writes = false
	if text := findingsText(p.doctor()); strings.Contains(text, "error") {
		t.Errorf("of what is only read, Doctor says %s", text)
	}
	p.tables = append(p.tables, source.Watched{Table: databaseOf(p.url) + ".gone"})
	p.admin("GRANT SELECT ON " + databaseOf(p.url) + ".* TO " + p.user)
	if text := findingsText(p.doctor()); !strings.Contains(text, ".gone does not exist") {
		t.Errorf("of a table that is not there, Doctor says %s", text)
	}
}

// TestMariaDB_DoctorKnowsPrivilegesOnColumns: what is granted on some columns only is
// enough for what is served of them.
func TestMariaDB_DoctorKnowsPrivilegesOnColumns(t *testing.T) {
	t.Parallel()
	p := newPatient(t, dbtest.NewMariaDB(t, nil), 0)
	table := p.tables[0].Table
	p.admin("REVOKE SELECT, INSERT, UPDATE ON "+table+" FROM "+p.user,
		"GRANT SELECT (id, v), INSERT (id, v), UPDATE (v) ON "+table+" TO "+p.user)
	if text := findingsText(p.doctor()); strings.Contains(text, "error") {
		t.Errorf("Doctor says %s", text)
	}
	if err := p.works(); err != nil {
		t.Error(err)
	}
}
