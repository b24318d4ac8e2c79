package dbtest

import (
	"fmt"
	"regexp"
	"strings"
)

// Statements that make something in the place of something are two on MySQL, and
// its sequences of numbers are queries.
var (
	orReplace = regexp.MustCompile("^CREATE OR REPLACE (TABLE|USER) ([^ ]+)")
	sequence  = regexp.MustCompile(`\bseq_1_to_(\d+)`)
)

// mysqlWords are words of MariaDB, each with MySQL's.
var mysqlWords = strings.NewReplacer(
	"utf8mb4_nopad_bin", "utf8mb4_0900_bin", // texts that equal only themselves
	"rpl_semi_sync_master", "rpl_semi_sync_source",
	"rpl-semi-sync-master", "rpl-semi-sync-source",
	"BINLOG MONITOR", "REPLICATION CLIENT",
	"SHOW MASTER STATUS", "SHOW BINARY LOG STATUS",
	"RESET MASTER", "RESET BINARY LOGS AND GTIDS",
)

// SQL returns what one of the tests' statements, written for MariaDB, is for the server
// that they get: itself, or one or two of MySQL.
func SQL(statement string) []string {
	if !IsMySQL() {
		return []string{statement}
	}
	s := mysqlWords.Replace(statement)
	s = sequence.ReplaceAllStringFunc(s, func(name string) string {
		return fmt.Sprintf("(WITH RECURSIVE s (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM s"+
			" WHERE seq < %s) SELECT seq FROM s) AS numbers", sequence.FindStringSubmatch(name)[1])
	})
	m := orReplace.FindStringSubmatch(s)
	if m == nil {
		return []string{s}
	}
	return []string{"DROP " + m[1] + " IF EXISTS " + m[2],
		"CREATE " + m[1] + " " + m[2] + s[len(m[0]):]}
}

// SQLs is SQL of several statements.
func SQLs(statements ...string) []string {
	var out []string
	for _, s := range statements {
		out = append(out, SQL(s)...)
	}
	return out
}

// mysqlNames returns settings with the names that MySQL has for them.
func mysqlNames(settings map[string]string) map[string]string {
	out := make(map[string]string)
	for name, value := range settings {
		if strings.HasPrefix(name, "rpl-semi-sync-master") {
			out["plugin-load-add"] = "semisync_source.so"
		}
		out[mysqlWords.Replace(name)] = value
	}
	delete(out, "gtid-strict-mode") // which it has not
	return out
}
