package dbtest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Replica starts a server that has what s has: it reads the log of s from its beginning,
// which s must still have, applies it and writes it to a log of its own. It takes no
// writes until it is promoted.
func (s *MariaDBServer) Replica(t testing.TB) *MariaDBServer {
	t.Helper()
	r := NewMariaDB(t, map[string]string{"server-id": "2", "log-slave-updates": "ON",
		"read-only": "ON"})
	s.Feeds(r, "")
	return r
}

// Feeds makes r apply what s commits, by the connection or channel of this name; "": by the
// one without. Its log is read from the place that r is at.
func (s *MariaDBServer) Feeds(r *MariaDBServer, channel string) {
	s.t.Helper()
	host, port, _ := strings.Cut(s.Address(), ":")
	maria, mysql := "", ""
	if channel != "" {
		maria, mysql = " '"+channel+"'", " FOR CHANNEL '"+channel+"'"
	}
	r.Exec(MariaOrMySQL(
		fmt.Sprintf("CHANGE MASTER%s TO MASTER_HOST = '%s', MASTER_PORT = %s,"+
			" MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos;"+
			" START SLAVE%s", maria, host, port, maria),
		fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '%s', SOURCE_PORT = %s,"+
			" SOURCE_USER = 'root', SOURCE_CONNECT_RETRY = 1, SOURCE_AUTO_POSITION = 1,"+
			" GET_SOURCE_PUBLIC_KEY = 1%s; START REPLICA%s", host, port, mysql, mysql)))
}

// AwaitReplica waits until r, a replica of s, has all that is committed on s.
func (s *MariaDBServer) AwaitReplica(r *MariaDBServer) {
	s.t.Helper()
	const most = 30 // seconds
	at := strings.ReplaceAll(s.Exec("SELECT "+MariaOrMySQL("@@gtid_binlog_pos", "@@gtid_executed")),
		`\n`, "")
	wait := MariaOrMySQL("MASTER_GTID_WAIT", "WAIT_FOR_EXECUTED_GTID_SET")
	begin := time.Now()
	if out := r.Exec(fmt.Sprintf("SELECT %s('%s', %d)", wait, at, most)); out != "0" {
		s.t.Fatalf("the replica is not there after %v: %q", time.Since(begin), out)
	}
}

// StopReplication makes a replica apply nothing any more.
func (s *MariaDBServer) StopReplication() {
	s.t.Helper()
	s.Exec(MariaOrMySQL("STOP ALL SLAVES", "STOP REPLICA"))
}

// Promote makes a replica a primary.
func (s *MariaDBServer) Promote() {
	s.t.Helper()
	s.Exec(MariaOrMySQL("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF",
		"STOP REPLICA; RESET REPLICA ALL; SET GLOBAL read_only = OFF"))
}
