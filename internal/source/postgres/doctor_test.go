package postgres

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// feedRole returns the URL with another user, who is made with these options.
func feedRole(t *testing.T, f *fixture, role, options string) string {
	t.Helper()
	var db string
	if err := f.conn.QueryRow(t.Context(), "SELECT current_database()").Scan(&db); err != nil {
		t.Fatal(err)
	}
	name := role + "_" + db
	f.exec("CREATE ROLE " + name + " LOGIN PASSWORD 'secret' " + options)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), f.url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		for _, sql := range []string{"DROP OWNED BY " + name, "DROP ROLE " + name} {
			if _, err := conn.Exec(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	})
	u, err := url.Parse(f.url)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, "secret")
	return u.String()
}

// feedDatabase makes a database with sql in it, without a feed.
func feedDatabase(t *testing.T, dsn, sql string) *fixture {
	t.Helper()
	f := &fixture{t: t, url: dsn, conn: feedConn(t, dsn)}
	f.exec(sql)
	return f
}

// feedWorst returns the texts of the findings at level and above.
func feedWorst(findings []source.Finding, level source.Level) []string {
	var out []string
	for _, f := range findings {
		if f.Level >= level {
			out = append(out, f.Text)
		}
	}
	return out
}

func feedDiagnose(t *testing.T, dsn string, mode source.FeedMode) []source.Finding {
	t.Helper()
	findings, err := doctor(t.Context(), sourceOf(t, dsn), mode, feedTables)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func TestPostgres_OpenFeedMakesAndMendsThePublication(t *testing.T) {
	t.Parallel()
	f := feedDatabase(t, dbtest.Postgres(t), feedSchema)
	published := func() string {
		t.Helper()
		var names string
		err := f.conn.QueryRow(t.Context(), `SELECT COALESCE(string_agg(tablename, ',' ORDER BY
			tablename), '') FROM pg_publication_tables WHERE pubname = 'hotrow'`).Scan(&names)
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	feed, why := feedOpen(t, f.url, source.FeedAuto, feedTables[:1])
	if feed == nil || feed.Mode() != source.FeedLogical || published() != "dept" {
		t.Errorf("feed %v (%s), published %q", feed, why, published())
	}
	feedOpen(t, f.url, source.FeedLogical, feedTables)
	if published() != "dept,emp" {
		t.Errorf("published %q", published())
	}
	for _, c := range []struct{ alter, want string }{
		{"ALTER PUBLICATION hotrow SET (publish = 'insert, update')", "kinds of changes"},
		{"ALTER PUBLICATION hotrow SET TABLE dept WHERE (deptno > 5), emp", "filters rows"},
		{"ALTER PUBLICATION hotrow SET TABLE dept (deptno), emp", "filters rows or columns"},
	} {
		f.exec(c.alter)
		_, _, err := openFeed(t.Context(), sourceOf(t, f.url), source.FeedLogical, feedTables)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "ALTER PUBLICATION") {
			t.Errorf("%s: %v", c.alter, err)
		}
		feedApply(t, f.url, source.FeedLogical, feedTables)
		feedOpen(t, f.url, source.FeedLogical, feedTables)
	}
	f.exec("DROP PUBLICATION hotrow; CREATE PUBLICATION hotrow FOR ALL TABLES")
	feedOpen(t, f.url, source.FeedLogical, feedTables)
}

func TestPostgres_OpenFeedRefusesWhatNoFeedCanTell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ddl, want string }{
		{"CREATE TABLE x (id int PRIMARY KEY) PARTITION BY LIST (id);" +
			" CREATE TABLE x1 PARTITION OF x FOR VALUES IN (1); ALTER TABLE x REPLICA IDENTITY FULL",
			"another replica identity"},
		{"CREATE UNLOGGED TABLE x (id int PRIMARY KEY)", "unlogged"},
		{"CREATE TABLE x (id int PRIMARY KEY) PARTITION BY LIST (id);" +
			" CREATE TABLE x1 PARTITION OF x FOR VALUES IN (1) PARTITION BY LIST (id);" +
			" CREATE UNLOGGED TABLE x2 PARTITION OF x1 FOR VALUES IN (1)",
			"its partition public.x2 is unlogged"},
		{"CREATE TABLE x (id int) PARTITION BY LIST (id); ALTER TABLE x REPLICA IDENTITY FULL;" +
			" CREATE EXTENSION file_fdw; CREATE SERVER s FOREIGN DATA WRAPPER file_fdw;" +
			" CREATE FOREIGN TABLE x1 PARTITION OF x FOR VALUES IN (1)" +
			" SERVER s OPTIONS (filename '/dev/null')", "its partition public.x1 is a foreign table"},
		{"CREATE TABLE x (id int)", "no replica identity"},
		{"CREATE TABLE x (id int PRIMARY KEY); ALTER TABLE x REPLICA IDENTITY NOTHING",
			"no replica identity"},
		{"CREATE TABLE x (id int PRIMARY KEY); CREATE TABLE y () INHERITS (x)", "inherit"},
		{"CREATE VIEW x AS SELECT 1 AS id", "a view"},
		{"SELECT", "does not exist"},
	} {
		f := feedDatabase(t, dbtest.Postgres(t), c.ddl)
		tables := []source.Watched{{Table: "public.x", Columns: []string{"id"}}}
		_, _, err := openFeed(t.Context(), sourceOf(t, f.url), source.FeedLogical, tables)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.ddl, err, c.want)
		}
		findings, err := doctor(t.Context(), sourceOf(t, f.url), source.FeedLogical, tables)
		if err != nil || !strings.Contains(strings.Join(feedWorst(findings, source.LevelError), ";"),
			c.want) {
			t.Errorf("%s: doctor says %q, %v", c.ddl, feedWorst(findings, source.LevelError), err)
		}
	}
}

