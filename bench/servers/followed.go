package servers

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"strings"

	"github.com/hotrow/hotrow/bench/harness"
)

// withFollowed adds databases that nodes of hotrow follow to others.
func withFollowed(all map[string]harness.Starter) map[string]harness.Starter {
	maps.Copy(all, map[string]harness.Starter{
		"postgres-followed": startPostgresFollowed, "mariadb-followed": startMariaDBFollowed,
		"mysql-followed": startMySQLFollowed,
	})
	return all
}

// followedRows are how many rows the table of such a database has.
const followedRows = 1000

// startPostgresFollowed starts PostgreSQL with one table.
func startPostgresFollowed(
	ctx context.Context, _ *harness.Fixture, _ harness.Placement, dir string,
) (*harness.Server, error) {
	c, err := newCluster(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err = c.await(ctx); err == nil {
		err = c.psql(ctx, strings.NewReader(fmt.Sprintf("CREATE TABLE kv (id int PRIMARY KEY,"+
			" v int NOT NULL, pad text NOT NULL); INSERT INTO kv SELECT i, 0, repeat('x', 100)"+
			" FROM generate_series(1, %d) i; VACUUM ANALYZE; CHECKPOINT;", followedRows)))
	}
	if err != nil {
		c.server.Stop()
		return nil, c.server.Failed(err)
	}
	return &harness.Server{Name: "PostgreSQL", Main: c.server, Database: c.url(),
		Keys: followedRows}, nil
}

// startMariaDBFollowed starts MariaDB with one table.
func startMariaDBFollowed(
	ctx context.Context, _ *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	db, port, err := startMariaDB(ctx, on, dir, "--log-bin=binlog", "--binlog-format=ROW",
		"--server-id=1", "--gtid-strict-mode=ON")
	if err != nil {
		return nil, err
	}
	return followed(ctx, "MariaDB", db, port)
}

// startMySQLFollowed starts MySQL with one table.
func startMySQLFollowed(
	ctx context.Context, _ *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	db, port, err := startMySQL(ctx, on, dir)
	if err != nil {
		return nil, err
	}
	return followed(ctx, "MySQL", db, port)
}

// followed makes the table in a MariaDB or MySQL.
func followed(
	ctx context.Context, name string, db *harness.Process, port int,
) (*harness.Server, error) {
	shell := mariadbShell(port)
	err := awaitMariaDB(ctx, shell)
	if err == nil {
		err = mariadbRuns(ctx, shell, fmt.Sprintf("CREATE DATABASE followed; USE followed;"+
			" CREATE TABLE kv (id int PRIMARY KEY, v int NOT NULL, pad text NOT NULL);"+
			" INSERT INTO kv WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s"+
			" WHERE i < %d) SELECT i, 0, repeat('x', 100) FROM s", followedRows))
	}
	if err != nil {
		db.Stop()
		return nil, db.Failed(err)
	}
	return &harness.Server{Name: name, Main: db, Keys: followedRows,
		Database: fmt.Sprintf("mysql://root@127.0.0.1:%d/followed", port)}, nil
}

// mariadbRuns has the server run statements.
func mariadbRuns(ctx context.Context, shell []string, sql string) error {
	program, err := harness.Look("mariadb")
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, program, append(shell, "-e", sql)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mariadb: %w: %s", err, out)
	}
	return nil
}
