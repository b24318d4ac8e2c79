package robust

import "testing"

// postgresRows are the rows whose database is PostgreSQL. Their numbers are those
// of docs/howto/failures.md.
func postgresRows() []row {
	plain := pg(nil)
	return []row{
		{n: "1", what: "database down at start", test: downAtStart, often: true},
		{n: "2", what: "database dies while serving", test: dies(plain), often: true},
		{n: "3", what: "database hangs: nothing gets through", test: hangs},
		{n: "3", what: "database hangs: its processes are stopped", test: frozen},
		{n: "4", what: "database slow", test: slow},
		{n: "5", what: "failover without loss", test: failover(false)},
		{n: "5", what: "failover with lost commits", test: failover(true), often: true},
		{n: "6", what: "feed lags: its sender is stopped", test: senderFrozen},
		{n: "7", what: "feed half open", test: halfOpen},
		{n: "8", what: "slot dropped under load", test: slotDropped, often: true},
		{n: "8", what: "slot lost, or in doubt", elsewhere: "source/postgres",
			tests: "^TestPostgres_Slot(Lost|Doubts)$"},
		{n: "10", what: "NOTIFY: long keys, reconnect", elsewhere: "source/postgres",
			tests: "^TestPostgres_NotifyFeed(TellsLongKeysAsTheTable|EndsAndAttachesAgain)$"},
		{n: "11", what: "delivered, not visible", elsewhere: "source/postgres",
			tests: "^TestPostgres_(DeliveredIsNotSettled|AttachWaitsForCommits)"},
		{n: "12", what: "DDL under load", test: ddl},
		{n: "12", what: "TRUNCATE, partitions", elsewhere: "source/postgres",
			tests: "^TestPostgres_LogicalFeed(FollowsPartitions|TellsEveryKind|NoticesSchema)"},
		{n: "13", what: "cache on disk: no room", test: diskFull, often: true},
		{n: "15", what: "cache on disk: flipped and cut", test: broken, often: true},
		{n: "17", what: "kill -9 (PostgreSQL, slot, disk)", test: postgresKilled, often: true},
		{n: "17", what: "restart with a million documents on disk", test: largeDisk},
		{n: "19", what: "256 MiB of memory", test: memoryLimit},
		{n: "21", what: "hotrow stopped and continued", test: stopped, often: true},
		{n: "24", what: "herd on one key", elsewhere: "stress",
			tests: "^TestStressPostgres_Herd_OneKey$"},
		{n: "25", what: "hot key invalidated", elsewhere: "stress",
			tests: "^TestStressPostgres_Herd_Storm$"},
		{n: "27", what: "one transaction changes every row", test: manyRows},
		{n: "30", what: "no file descriptors left", test: fewFiles},
		{n: "31", what: "leaks", test: leaks},
		{n: "32", what: "SIGHUP with a bad file", test: badReload},
		{n: "33", what: "SIGTERM under load", test: terminated, often: true},
		{n: "34", what: "one node of two without database", test: partition},
		{n: "37", what: "missing privileges", elsewhere: "source/postgres",
			tests: "^TestPostgres_Doctor"},
		{n: "38", what: "two nodes with one slot", elsewhere: "source/postgres",
			tests: "^TestPostgres_SlotOfAnotherNode$"},
	}
}

// mariadbRows are those whose database is MariaDB.
func mariadbRows() []row {
	maria := func(t *testing.T) func(*oracle) *database {
		return func(o *oracle) *database { return newMariaDB(t, o) }
	}
	return []row{
		{n: "2", what: "database dies while serving (MariaDB)", test: dies(maria)},
		{n: "3", what: "database frozen (MariaDB)", elsewhere: "source/mysql",
			tests: "^TestMariaDB_FeedNotices"},
		{n: "9", what: "log purged and reset", test: purged, often: true},
		{n: "9", what: "log purged, reset, server restarted while hotrow is down",
			elsewhere: "source/mysql", tests: "^TestMariaDB_ResumeDoubts$"},
		{n: "11", what: "delivered, not visible (MariaDB)", elsewhere: "source/mysql",
			tests: "^TestMariaDB_Settle(WaitsForHeldCommits|IsAProof)$"},
		{n: "12", what: "TRUNCATE, DDL, cascades (MariaDB)", elsewhere: "source/mysql",
			tests: "^TestMariaDB_FeedTells(Cascades|Definitions)$"},
		{n: "17", what: "kill -9 (MariaDB, disk)", test: mariaDBKilled, often: true},
		{n: "37", what: "missing privileges (MariaDB)", elsewhere: "source/mysql",
			tests: "^TestMariaDB_(Doctor|FeedNeedsFewPrivileges)"},
	}
}

// otherRows are those that need neither.
func otherRows() []row {
	return []row{
		{n: "14", what: "no room for SQLite", test: sqliteFull, often: true},
		{n: "16", what: "fsync error (injected, for want of FUSE)", elsewhere: "tier",
			tests: "^TestDisk_(FullDisk|OpenErrors)"},
		{n: "18", what: "power loss: the file at any moment of a commit", elsewhere: "tier",
			tests: "^TestDisk_(SurvivesKill|NeverGivesOut)"},
		{n: "20", what: "clock", elsewhere: "resource", tests: "^TestBootClock"},
		{n: "26", what: "huge values and lists", elsewhere: "front/http",
			tests: "^TestList_HasABoundInBytes$"},
		{n: "28", what: "bad configurations", elsewhere: "config",
			tests: "^TestLoad_TellsWhatIsWrong$"},
		{n: "29", what: "port taken", test: portTaken, often: true},
		{n: "35", what: "tokens of others, garbage", elsewhere: "front/http",
			tests: "^TestMinPosition$"},
		{n: "40", what: "memcached restarts", elsewhere: "source/memcached",
			tests: "^TestMemcached_ARestart"},
		{n: "42", what: "another version of the file", elsewhere: "tier",
			tests: "^TestDisk_(OpenErrors|NeverGivesOut)"},
	}
}

func TestPostgres_Matrix(t *testing.T) { play(t, postgresRows()) }

func TestMariaDB_Matrix(t *testing.T) { play(t, mariadbRows()) }

func TestSQLite_Matrix(t *testing.T) { play(t, otherRows()) }
