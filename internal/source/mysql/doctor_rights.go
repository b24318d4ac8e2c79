package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// rights are what hotrow's user may not do with tables.
type rights struct {
	lacks  []lack
	writes bool // some table is to be written
}

// A lack is a privilege that the user has not got on a table.
type lack struct {
	privilege, schema, name string
}

// limits are how many connections the server lets in.
type limits struct {
	used int64 // connections at this moment, hotrow's own among them
	user int64 // that one user may have; 0: as many as there are
}

// denied reports whether err says that a privilege on a table is missing. The server
// says the same of a table that is not there to a user who has none at all on it.
func denied(err error) bool {
	var e *driver.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Number {
	case 1044, 1142, 1143: // to the database, on the table, on a column
		return true
	}
	return false
}

// readRights finds out what the user may do with a table by having the server plan
// it, which runs nothing and counts privileges however they were granted: by roles,
// on the database, on everything. It reports whether the table can be seen.
func (f *facts) readRights(
	ctx context.Context, c *conn, schema, name string, writes bool,
) (bool, error) {
	t := quoteTable(schema, name)
	ask := func(privilege, sql string) (bool, error) {
		err := c.query(ctx, f.server.explain()+sql, nil, func([]any) error { return nil })
		var e *driver.MySQLError
		switch {
		case denied(err):
			f.rights.lacks = append(f.rights.lacks, lack{privilege, schema, name})
			return false, nil
		case err == nil, errors.As(err, &e): // what else stands against it is found elsewhere
			return true, nil
		}
		return false, err
	}
	readable, err := ask("SELECT", "SELECT 1 FROM "+t+" WHERE 1 = 0")
	if err != nil || !writes {
		return readable, err
	}
	f.rights.writes = true
	for _, w := range []struct{ privilege, sql string }{
		{"INSERT", "INSERT INTO " + t + " () VALUES ()"},
		{"DELETE", "DELETE FROM " + t + " WHERE 1 = 0"},
	} {
		if _, err := ask(w.privilege, w.sql); err != nil {
			return false, err
		}
	}
	if readable { // what is not there has no columns either
		there := false
		err := c.query(ctx, "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND"+
			" TABLE_NAME = ?", []any{schema, name}, func([]any) error { there = true; return nil })
		if err != nil || !there {
			return readable, err
		}
	}
	return readable, f.readUpdate(ctx, c, schema, name, ask)
}

// readUpdate asks for UPDATE, for which the server wants to know a column.
func (f *facts) readUpdate(
	ctx context.Context, c *conn, schema, name string,
	ask func(privilege, sql string) (bool, error),
) error {
	column := ""
	err := c.query(ctx, `SELECT COLUMN_NAME FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND EXTRA NOT LIKE '%GENERATED%'
		ORDER BY PRIVILEGES LIKE '%update%' DESC, ORDINAL_POSITION LIMIT 1`,
		[]any{schema, name}, func(v []any) error {
			column = quote(catalog.AsText(v[0]))
			return nil
		})
	if err != nil {
		return err
	}
	if column == "" { // who may see none may do nothing
		f.rights.lacks = append(f.rights.lacks, lack{"UPDATE", schema, name})
		return nil
	}
	_, err = ask("UPDATE", fmt.Sprintf("UPDATE %s SET %s = %s WHERE 1 = 0",
		quoteTable(schema, name), column, column))
	return err
}

// idOf returns the table of l as source.Table.ID gives it.
func (f *facts) idOf(l lack) string {
	if l.schema == f.home {
		return l.name
	}
	return l.schema + "." + l.name
}

