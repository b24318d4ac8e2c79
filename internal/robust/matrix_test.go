package robust

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// The databases, as the table names them.
const (
	postgres = "PostgreSQL"
	mariadb  = "MariaDB"
	sqlite   = "SQLite"
)

// slotInFile is why rows about a slot that outlives hotrow have one form.
const slotInFile = "a slot that stays is a setting of a file: by a URL nothing on disk is" +
	" trusted after a restart"

// readsInFile is why rows about a standby that is read have one form.
const readsInFile = "reads is a setting of a file"

// postgresRows are the rows whose database is PostgreSQL. Their numbers are those
// of docs/howto/failures.md.
func postgresRows() []row {
	plain := pg(nil)
	rows := []row{
		{n: "1", what: "database down at start", test: downAtStart, away: true},
		{n: "2", what: "database dies while serving", test: dies(plain), away: true},
		{n: "3", what: "database hangs: nothing gets through", test: hangs(plain), away: true},
		{n: "3", what: "database hangs: its processes are stopped", test: frozen(plain), away: true},
		{n: "4", what: "database slow", test: slow(plain)},
		{n: "5", what: "failover without loss", test: failover(false)},
		{n: "5", what: "failover with lost commits", test: failover(true), often: true},
		{n: "5", what: "promotion, both hosts in the URL", test: promoted(severalHosts, false, false),
			often: true},
		{n: "5", what: "promotion, both hosts in the URL, the first hangs",
			test: promoted(severalHosts, true, false)},
		{n: "5", what: "promotion behind HAProxy", test: promoted(behindHAProxy, false, true)},
		{n: "5", what: "a standby that is read is promoted, the primary lives on",
			test: promotedReads(true), often: true, file: readsInFile},
		{n: "5", what: "a standby that is read is promoted, the primary is gone",
			test: promotedReads(false), file: readsInFile},
		{n: "5", what: "a standby that is read follows another that is promoted",
			test: readFollowsNext, file: readsInFile},
		{n: "6", what: "feed lags: its sender is stopped", test: senderFrozen},
		{n: "7", what: "feed half open", test: halfOpen(plain), away: true},
		{n: "8", what: "slot dropped under load", test: slotDropped, often: true, file: slotInFile},
		{n: "8", what: "slot lost, or in doubt", elsewhere: "source/postgres",
			tests: "TestPostgres_SlotLost TestPostgres_SlotDoubts"},
		{n: "10", what: "NOTIFY: the listener is cut off under load", test: listenerCut},
		{n: "10", what: "NOTIFY: long keys, reconnect", elsewhere: "source/postgres",
			tests: "TestPostgres_NotifyFeedTellsLongKeysAsTheTable" +
				" TestPostgres_NotifyFeedEndsAndAttachesAgain"},
		{n: "11", what: "delivered, not visible, under load", test: heldCommits},
		{n: "11", what: "delivered, not visible", elsewhere: "source/postgres",
			tests: "TestPostgres_DeliveredIsNotSettled TestPostgres_AttachWaitsForCommits"},
		{n: "12", what: "DDL under load, TRUNCATE", test: ddl(plain, "ALTER TABLE kv ALTER pad"+
			" TYPE varchar(60)", "VACUUM FULL kv")},
		{n: "12", what: "TRUNCATE, partitions", elsewhere: "source/postgres",
			tests: "TestPostgres_LogicalFeedFollowsPartitions TestPostgres_LogicalFeedTellsEvery" +
				" TestPostgres_LogicalFeedNoticesSchema"},
		{n: "13", what: "cache on disk: no room", test: diskFull, often: true},
		{n: "15", what: "cache on disk: flipped and cut", test: broken, often: true, file: slotInFile},
		{n: "16", what: "cache on disk: EIO at sync", test: diskErrors(faults{syncs: true}), often: true,
			file: slotInFile},
		{n: "16", what: "cache on disk: EIO at write", test: diskErrors(faults{writes: true}),
			file: slotInFile},
		{n: "16", what: "cache on disk: EIO at read", test: diskErrors(faults{reads: true}), often: true,
			file: slotInFile},
		{n: "17", what: "kill -9, slot, disk", test: postgresKilled, often: true, file: slotInFile},
		{n: "17", what: "restart with a million documents on disk", test: largeDisk,
			file: "warm is a setting of a file"},
		{n: "18", what: "power loss: what was not synced is gone", test: powerLost, often: true,
			file: slotInFile},
		{n: "19", what: "256 MiB of memory", test: memoryLimit},
		{n: "20", what: "the wall clock jumps by an hour each second", test: clockJumps,
			file: "a ttl is a setting of a file"},
		{n: "21", what: "hotrow stopped and continued", test: stopped, often: true},
		{n: "24", what: "herd on one key", elsewhere: "stress", tests: "TestStressPostgres_Herd_OneKey"},
		{n: "25", what: "hot key invalidated", elsewhere: "stress",
			tests: "TestStressPostgres_Herd_Storm"},
		{n: "26", what: "rows of 64 MiB, lists of them", test: hugeValues},
		{n: "27", what: "one transaction changes every row", test: manyRows},
		{n: "30", what: "no file descriptors left", test: fewFiles, file: "pool.max is a setting of a file"},
		{n: "31", what: "leaks", test: leaks},
		{n: "32", what: "SIGHUP with a bad file", test: badReload},
		{n: "33", what: "SIGTERM under load", test: terminated, often: true},
		{n: "34", what: "one node of two without database", test: partition},
		{n: "35", what: "tokens of others, of the future, garbage", test: foreignTokens, often: true},
		{n: "36", what: "a pooler in front", test: pooler},
		{n: "37", what: "missing privileges", elsewhere: "source/postgres",
			tests: "TestPostgres_DoctorMendsEachPrivilege TestPostgres_Doctor"},
		{n: "38", what: "two nodes with one slot", elsewhere: "source/postgres",
			tests: "TestPostgres_SlotOfAnotherNode"},
		{n: "41", what: "the database's name leads elsewhere, IPv6", test: renamed},
		{n: "41", what: "unix socket gone and back", test: socketReplaced},
		{n: "42", what: "another version of the file", test: otherFormat, file: slotInFile},
		{n: "43", what: "copies of clients of Redis: all of it killed and stopped", test: copiesKept},
	}
	return on(postgres, rows)
}

