package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// readRights finds out what the user may do with the tables that are watched, of which found
// are those that are there. The catalogue says which columns may be read and written, however
// that was granted: by roles, on the database, on everything. What it does not say, the server
// is asked table by table.
func (f *facts) readRights(
	ctx context.Context, c *conn, tables []source.Watched, names []catalog.Name,
	found []*catalog.Table,
) error {
	var written []catalog.Name
	for i, w := range tables {
		if w.Writes && found[i] != nil {
			written = append(written, names[i])
		}
	}
	deletes, err := f.mayDelete(ctx, c, written)
	if err != nil {
		return err
	}
	for i, w := range tables {
		k := knock{f: f, c: c, name: names[i], found: found[i], deletes: deletes[names[i]]}
		readable, err := k.read(ctx)
		if err == nil && w.Writes {
			f.rights.writes = true
			err = k.write(ctx, readable)
		}
		switch {
		case err != nil:
			return err
		case !readable:
		case found[i] == nil:
			f.missing = append(f.missing, w.Table)
		default:
			f.tables = append(f.tables, found[i])
		}
	}
	return nil
}

// deletesAtOnce is of how many tables one statement deletes: a join has at most 61.
const deletesAtOnce = 50

// mayDelete returns those of the tables from which the user may delete, but for what it finds
// out about no table of a statement.
func (f *facts) mayDelete(
	ctx context.Context, c *conn, names []catalog.Name,
) (map[catalog.Name]bool, error) {
	may := make(map[catalog.Name]bool)
	for part := range slices.Chunk(names, deletesAtOnce) {
		aliases, from := make([]string, len(part)), make([]string, len(part))
		for i, name := range part {
			aliases[i] = fmt.Sprintf("t%d", i)
			from[i] = quoteTable(name.Schema, name.Table) + " AS " + aliases[i]
		}
		err := c.query(ctx, f.server.explain()+"DELETE "+strings.Join(aliases, ", ")+" FROM "+
			strings.Join(from, " JOIN ")+" WHERE 1 = 0", nil, func([]any) error { return nil })
		var e *driver.MySQLError
		if err != nil && !errors.As(err, &e) {
			return nil, err
		}
		for _, name := range part {
			may[name] = err == nil
		}
	}
	return may, nil
}

// A knock finds out what the user may do with one table.
type knock struct {
	f       *facts
	c       *conn
	name    catalog.Name
	found   *catalog.Table // nil: it is not there, or may not be seen
	deletes bool           // it may be deleted from
}

// may reports whether the user has a privilege, and notes if not. If the catalogue does not
// show it, the server is to plan a statement, which runs nothing.
func (k *knock) may(ctx context.Context, privilege, sql string) (bool, error) {
	if k.found != nil && k.found.May(privilege) || k.deletes && privilege == "DELETE" {
		return true, nil
	}
	err := k.c.query(ctx, k.f.server.explain()+sql, nil, func([]any) error { return nil })
	var e *driver.MySQLError
	switch {
	case denied(err):
		k.lacks(privilege)
		return false, nil
	case err == nil, errors.As(err, &e): // what else stands against it is found elsewhere
		return true, nil
	}
	return false, err
}

// lacks notes that the user has not got a privilege.
func (k *knock) lacks(privilege string) {
	k.f.rights.lacks = append(k.f.rights.lacks, lack{privilege, k.name.Schema, k.name.Table})
}

// table returns the table's name for SQL.
func (k *knock) table() string { return quoteTable(k.name.Schema, k.name.Table) }

// read reports whether the table can be seen.
func (k *knock) read(ctx context.Context) (bool, error) {
	return k.may(ctx, "SELECT", "SELECT 1 FROM "+k.table()+" WHERE 1 = 0")
}

// write finds out whether rows of the table, which may be readable, can be written.
func (k *knock) write(ctx context.Context, readable bool) error {
	if _, err := k.may(ctx, "INSERT", "INSERT INTO "+k.table()+" () VALUES ()"); err != nil {
		return err
	}
	if _, err := k.may(ctx, "DELETE", "DELETE FROM "+k.table()+" WHERE 1 = 0"); err != nil {
		return err
	}
	if readable && k.found == nil { // what is not there has no columns either
		return nil
	}
	column := "" // the server wants to know one
	if k.found != nil {
		at := slices.IndexFunc(k.found.Cols, func(c catalog.Column) bool { return !c.Generated })
		if at >= 0 {
			column = quote(k.found.Cols[at].Name)
		}
	}
	if column == "" { // who may see none may do nothing
		k.lacks("UPDATE")
		return nil
	}
	_, err := k.may(ctx, "UPDATE", fmt.Sprintf("UPDATE %s SET %s = %s WHERE 1 = 0", k.table(),
		column, column))
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