func TestPostgres_OpenFeedFallsBackAndSaysWhy(t *testing.T) {
	t.Parallel()
	s := dbtest.NewPostgres(t, nil) // wal_level is replica
	f := feedDatabase(t, s.URL(), feedSchema)
	feed, why := feedOpen(t, s.URL(), source.FeedAuto, feedTables)
	if feed != nil || !strings.Contains(why, "ALTER SYSTEM SET wal_level = logical") ||
		!strings.Contains(why, "hotrow doctor URL --feed notify --apply") {
		t.Errorf("feed %v: %s", feed, why)
	}
	for mode, want := range map[source.FeedMode]string{
		source.FeedLogical: "wal_level", source.FeedNotify: "2 tables have no triggers", "sqlite": "no mode",
	} {
		_, _, err := openFeed(t.Context(), sourceOf(t, s.URL()), mode, feedTables)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("mode %s: %v, want %q", mode, err, want)
		}
	}
	feedApply(t, s.URL(), source.FeedAuto, feedTables) // which brings no triggers
	if feed, why = feedOpen(t, s.URL(), source.FeedAuto, feedTables); feed != nil {
		t.Errorf("feed %v: %s", feed, why)
	}
	feedApply(t, s.URL(), source.FeedNotify, feedTables)
	feed, why = feedOpen(t, s.URL(), source.FeedAuto, feedTables)
	if feed == nil || feed.Mode() != source.FeedNotify || !strings.Contains(why, "wal_level") {
		t.Errorf("feed %v: %s", feed, why)
	}
	if bad := feedWorst(feedDiagnose(t, s.URL(), source.FeedNotify), source.LevelError); bad != nil {
		t.Errorf("doctor still says %q", bad)
	}
	f.exec("ALTER TABLE dept ADD x int") // the triggers name columns, and these are as before
	if bad := feedWorst(feedDiagnose(t, s.URL(), source.FeedNotify), source.LevelError); bad != nil {
		t.Errorf("doctor says %q", bad)
	}
}

func TestPostgres_DoctorSaysWhatAnOrdinaryRoleNeeds(t *testing.T) {
	t.Parallel()
	f := feedDatabase(t, dbtest.Postgres(t), feedSchema)
	dsn := feedRole(t, f, "plain", "")
	feed, why := feedOpen(t, dsn, source.FeedAuto, feedTables)
	if feed != nil || !strings.Contains(why, "REPLICATION") {
		t.Errorf("feed %v: %s", feed, why)
	}
	findings := feedDiagnose(t, dsn, source.FeedLogical)
	var sql []string
	for _, finding := range findings {
		if finding.Level == source.LevelError {
			sql = append(sql, finding.Apply...)
		}
	}
	for _, want := range []string{"ALTER ROLE ", "GRANT SELECT ON \"public\".\"dept\"",
		"GRANT SELECT ON \"public\".\"emp\"", "CREATE PUBLICATION \"hotrow\" FOR TABLE"} {
		if !slices.ContainsFunc(sql, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("no %s in %q", want, sql)
		}
	}
	f.exec(sql...) // as the superuser that an operator would be
	feed, why = feedOpen(t, dsn, source.FeedAuto, feedTables)
	if feed == nil || feed.Mode() != source.FeedLogical {
		t.Fatalf("feed %v: %s", feed, why)
	}
	g := &fixture{t: t, conn: f.conn, feed: feed}
	g.run()
	g.want("UPDATE dept SET loc = 'X' WHERE deptno = 10", "dept U (deptno=10)->(deptno=10)")
	if !g.settled(&source.Tx{ID: 3}) {
		t.Error("an old transaction is not settled")
	}
	g.stop()
}