// mariadbRows are those whose database is MariaDB.
func mariadbRows() []row {
	rows := []row{
		{n: "2", what: "database dies while serving", test: dies(maria), away: true},
		{n: "3", what: "database hangs: nothing gets through", test: hangs(maria), away: true},
		{n: "3", what: "database hangs: its processes are stopped", test: frozen(maria), away: true},
		{n: "4", what: "database slow", test: slow(maria)},
		{n: "5", what: "another primary behind HAProxy", test: primaryChanged(behindHAProxy, false)},
		{n: "5", what: "another primary behind HAProxy, lost commits",
			test: primaryChanged(behindHAProxy, true)},
		{n: "7", what: "feed half open", test: halfOpen(maria), away: true},
		{n: "9", what: "log purged and reset", test: purged, often: true},
		{n: "9", what: "log purged, reset, server restarted while hotrow is down",
			elsewhere: "source/mysql", tests: "TestMariaDB_ResumeDoubts"},
		{n: "9", what: "two nodes with one server id", why: "no two nodes have one: each connection" +
			" of a feed draws its own among 2^31, and there is no setting for it"},
		{n: "11", what: "delivered, not visible, under load", test: heldMariaDBCommits},
		{n: "11", what: "delivered, not visible", elsewhere: "source/mysql",
			tests: "TestMariaDB_SettleWaitsForHeldCommits TestMariaDB_SettleIsAProof"},
		{n: "12", what: "DDL under load, TRUNCATE", test: ddl(maria, "ALTER TABLE kv MODIFY pad"+
			" varchar(60)", "ALTER TABLE kv FORCE")},
		{n: "12", what: "TRUNCATE, DDL, cascades", elsewhere: "source/mysql",
			tests: "TestMariaDB_FeedTellsCascades TestMariaDB_FeedTellsDefinitions"},
		{n: "17", what: "kill -9, disk", test: mariaDBKilled, often: true},
		{n: "37", what: "missing privileges", elsewhere: "source/mysql",
			tests: "TestMariaDB_DoctorMendsEachPrivilege TestMariaDB_FeedNeedsFewPrivileges"},
	}
	group := row{n: "5", what: "Galera: the followed node is killed", test: galera.nodeKilled}
	if dbtest.IsMySQL() {
		group = row{n: "5", what: "Group Replication: the primary is killed",
			test: replicated.nodeKilled}
	}
	return on(mariadb, append(rows, group))
}

