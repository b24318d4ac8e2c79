package dbtest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// groupName is a UUID that names groups of replication: each has ports of its own.
const groupName = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

// IsPrimary asks a member of a group whether it is the one that takes writes, and the group
// is complete as it sees it.
const IsPrimary = `SELECT count(*) FROM performance_schema.replication_group_members
	WHERE member_id = @@server_uuid AND member_state = 'ONLINE' AND member_role = 'PRIMARY'
	AND @@super_read_only = 0 AND NOT EXISTS (SELECT * FROM
	performance_schema.replication_group_members WHERE member_state = 'UNREACHABLE')`

// NewGroup starts n servers of MySQL with Group Replication, of which the first is the
// primary: it takes writes, the others only read. They are removed when the test ends.
func NewGroup(t testing.TB, n int) []*MariaDBServer {
	t.Helper()
	notShort(t)
	if !IsMySQL() {
		t.Fatalf("only MySQL has Group Replication: %s names none", mysqlEnv)
	}
	seeds, nodes := make([]string, n), make([]*MariaDBServer, n)
	for i := range seeds {
		seeds[i] = fmt.Sprintf("127.0.0.1:%d", mustPort(t))
	}
	for i, address := range seeds {
		s := NewMariaDB(t, map[string]string{
			"server-id":                                       fmt.Sprint(i + 1),
			"report-host":                                     "127.0.0.1",
			"plugin-load-add":                                 "group_replication.so",
			"loose-group-replication-group-name":              groupName,
			"loose-group-replication-start-on-boot":           "OFF",
			"loose-group-replication-local-address":           address,
			"loose-group-replication-group-seeds":             strings.Join(seeds, ","),
			"loose-group-replication-ip-allowlist":            "127.0.0.1/8",
			"loose-group-replication-member-weight":           fmt.Sprint(90 - i),
			"loose-group-replication-recovery-get-public-key": "ON",
		})
		s.Exec("CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root'" +
			" FOR CHANNEL 'group_replication_recovery'")
		begin := "START GROUP_REPLICATION"
		if i == 0 {
			const bootstrap = "SET GLOBAL group_replication_bootstrap_group = "
			begin = bootstrap + "ON;" + begin + ";" + bootstrap + "OFF"
		}
		s.Exec(begin)
		nodes[i] = s
		nodes[0].awaitMembers(t, i+1)
	}
	return nodes
}

// awaitMembers waits until n servers take part in the group.
func (s *MariaDBServer) awaitMembers(t testing.TB, n int) {
	t.Helper()
	const ask = "SELECT count(*) FROM performance_schema.replication_group_members" +
		" WHERE member_state = 'ONLINE'"
	out := ""
	for deadline := time.Now().Add(2 * startTimeout); time.Now().Before(deadline); {
		if out = s.Exec(ask); out == fmt.Sprint(n) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s of %d servers take part in the group; %s", out, n,
		s.Exec("SELECT * FROM performance_schema.replication_group_members"))
}
