package mysql

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/binlog"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// Doctor compares the server with what the feed of its binlog needs for these
// tables. It changes nothing.
func (s *Source) Doctor(
	ctx context.Context, mode source.FeedMode, tables []source.Watched,
) ([]source.Finding, error) {
	switch mode {
	case source.FeedNone:
		return nil, nil
	case source.FeedAuto, source.FeedBinlog:
	default:
		return nil, fmt.Errorf("feed mode %q: MariaDB and MySQL have none but %q", mode,
			source.FeedBinlog)
	}
	ctx, cancel := s.begin(ctx, 10+catalog.Queries(make([]catalog.Name, 0, len(tables))...))
	defer cancel()
	var f *facts
	err := s.ask(ctx, func(ctx context.Context, c *conn) (err error) {
		f, err = readFacts(ctx, c, s.cfg.DBName, tables)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", err)
	}
	var out []source.Finding
	for _, check := range []func() []source.Finding{
		f.checkLog, f.checkApplying, f.checkGTID, f.checkGrants, f.checkFilters, f.checkSilent,
		f.checkTables, f.checkRights,
		func() []source.Finding { return f.checkConnections(s.opts.MaxConns) },
	} {
		out = append(out, check()...)
	}
	return out, nil
}

// facts are what Doctor knows of a server.
type facts struct {
	server    server
	home      string
	variables map[string]string // of those in factVariables that there are
	user      string            // 'name'@'host', as GRANT takes it
	grants    string            // of the user, in upper case
	applying  binlog.Applying
	unasked   error            // why applying is not known
	status    bool             // the user may see where the binlog is
	doDB      string           // binlog_do_db
	ignoreDB  string           // binlog_ignore_db
	tables    []*catalog.Table // those that are watched and there
	missing   []string         // those that are watched and not there
	rights    rights           // what the user lacks on tables
	limits    limits           // on connections
	silent    []string         // users that may write past the binlog, of those that are shown
	cascades  []string         // watched tables that a cascade may change
	unseen    []*catalog.Table // those of which hotrow may not know that
}

// factVariables are the settings that matter to a feed.
var factVariables = []string{"log_bin", "binlog_format", "binlog_row_image", "server_id",
	"gtid_strict_mode", "gtid_mode", "binlog_row_metadata", "lower_case_table_names", "read_only",
	"max_connections"}

// readFacts asks the server.
func readFacts(
	ctx context.Context, c *conn, home string, tables []source.Watched,
) (*facts, error) {
	f := &facts{home: home, variables: make(map[string]string)}
	var err error
	if f.server, err = c.server(); err != nil {
		return nil, err
	}
	list := "'" + strings.Join(factVariables, "', '") + "'"
	err = c.query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ("+list+")", nil,
		func(v []any) error {
			f.variables[strings.ToLower(catalog.AsText(v[0]))] = catalog.AsText(v[1])
			return nil
		})
	if err != nil {
		return nil, err
	}
	if err := f.readUser(ctx, c); err != nil {
		return nil, err
	}
	f.readStatus(ctx, c)
	f.applying, f.unasked = binlog.ReadApplying(ctx, c, f.server.mariadb)
	if f.unasked != nil && number(f.unasked) == 0 {
		return nil, f.unasked
	}
	if err := f.readSilent(ctx, c); err != nil {
		return nil, err
	}
	if err := f.readLimits(ctx, c); err != nil {
		return nil, err
	}
	return f, f.readTables(ctx, c, tables)
}