// checkRights tells what is to be granted on tables.
func (f *facts) checkRights() []source.Finding {
	var out []source.Finding
	for i := 0; i < len(f.rights.lacks); {
		l := f.rights.lacks[i]
		list := l.privilege
		for i++; i < len(f.rights.lacks) && f.rights.lacks[i].name == l.name &&
			f.rights.lacks[i].schema == l.schema; i++ {
			list += ", " + f.rights.lacks[i].privilege
		}
		why := "its rows cannot be written"
		if strings.HasPrefix(list, "SELECT") {
			why = "its rows cannot be read, if there is such a table"
		}
		on := " ON " + quoteTable(l.schema, l.name)
		out = append(out, source.Finding{
			Level: source.LevelError, Why: why, Tables: []string{f.idOf(l)},
			Text:   fmt.Sprintf("%s lacks %s on %s.%s", f.user, list, l.schema, l.name),
			Apply:  []string{"GRANT " + list + on + " TO " + f.user},
			Remove: []string{"REVOKE " + list + on + " FROM " + f.user},
		})
	}
	if f.rights.writes && f.on("read_only") && !f.may("SUPER", "READ_ONLY ADMIN") {
		out = append(out, source.Finding{
			Level: source.LevelError, Text: "the server is read-only (read_only is ON)",
			Why: "nothing can be written; a replica is meant to be so: point the URL at the" +
				" primary, or run SET GLOBAL read_only = OFF if this is it",
		})
	}
	return out
}

// readLimits asks how many connections there may be.
func (f *facts) readLimits(ctx context.Context, c *conn) error {
	err := c.query(ctx, "SELECT @@SESSION.max_user_connections", nil, func(v []any) error {
		f.limits.user = catalog.AsInt(v[0])
		return nil
	})
	if err != nil {
		return err
	}
	return c.query(ctx, "SHOW GLOBAL STATUS LIKE 'Threads\\_connected'", nil, func(v []any) error {
		f.limits.used = catalog.AsInt(v[1])
		return nil
	})
}

// feedConns are the connections that a feed has beside loads and probes: that of the
// binlog, and one that finds out which server it is.
const feedConns = 2

// checkConnections compares what the server lets in with what hotrow may open.
func (f *facts) checkConnections(pool int) []source.Finding {
	need := int64(pool + controlConns + feedConns)
	var out []source.Finding
	warn := func(text, why, apply, remove string) {
		out = append(out, source.Finding{Level: source.LevelWarning, Text: text, Why: why +
			"; what does not get one fails until others are done; pool.max makes it less",
			Apply: []string{apply}, Remove: []string{remove}})
	}
	most := catalog.AsInt([]byte(f.variables["max_connections"]))
	if others := f.limits.used - 1; most > 0 && most-others < need {
		warn(fmt.Sprintf("max_connections is %d, and others have %d", most, others),
			fmt.Sprintf("hotrow may open %d connections", need),
			fmt.Sprintf("SET GLOBAL max_connections = %d", others+need+10),
			fmt.Sprintf("SET GLOBAL max_connections = %d", most))
	}
	if user := f.limits.user; user > 0 && user < need {
		warn(fmt.Sprintf("%s may have %d connections", f.user, user),
			fmt.Sprintf("hotrow may open %d", need),
			fmt.Sprintf("ALTER USER %s WITH MAX_USER_CONNECTIONS %d", f.user, need),
			fmt.Sprintf("ALTER USER %s WITH MAX_USER_CONNECTIONS %d", f.user, user))
	}
	return out
}

// readSilent notes who may write without a word in the binlog. To whom may not read the
// server's own tables, only the user itself is shown.
func (f *facts) readSilent(ctx context.Context, c *conn) error {
	privileges := "'SUPER', 'SYSTEM_VARIABLES_ADMIN', 'SESSION_VARIABLES_ADMIN'"
	if f.server.mariadb {
		privileges = "'SUPER', 'BINLOG ADMIN'"
	}
	return c.query(ctx, "SELECT DISTINCT GRANTEE FROM information_schema.USER_PRIVILEGES"+
		" WHERE PRIVILEGE_TYPE IN ("+privileges+") ORDER BY 1", nil, func(v []any) error {
		f.silent = append(f.silent, catalog.AsText(v[0]))
		return nil
	})
}

// checkSilent tells who may write without a word in the binlog.
func (f *facts) checkSilent() []source.Finding {
	if len(f.silent) == 0 || !f.on("log_bin") {
		return nil
	}
	const most = 8
	users := strings.Join(f.silent[:min(most, len(f.silent))], ", ")
	if more := len(f.silent) - most; more > 0 {
		users += fmt.Sprintf(" and %d more", more)
	}
	return []source.Finding{{
		Level: source.LevelInfo,
		Text:  "these users may write past the binlog (SET sql_log_bin = 0): " + users,
		Why: "hotrow is not told of such a write: until the row is written again, or hotrow" +
			" invalidate drops them, its documents stay as they were",
	}}
}