func TestPostgres_DoctorUndoesWhatItDid(t *testing.T) {
	t.Parallel()
	f := feedDatabase(t, dbtest.Postgres(t), feedSchema+
		"CREATE TABLE alone (id int); CREATE UNIQUE INDEX moves ON emp (empno, deptno);"+
		" ALTER TABLE emp ALTER deptno SET NOT NULL")
	tables := append(slices.Clone(feedTables), source.Watched{
		Table: "public.alone", Columns: []string{"id"}})
	state := func() string {
		t.Helper()
		var s string
		err := f.conn.QueryRow(t.Context(), `SELECT concat_ws(' ',
			(SELECT string_agg(relname::text || relreplident::text, ',' ORDER BY relname) FROM pg_class
				WHERE relname IN ('dept', 'emp', 'alone')),
			(SELECT string_agg(pubname, ',') FROM pg_publication),
			(SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'hotrow%'),
			(SELECT count(*) FROM pg_namespace WHERE nspname = 'hotrow'))`).Scan(&s)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := state()
	feedApply(t, f.url, source.FeedLogical, tables)
	if got, want := state(), "alonef,deptd,empi hotrow 0 1"; got != want {
		t.Errorf("applied: %q, want %q", got, want)
	}
	feedApply(t, f.url, source.FeedNotify, tables)
	feedApply(t, f.url, source.FeedNotify, tables) // a second time does no harm
	if got, want := state(), "alonef,deptd,empi hotrow 6 1"; got != want {
		t.Errorf("applied both: %q, want %q", got, want)
	}
	// One table is not served any more, and all is to be taken away.
	findings, err := doctor(t.Context(), sourceOf(t, f.url), source.FeedLogical, tables[:2])
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range findings {
		f.exec(finding.Remove...)
	}
	if got := state(); got != before {
		t.Errorf("removed: %q, before %q", got, before)
	}
	for _, finding := range findings { // nor does that
		f.exec(finding.Remove...)
	}
}

// TestPostgres_DoctorRestoresEveryReplicaIdentity: what --apply has changed is as it was
// after --remove, whatever it was, and what somebody has set since is theirs.
func TestPostgres_DoctorRestoresEveryReplicaIdentity(t *testing.T) {
	t.Parallel()
	const table = `CREATE TABLE x (id int NOT NULL, other int NOT NULL);
		CREATE UNIQUE INDEX "by Id" ON x (id);`
	for _, c := range []struct{ name, before, between, want string }{
		{"an index", `ALTER TABLE x REPLICA IDENTITY USING INDEX "by Id"`, "", `i by Id`},
		{"an index that is gone", `ALTER TABLE x REPLICA IDENTITY USING INDEX "by Id"`,
			`DROP INDEX "by Id"`, "f "},
		{"default", `ALTER TABLE x ADD PRIMARY KEY (id)`, "", "d "},
		{"nothing", `ALTER TABLE x REPLICA IDENTITY NOTHING`, "", "n "},
		{"full, which stays", `ALTER TABLE x REPLICA IDENTITY FULL`, "", "f "},
		{"set by another since", `ALTER TABLE x ADD PRIMARY KEY (id)`,
			`ALTER TABLE x REPLICA IDENTITY USING INDEX "by Id"`, "i by Id"},
		{"the table is gone", `SELECT`, `DROP TABLE x`, ""},
		{"a quoted index", `ALTER INDEX "by Id" RENAME TO "by' ""Id";
			ALTER TABLE x REPLICA IDENTITY USING INDEX "by' ""Id"`, "", `i by' "Id`},
		{"an index that was gone before", `ALTER TABLE x REPLICA IDENTITY USING INDEX "by Id";
			DROP INDEX "by Id"`, "", "n "},
		{"beside something else in the schema", `CREATE SCHEMA hotrow; CREATE TABLE hotrow.mine ();
			ALTER TABLE x REPLICA IDENTITY USING INDEX "by Id"`, "", "i by Id"},
		{"by an earlier version", `ALTER TABLE x ADD PRIMARY KEY (id); CREATE SCHEMA hotrow;
			ALTER TABLE x REPLICA IDENTITY FULL; CREATE TABLE hotrow.replica_identity
			(relation regclass PRIMARY KEY, identity text NOT NULL);
			INSERT INTO hotrow.replica_identity VALUES ('x', 'DEFAULT')`, "", "d "},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := feedDatabase(t, dbtest.Postgres(t), table+c.before)
			tables := []source.Watched{{Table: "public.x", Columns: []string{"id", "other"}}}
			feedApply(t, f.url, source.FeedLogical, tables)
			if c.between != "" {
				f.exec(c.between)
			}
			findings, err := doctor(t.Context(), sourceOf(t, f.url), source.FeedLogical, tables)
			if err != nil {
				t.Fatal(err)
			}
			for _, finding := range findings {
				f.exec(finding.Remove...)
			}
			var got string
			var schemas int
			err = f.conn.QueryRow(t.Context(), `SELECT coalesce((SELECT c.relreplident::text || ' ' ||
				coalesce((SELECT x.relname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
				WHERE i.indrelid = c.oid AND i.indisreplident), '')
				FROM pg_class c WHERE c.relname = 'x'), ''),
				(SELECT count(*) FROM pg_namespace WHERE nspname = 'hotrow')`).Scan(&got, &schemas)
			if err != nil || got != c.want || schemas != strings.Count(c.before, "hotrow.mine") {
				t.Errorf("the identity is %q, want %q; %d schemas are left, %v", got, c.want, schemas, err)
			}
		})
	}
}