// readTables reads the tables that are watched, and what their foreign keys do.
func (f *facts) readTables(ctx context.Context, c *conn, tables []source.Watched) error {
	names := make([]catalog.Name, len(tables))
	for i, w := range tables {
		names[i] = catalog.Name{Schema: f.home, Table: w.Table}
		if schema, bare, dotted := strings.Cut(w.Table, "."); dotted {
			names[i] = catalog.Name{Schema: schema, Table: bare}
		}
	}
	r := &catalog.Reader{Conn: c, Home: f.home, MariaDB: f.server.mariadb}
	found, err := r.Columns(ctx, names...)
	if err != nil {
		return err
	}
	byName, folded := make(map[catalog.Name]*catalog.Table), make(map[string]*catalog.Table)
	for _, t := range found {
		byName[t.Named()], folded[strings.ToLower(t.ID())] = t, t
	}
	at := make([]*catalog.Table, len(tables))
	for i, name := range names {
		if at[i] = byName[name]; at[i] == nil { // a server may take both cases to be equal
			at[i] = folded[strings.ToLower(name.String())]
		}
	}
	if err := f.readRights(ctx, c, tables, names, at); err != nil {
		return err
	}
	return f.readCascades(ctx, r)
}

// readUser reads who hotrow is and what it may do.
func (f *facts) readUser(ctx context.Context, c *conn) error {
	err := c.query(ctx, "SELECT CURRENT_USER()", nil, func(v []any) error {
		name, host := catalog.AsText(v[0]), ""
		if i := strings.LastIndexByte(name, '@'); i >= 0 {
			name, host = name[:i], name[i+1:]
		}
		f.user = literal(name) + "@" + literal(host)
		return nil
	})
	if err != nil {
		return err
	}
	return c.query(ctx, "SHOW GRANTS", nil, func(v []any) error {
		f.grants += strings.ToUpper(catalog.AsText(v[0])) + "\n"
		return nil
	})
}

// literal writes a text for SQL.
func literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(s) + "'"
}

// readStatus asks where the binlog is, which MySQL 8.4 calls by another name.
// That it may not be asked is a finding and no error.
func (f *facts) readStatus(ctx context.Context, c *conn) {
	for _, sql := range []string{"SHOW MASTER STATUS", "SHOW BINARY LOG STATUS"} {
		err := c.query(ctx, sql, nil, func(v []any) error {
			f.doDB, f.ignoreDB = catalog.AsText(v[2]), catalog.AsText(v[3])
			return nil
		})
		if f.status = err == nil; f.status {
			return
		}
	}
}

// readCascades notes which foreign keys change rows of the tables without a word in
// the binlog. What foreign keys do is not shown to who may only read the table.
func (f *facts) readCascades(ctx context.Context, r *catalog.Reader) error {
	names := make([]catalog.Name, len(f.tables))
	for i, t := range f.tables {
		names[i] = t.Named()
	}
	keys, err := r.ForeignKeys(ctx, names...)
	if err != nil {
		return err
	}
	unseen, cascades := make(map[catalog.Name]bool), make(map[catalog.Name]bool)
	for _, k := range keys {
		unseen[k.Child] = unseen[k.Child] || !k.Shown()
		cascades[k.Child] = cascades[k.Child] || k.Deletes() || k.Updates()
	}
	for i, t := range f.tables {
		if unseen[names[i]] {
			f.unseen = append(f.unseen, t)
		} else if cascades[names[i]] {
			f.cascades = append(f.cascades, t.ID())
		}
	}
	return nil
}

// on reports whether a variable says yes.
func (f *facts) on(name string) bool {
	v := strings.ToUpper(f.variables[name])
	return v == "ON" || v == "1"
}

// good returns the finding that something is as it should be.
func good(text string) source.Finding {
	return source.Finding{Level: source.LevelOK, Text: text}
}

// set returns a setting that must be another one, with the statements for it.
// They hold for sessions made afterwards, and until the server is restarted.
func (f *facts) set(name, want, why string) source.Finding {
	now := f.variables[name]
	file := fmt.Sprintf("; put %s=%s under [mysqld] in the server's option file too, or it is"+
		" gone after a restart", name, want)
	set := "SET GLOBAL %s = '%s'"
	if !f.server.mariadb {
		set, file = "SET PERSIST %s = '%s'", ""
	}
	return source.Finding{
		Level: source.LevelError, Text: fmt.Sprintf("%s is %s, it must be %s", name, now, want),
		Why:    why + "; programs keep the old setting until they connect again" + file,
		Apply:  []string{fmt.Sprintf(set, name, want)},
		Remove: []string{fmt.Sprintf(set, name, now)},
	}
}

