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
		{n: "16", what: "cache on disk: EIO at sync", test: diskErrors(faults{syncs: true}), often: true},
		{n: "16", what: "cache on disk: EIO at write", test: diskErrors(faults{writes: true})},
		{n: "16", what: "cache on disk: EIO at read", test: diskErrors(faults{reads: true}), often: true},
		{n: "17", what: "kill -9 (PostgreSQL, slot, disk)", test: postgresKilled, often: true},
		{n: "17", what: "restart with a million documents on disk", test: largeDisk},
		{n: "18", what: "power loss: what was not synced is gone", test: powerLost, often: true},
		{n: "19", what: "256 MiB of memory", test: memoryLimit},
		{n: "20", what: "the wall clock jumps by an hour each second", test: clockJumps},
		{n: "21", what: "hotrow stopped and continued", test: stopped, often: true},
		{n: "24", what: "herd on one key", elsewhere: "stress",
			tests: "^TestStressPostgres_Herd_OneKey$"},
		{n: "25", what: "hot key invalidated", elsewhere: "stress",
			tests: "^TestStressPostgres_Herd_Storm$"},
		{n: "26", what: "rows of 64 MiB, lists of them", test: hugeValues},
		{n: "27", what: "one transaction changes every row", test: manyRows},
		{n: "30", what: "no file descriptors left", test: fewFiles},
		{n: "31", what: "leaks", test: leaks},
		{n: "32", what: "SIGHUP with a bad file", test: badReload},
		{n: "33", what: "SIGTERM under load", test: terminated, often: true},
		{n: "34", what: "one node of two without database", test: partition},
		{n: "35", what: "tokens of others, of the future, garbage", test: foreignTokens, often: true},
		{n: "36", what: "a pooler in front", test: pooler},
		{n: "37", what: "missing privileges", elsewhere: "source/postgres",
			tests: "^TestPostgres_Doctor"},
		{n: "38", what: "two nodes with one slot", elsewhere: "source/postgres",
			tests: "^TestPostgres_SlotOfAnotherNode$"},
		{n: "41", what: "the database's name leads elsewhere, IPv6", test: renamed},
		{n: "41", what: "unix socket gone and back", test: socketReplaced},
		{n: "42", what: "another version of the file", test: otherFormat},
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
		{n: "18", what: "power loss: the file at any moment of a commit", elsewhere: "tier",
			tests: "^TestDisk_(SurvivesKill|NeverGivesOut)"},
		{n: "18", what: "links: kill -9, torn and lost pages of the log", elsewhere: "links/clicklog",
			tests: "^Test(Log_SurvivesKill|Reader_)"},
		{n: "20", what: "the machine was suspended", elsewhere: "resource", tests: "^TestBootClock"},
		{n: "20", what: "the machine's own clock is set", why: "it would be a test of everything else" +
			" that runs there: the program has a clock that jumps instead"},
		{n: "22", what: "slow readers", elsewhere: "lane",
			tests: "^TestLane_(SurvivesSlowPeers|ServesSlowPeersThatRead)$"},
		{n: "23", what: "slow senders, idle connections", elsewhere: "lane",
			tests: "^TestLane_Closes(SlowHeaders|IdleConnections)$"},
		{n: "26", what: "lists have a bound", elsewhere: "front/http",
			tests: "^TestList_HasABoundInBytes$"},
		{n: "28", what: "bad configurations", elsewhere: "config",
			tests: "^TestLoad_TellsWhatIsWrong$"},
		{n: "29", what: "port taken", test: portTaken, often: true},
		{n: "39", what: "upstreams of the proxy that die, lie, half close", elsewhere: "proxy",
			tests: "^Test(Cut_|Retry_|Pool_AnUpstreamThatIsDown)"},
		{n: "40", what: "memcached restarts", elsewhere: "source/memcached",
			tests: "^TestMemcached_ARestart"},
		{n: "42", what: "what is no cache at all", elsewhere: "tier",
			tests: "^TestDisk_(OpenErrors|NeverGivesOut)"},
	}
}

func TestPostgres_Matrix(t *testing.T) { play(t, postgresRows()) }

func TestMariaDB_Matrix(t *testing.T) { play(t, mariadbRows()) }

func TestSQLite_Matrix(t *testing.T) { play(t, otherRows()) }