// TestPostgres_DoctorNeverProposesTriggersUnasked: on a server as it is installed the
// mode auto says which two ways there are. What --apply runs then are the statements that
// logical replication needs beside the restart.
func TestPostgres_DoctorNeverProposesTriggersUnasked(t *testing.T) {
	t.Parallel()
	s := dbtest.NewPostgres(t, nil) // wal_level is replica
	feedDatabase(t, s.URL(), feedSchema)
	findings := feedDiagnose(t, s.URL(), source.FeedAuto)
	first := findings[0].Text + "\n" + findings[0].Why
	if strings.Count(first, "\n") != 4 || !strings.Contains(first, "two ways") ||
		!strings.Contains(first, "wal_level is replica") || !strings.Contains(first, "--feed notify") {
		t.Errorf("the summary is\n%s", first)
	}
	var byHand []string
	for _, f := range findings {
		if strings.Contains(strings.Join(f.Apply, " "), "TRIGGER") {
			t.Errorf("unasked: %q", f.Apply)
		}
		byHand = append(byHand, f.ByHand...)
	}
	if bad := feedWorst(findings, source.LevelError); len(bad) != 1 || len(byHand) != 1 ||
		byHand[0] != "ALTER SYSTEM SET wal_level = logical" {
		t.Errorf("errors %q, by hand %q", bad, byHand)
	}
	feedApply(t, s.URL(), source.FeedAuto, feedTables)
	feedApply(t, s.URL(), source.FeedNotify, feedTables)
	findings = feedDiagnose(t, s.URL(), source.FeedAuto) // which are there now
	if bad := feedWorst(findings, source.LevelError); bad != nil {
		t.Errorf("with triggers: %q", bad)
	}
}

// TestPostgres_DoctorKeepsThePublicationsOfOthers: what hotrow has not made it does not
// drop either.
func TestPostgres_DoctorKeepsThePublicationsOfOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, after string
	}{
		{"hotrow", "SELECT", ""},
		{"mine", "SELECT", ""},
		{"mine", "CREATE PUBLICATION mine FOR TABLE dept, emp", "mine"},
		{"mine", "CREATE PUBLICATION mine FOR TABLE dept", "mine"},
		{"hotrow", "CREATE PUBLICATION hotrow FOR TABLE dept, emp", ""}, // by an earlier version
		{"hotrow", "CREATE PUBLICATION hotrow FOR ALL TABLES", "hotrow"},
	} {
		f := feedDatabase(t, dbtest.Postgres(t), feedSchema+";"+c.before)
		src := sourceOf(t, f.url)
		src.Names.Publication = c.name
		for _, remove := range []bool{false, true} {
			for _, mode := range []source.FeedMode{source.FeedLogical, source.FeedNotify} {
				findings, err := doctor(t.Context(), src, mode, feedTables)
				if err != nil {
					t.Fatal(err)
				}
				for _, finding := range findings {
					if remove {
						f.exec(finding.Remove...)
					} else if mode == source.FeedLogical {
						f.exec(finding.Apply...)
					}
				}
			}
		}
		var left string
		err := f.conn.QueryRow(t.Context(), "SELECT coalesce(string_agg(pubname, ','), '')"+
			" FROM pg_publication").Scan(&left)
		if err != nil || left != c.after {
			t.Errorf("%s: --remove leaves %q, want %q, %v", c.before, left, c.after, err)
		}
	}
}