// checkLog looks at the binlog itself.
func (f *facts) checkLog() []source.Finding {
	if !f.on("log_bin") {
		return []source.Finding{{
			Level: source.LevelError, Text: "the server writes no binlog (log_bin is OFF)",
			Why: "there is no feed of changes, so nothing is kept in memory; put log_bin=binlog," +
				" binlog_format=ROW and a server_id under [mysqld] in the server's option file," +
				" and restart it",
		}}
	}
	out := []source.Finding{good("log_bin is ON")}
	if strings.EqualFold(f.variables["binlog_format"], "ROW") {
		out = append(out, good("binlog_format is ROW"))
	} else {
		out = append(out, f.set("binlog_format", "ROW",
			"a statement in the binlog does not say which rows it changes"))
	}
	if strings.EqualFold(f.variables["binlog_row_image"], "FULL") {
		out = append(out, good("binlog_row_image is FULL"))
	} else {
		out = append(out, f.set("binlog_row_image", "FULL",
			"a row in the binlog lacks what says which documents it was in"))
	}
	if id := f.variables["server_id"]; id == "0" || id == "" {
		out = append(out, source.Finding{
			Level: source.LevelError, Text: "server_id is 0",
			Why:   "the server refuses whoever wants to follow its binlog",
			Apply: []string{"SET GLOBAL server_id = 1"},
		})
	}
	return out
}

// checkApplying looks at what the server applies of other servers.
func (f *facts) checkApplying() []source.Finding {
	if !f.on("log_bin") {
		return nil
	}
	a := &f.applying
	if f.unasked != nil {
		return []source.Finding{{
			Level: source.LevelError,
			Text:  fmt.Sprintf("whether the server is a replica is not shown to %s", f.user),
			Why: "log_replica_updates is OFF, so its binlog lacks what it applies as a replica," +
				" and nothing may be kept in memory: " + f.unasked.Error(),
			Apply:  []string{"GRANT REPLICATION CLIENT ON *.* TO " + f.user},
			Remove: []string{"REVOKE REPLICATION CLIENT ON *.* FROM " + f.user},
		}}
	}
	if what, mend := a.Unseen(); what != "" {
		return []source.Finding{{Level: source.LevelError, Text: what, Why: mend}}
	}
	if a.Logs {
		return []source.Finding{good("what the server applies as a replica is in its own binlog")}
	}
	return []source.Finding{{
		Level: source.LevelInfo,
		Text:  "the binlog would lack what the server applies if it were made a replica",
		Why: "it is none now; should it become one, nothing is kept in memory while it is one;" +
			" log_slave_updates=ON (MySQL: log_replica_updates) in the option file, and a" +
			" restart, would change that",
	}}
}

// checkGTID looks at how transactions are numbered.
func (f *facts) checkGTID() []source.Finding {
	if !f.server.mariadb || !f.on("log_bin") {
		return nil
	}
	if f.on("gtid_strict_mode") {
		return []source.Finding{good("gtid_strict_mode is ON")}
	}
	return []source.Finding{{
		Level: source.LevelInfo, Text: "gtid_strict_mode is OFF",
		Why: "after a failover a place in one server's binlog may mean another in the next one's:" +
			" hotrow then drops what is in memory; put gtid_strict_mode=ON in the option file too",
		Apply:  []string{"SET GLOBAL gtid_strict_mode = ON"},
		Remove: []string{"SET GLOBAL gtid_strict_mode = OFF"},
	}}
}

// privilege matches a privilege that is granted on everything.
func (f *facts) may(privileges ...string) bool {
	for line := range strings.Lines(f.grants) {
		granted, _, global := strings.Cut(line, " ON *.* TO ")
		if !global {
			continue
		}
		for _, p := range append(privileges, "ALL PRIVILEGES") {
			if regexp.MustCompile(`(GRANT |, )` + p + `(,|$)`).MatchString(granted) {
				return true
			}
		}
	}
	return false
}

