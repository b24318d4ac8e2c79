package binlog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// Applying is what a server says of the changes of other servers that it applies: as a
// replica, by whatever connection or channel, or as a member of a Galera cluster. Its own
// log, which is all that a feed follows, has them only if it is told to write them there.
//
// The doctor and the feed ask by ReadApplying, and what they find is told by Unseen. A
// server can be made a replica at any time, so every fence asks again.
type Applying struct {
	Logs     bool // what it applies is in its own log (log_slave_updates)
	Triggers bool // but what triggers make of that is not (slave_run_triggers_for_rbr=YES)
	Replica  bool // it applies the changes of another server now
	Cluster  bool // it is a member of a Galera cluster

	// Past changes whenever replication has been started or has applied something, where
	// Logs is false: it tells of a replica that was one between two looks.
	Past string

	mariadb bool
}

// ReadApplying asks a server. Any user may ask MariaDB; MySQL wants REPLICATION CLIENT, as
// for the end of its log.
func ReadApplying(ctx context.Context, c catalog.Conn, mariadb bool) (Applying, error) {
	a := Applying{mariadb: mariadb}
	read := a.readMySQL
	if mariadb {
		read = a.readMariaDB
	}
	if err := read(ctx, c); err != nil {
		return a, fmt.Errorf("ask what the server applies of other servers: %w", err)
	}
	return a, nil
}

// complete reports whether the server's log has all that it applies.
func (a *Applying) complete() bool { return a.Logs && !a.Triggers }

// readMariaDB asks MariaDB. Slaves_running counts all of its connections.
func (a *Applying) readMariaDB(ctx context.Context, c catalog.Conn) error {
	err := c.Query(ctx, "SELECT @@GLOBAL.log_slave_updates, @@GLOBAL.slave_run_triggers_for_rbr,"+
		" @@GLOBAL.gtid_slave_pos", nil, func(v []any) error {
		a.Logs = catalog.AsText(v[0]) == "1"
		a.Triggers = strings.EqualFold(catalog.AsText(v[1]), "YES")
		a.Past = catalog.AsText(v[2])
		return nil
	})
	if err != nil || a.complete() {
		a.Past = ""
		return err
	}
	return c.Query(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Slaves_running',"+
		" 'Com_start_slave', 'Com_start_all_slaves', 'wsrep_connected')", nil,
		func(v []any) error {
			switch name, value := catalog.AsText(v[0]), catalog.AsText(v[1]); name {
			case "Slaves_running":
				a.Replica = value != "0"
			case "wsrep_connected":
				a.Cluster = value == "ON"
			default:
				a.Past += " " + value
			}
			return nil
		})
}

// sqlRunning is the place of Replica_SQL_Running among the columns of the status, which
// has a row for each channel.
const sqlRunning = 11

// readMySQL asks MySQL, where group replication cannot be without log_replica_updates.
func (a *Applying) readMySQL(ctx context.Context, c catalog.Conn) error {
	err := c.Query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_replica_updates',"+
		" 'log_slave_updates')", nil, func(v []any) error {
		a.Logs = a.Logs || catalog.AsText(v[1]) == "ON"
		return nil
	})
	if err != nil || a.complete() {
		return err
	}
	status := func(statement string) error {
		return c.Query(ctx, statement, nil, func(v []any) error {
			a.Replica = a.Replica || len(v) > sqlRunning && catalog.AsText(v[sqlRunning]) != "No"
			return nil
		})
	}
	err = status("SHOW REPLICA STATUS")
	var e *driver.MySQLError
	if errors.As(err, &e) && e.Number == errSyntax { // before 8.0.22
		err = status("SHOW SLAVE STATUS")
	}
	if err != nil {
		return err
	}
	return c.Query(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_replica_start',"+
		" 'Com_slave_start')", nil, func(v []any) error {
		a.Past += " " + catalog.AsText(v[1])
		return nil
	})
}

// Unseen says which changes the server makes that its log does not have, and what would
// mend that; "": there are none now.
func (a *Applying) Unseen() (what, mend string) {
	name := "log_slave_updates"
	if !a.mariadb {
		name = "log_replica_updates"
	}
	const noLog = "hotrow follows the server's own binlog, so nothing is kept in memory; "
	mend = noLog + "put " + name + "=ON under [mysqld] in the server's option file and restart" +
		" it, or point the URL at "
	switch {
	case a.complete() || !a.Replica && !a.Cluster:
		return "", ""
	case a.Logs && a.Replica:
		return "the server is a replica, and what its triggers make of the changes that it" +
				" applies is not in its binlog (slave_run_triggers_for_rbr is YES, it must be" +
				" LOGGING or NO)",
			noLog + "SET GLOBAL slave_run_triggers_for_rbr = LOGGING, or NO, while replication" +
				" is stopped"
	case a.Logs:
		return "", ""
	case a.Replica:
		return "the server is a replica, and the changes that it applies are not in its binlog (" +
			name + " is OFF, it must be ON)", mend + "the primary"
	}
	return "the server is a member of a Galera cluster, and what other members commit is not in" +
		" its binlog (" + name + " is OFF, it must be ON)", mend + "a member that has it"
}

// Err returns the error of a feed that goes on while the server says what a says, and said
// what before says when the feed began; nil: the feed is told of everything.
func (a *Applying) Err(before *Applying) error {
	if what, _ := a.Unseen(); what != "" {
		return fmt.Errorf("%w: %s", source.ErrUnseen, what)
	}
	if a.Past != before.Past && !a.complete() || a.complete() != before.complete() {
		return fmt.Errorf("%w: the server has been a replica for a moment, and its binlog may"+
			" lack what it has applied", source.ErrUnseen)
	}
	return nil
}