// otherRows are those that need neither.
func otherRows() []row {
	return []row{
		{n: "14", what: "no room for the database", on: sqlite, test: sqliteFull, often: true},
		{n: "18", what: "power loss: the file at any moment of a commit", elsewhere: "tier",
			tests: "TestDisk_SurvivesKill TestDisk_NeverGivesOut"},
		{n: "18", what: "links: kill -9, torn and lost pages of the log", elsewhere: "links/clicklog",
			tests: "TestLog_SurvivesKill TestReader_"},
		{n: "20", what: "the machine was suspended", elsewhere: "resource", tests: "TestBootClock"},
		{n: "20", what: "the machine's own clock is set", why: "it would be a test of everything else" +
			" that runs there: the program has a clock that jumps instead"},
		{n: "22", what: "slow readers", elsewhere: "eventloop",
			tests: "TestLoop_SurvivesSlowPeers TestLoop_ServesSlowPeersThatRead"},
		{n: "23", what: "slow senders, idle connections", elsewhere: "eventloop",
			tests: "TestLoop_ClosesSlowHeaders TestLoop_ClosesIdleConnections"},
		{n: "4", what: "the database's work is bounded", elsewhere: "resource",
			tests: "TestOutage_BudgetsBoundTheDatabasesWork"},
		{n: "26", what: "lists have a bound", elsewhere: "front/http",
			tests: "TestList_HasABoundInBytes"},
		{n: "28", what: "bad configurations", elsewhere: "config",
			tests: "TestLoad_TellsWhatIsWrong"},
		{n: "29", what: "port taken, address of others, bad certificate", test: portTaken, often: true},
		{n: "39", what: "upstreams of the proxy that die, lie, half close", elsewhere: "proxy",
			tests: "TestCut_ TestRetry_ TestPool_AnUpstreamThatIsDown"},
		{n: "40", what: "memcached restarts", on: "memcached", elsewhere: "source/memcached",
			tests: "TestMemcached_ARestart"},
		{n: "42", what: "what is not a cache at all", elsewhere: "tier",
			tests: "TestDisk_OpenErrors TestDisk_NeverGivesOut"},
	}
}

// on names the database of rows.
func on(database string, rows []row) []row {
	for i := range rows {
		rows[i].on = database
	}
	return rows
}

func TestPostgres_Matrix(t *testing.T) { play(t, postgresRows()) }

func TestMariaDB_Matrix(t *testing.T) { play(t, mariadbRows()) }

func TestSQLite_Matrix(t *testing.T) { play(t, otherRows()) }

// The matrix has 43 rows. Each is seen to, and told to those who run hotrow.
func TestMatrix_HasEveryRow(t *testing.T) {
	const last = 43
	seen := make(map[string]bool)
	for _, rows := range [][]row{postgresRows(), mariadbRows(), otherRows()} {
		for _, r := range rows {
			if r.test == nil && r.elsewhere == "" {
				if r.why == "" {
					t.Errorf("row %s, %s: it neither runs nor says why", r.n, r.what)
				}
				continue
			}
			seen[r.n] = true
		}
	}
	text, err := os.ReadFile("../../docs/howto/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	told := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|`).FindAllSubmatch(text, -1) {
		for _, n := range regexp.MustCompile(`\d+`).FindAll(m[1], -1) {
			told[string(n)] = true
		}
	}
	for i := range last {
		if n := strconv.Itoa(i + 1); !seen[n] || !told[n] {
			t.Errorf("row %s: runs %v, in docs/howto/failures.md %v", n, seen[n], told[n])
		}
	}
}