// TestPostgres_DoctorTellsOfFullServers: which slots nobody uses, since when, and the
// number that there may be; by hand, for a slot may be another program's.
func TestPostgres_DoctorTellsOfFullServers(t *testing.T) {
	t.Parallel()
	s := dbtest.NewPostgres(t, map[string]string{
		"wal_level": "logical", "max_replication_slots": "2"})
	f := feedDatabase(t, s.URL(), feedSchema)
	f.exec("SELECT pg_create_physical_replication_slot('never')",
		"SELECT pg_create_logical_replication_slot('gone', 'pgoutput')")
	plain := feedRole(t, f, "plain", "REPLICATION")
	for _, dsn := range []string{s.URL(), plain} {
		findings := feedDiagnose(t, dsn, source.FeedAuto)
		i := slices.IndexFunc(findings, func(f source.Finding) bool {
			return f.Level == source.LevelError && strings.Contains(f.Text, "max_replication_slots = 2")
		})
		if i < 0 {
			t.Fatalf("doctor says %q", feedWorst(findings, source.LevelWarning))
		}
		full := findings[i]
		want := []string{"never (physical", "gone (logical of database ", "of log"}
		if dsn == s.URL() { // an ordinary role is not told
			want = append(want, "inactive since about 20")
		}
		for _, part := range want {
			if !strings.Contains(full.Why, part) {
				t.Errorf("no %q in %q", part, full.Why)
			}
		}
		if len(full.Apply) != 0 || strings.Join(full.ByHand, "; ") !=
			"SELECT pg_drop_replication_slot('never'); SELECT pg_drop_replication_slot('gone');"+
				" ALTER SYSTEM SET max_replication_slots = 12" {
			t.Errorf("%q, by hand %q", full.Apply, full.ByHand)
		}
		for _, finding := range findings {
			if strings.Contains(strings.Join(finding.Apply, " "), "TRIGGER") {
				t.Errorf("unasked: %q", finding.Apply)
			}
		}
	}
}

// TestPostgres_DoctorMendsEachPrivilege: a role that lacks one thing has the feed
// when what Doctor prints has been run, and not before.
func TestPostgres_DoctorMendsEachPrivilege(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	for what, take := range map[string]string{
		"REPLICATION":     "ALTER ROLE %s NOREPLICATION",
		"SELECT of dept":  "REVOKE SELECT ON dept FROM %s",
		"the publication": "DROP PUBLICATION hotrow",
		"a table of it":   "ALTER PUBLICATION hotrow DROP TABLE emp",
		"identity":        "ALTER TABLE emp REPLICA IDENTITY NOTHING",
		"bound of slots":  "ALTER SYSTEM SET max_slot_wal_keep_size = -1; SELECT pg_reload_conf()",
	} {
		t.Run(what, func(t *testing.T) {
			f := feedDatabase(t, server.Database(t), feedSchema)
			dsn := feedRole(t, f, "plain", "REPLICATION")
			role := mustURL(t, dsn).User.Username()
			f.exec("GRANT SELECT ON dept, emp TO "+role, "CREATE PUBLICATION hotrow FOR TABLE dept, emp")
			server.Exec("ALTER SYSTEM SET max_slot_wal_keep_size = '1GB'")
			server.Exec("SELECT pg_reload_conf()")
			src := sourceOf(t, dsn)
			src.Slot = "hotrow_doctor"
			opens := func() bool {
				feed, _, err := openFeed(t.Context(), src, source.FeedLogical, feedTables)
				if feed != nil {
					_ = feed.Close()
				}
				return err == nil
			}
			await(t, "the feed as it should be", opens)
			for _, sql := range strings.Split(strings.ReplaceAll(take, "%s", role), "; ") {
				f.exec(sql)
			}
			await(t, "the feed to be refused", func() bool { return !opens() })
			findings, err := doctor(t.Context(), src, source.FeedLogical, feedTables)
			if err != nil {
				t.Fatal(err)
			}
			for _, finding := range findings {
				if finding.Level == source.LevelError {
					f.exec(slices.Concat(finding.ByHand, finding.Apply)...)
				}
			}
			await(t, "the feed after what Doctor asked for", opens)
		})
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