// checkGrants looks at what hotrow's user may do. Roles that are not active do
// not count.
func (f *facts) checkGrants() []source.Finding {
	replicate := f.may("REPLICATION SLAVE", "REPLICATION REPLICA")
	status := f.status || f.may("BINLOG MONITOR", "REPLICATION CLIENT")
	if replicate && status {
		return []source.Finding{good(f.user + " may follow the binlog")}
	}
	var lacks []string
	if !replicate {
		lacks = append(lacks, "REPLICATION SLAVE")
	}
	if !status {
		monitor := "REPLICATION CLIENT"
		if f.server.mariadb {
			monitor = "BINLOG MONITOR"
		}
		lacks = append(lacks, monitor)
	}
	list := strings.Join(lacks, ", ")
	return []source.Finding{{
		Level:  source.LevelError,
		Text:   fmt.Sprintf("%s lacks %s", f.user, list),
		Why:    "hotrow may not follow the binlog; an administrator has to grant it",
		Apply:  []string{fmt.Sprintf("GRANT %s ON *.* TO %s", list, f.user)},
		Remove: []string{fmt.Sprintf("REVOKE %s ON *.* FROM %s", list, f.user)},
	}}
}

// checkFilters looks for databases that the server leaves out of the binlog.
func (f *facts) checkFilters() []source.Finding {
	if f.doDB == "" && f.ignoreDB == "" {
		return nil
	}
	do, ignore := strings.Split(f.doDB, ","), strings.Split(f.ignoreDB, ",")
	var out []source.Finding
	for _, t := range f.tables {
		left := f.doDB != "" && !slices.Contains(do, t.Schema) || slices.Contains(ignore, t.Schema)
		if left {
			out = append(out, source.Finding{
				Level:  source.LevelError,
				Text:   fmt.Sprintf("changes of %s are left out of the binlog", t.ID()),
				Tables: []string{t.ID()},
				Why: fmt.Sprintf("binlog_do_db is %q and binlog_ignore_db is %q: hotrow is not "+
					"told of its changes; take the filters out of the option file", f.doDB,
					f.ignoreDB),
			})
		}
	}
	return out
}

// checkTables looks at the tables themselves.
func (f *facts) checkTables() []source.Finding {
	var out []source.Finding
	for _, name := range f.missing {
		out = append(out, source.Finding{Level: source.LevelError, Tables: []string{name},
			Text: "table " + name + " does not exist", Why: "it cannot be served"})
	}
	for _, t := range f.tables {
		if why := t.Unfollowed(); why != "" {
			out = append(out, source.Finding{Level: source.LevelError, Text: t.ID() + ": " + why,
				Tables: []string{t.ID()}, Why: "it cannot be served",
				Apply: []string{"ALTER TABLE " + quoteTable(t.Schema, t.Name) + " ENGINE=InnoDB"}})
		}
	}
	for _, t := range f.unseen {
		grant := "SHOW VIEW ON " + quote(t.Schema) + ".*"
		out = append(out, source.Finding{
			Level: source.LevelInfo,
			Text:  "what the foreign keys of " + t.ID() + " do is not shown to " + f.user,
			Why: "they are taken to change rows without a word in the binlog: when a row of the" +
				" other table is deleted, or its key changes, every document with rows of " +
				t.ID() + " is dropped",
			Apply:  []string{"GRANT " + grant + " TO " + f.user},
			Remove: []string{"REVOKE " + grant + " FROM " + f.user},
		})
	}
	for _, id := range f.cascades {
		out = append(out, source.Finding{
			Level: source.LevelInfo,
			Text:  id + " has a foreign key with ON DELETE or ON UPDATE CASCADE or SET NULL",
			Why: "rows that the server changes so are not in the binlog: when a row of the" +
				" other table is deleted, or its key changes, every document with rows of " + id +
				" is dropped",
		})
	}
	return out
}
