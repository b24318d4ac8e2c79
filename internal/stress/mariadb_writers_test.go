package stress

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/testbed"
)

// mariaTables are worldTables in MariaDB's words.
var mariaTables = []string{
	`CREATE TABLE dept (deptno int PRIMARY KEY, value bigint NOT NULL)`,
	`CREATE TABLE emp (empno int PRIMARY KEY, value bigint NOT NULL, deptno int,
		FOREIGN KEY (deptno) REFERENCES dept (deptno))`,
	`CREATE TABLE flat (id int PRIMARY KEY, value bigint NOT NULL)`,
	`CREATE TABLE side (id int PRIMARY KEY, value bigint NOT NULL)`,
	`CREATE TABLE bulk (id int PRIMARY KEY, value bigint NOT NULL)`,
	`INSERT INTO dept SELECT seq, seq FROM seq_1_to_12`,
	`INSERT INTO emp SELECT seq, 100 + seq, seq % 10 + 1 FROM seq_1_to_60`,
	`INSERT INTO flat SELECT seq, 200 + seq FROM seq_1_to_120`,
	`INSERT INTO side SELECT seq, 400 + seq FROM seq_1_to_20`,
	`INSERT INTO bulk SELECT seq, 500 FROM seq_1_to_12000`,
}

// newMariaWorld makes the tables in the database.
func newMariaWorld(t testing.TB, conn *sql.Conn) *world {
	t.Helper()
	for _, s := range dbtest.SQLs(mariaTables...) {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return newRegisters()
}

// mariaWriters are foreign programs that change the world.
type mariaWriters struct {
	t     testing.TB
	world *world
	url   string

	commits, conflicts, held, rotations, through atomic.Int64
}

// start runs a writer until ctx ends.
func (ws *mariaWriters) start(ctx context.Context, wg *sync.WaitGroup, wait time.Duration) {
	conn := testbed.DialMariaDB(ws.t, ws.url)
	wg.Go(func() {
		for testbed.Pause(ctx, wait) {
			if err := ws.run(conn, ws.world.job()); err != nil {
				ws.t.Errorf("writer: %v", err)
				return
			}
		}
	})
}

// bulk changes all rows of one table every now and then.
func (ws *mariaWriters) bulk(ctx context.Context, wg *sync.WaitGroup, every time.Duration) {
	conn := testbed.DialMariaDB(ws.t, ws.url)
	wg.Go(func() {
		for testbed.Pause(ctx, every) {
			if err := ws.run(conn, ws.world.bulkJob()); err != nil {
				ws.t.Errorf("bulk writer: %v", err)
				return
			}
		}
	})
}

// run makes one transaction of a job, and a definition of one that truncates.
func (ws *mariaWriters) run(conn *sql.Conn, j job) error {
	ctx, cancel := context.WithTimeout(context.Background(), testbed.Patience)
	defer cancel()
	defer func() { _, _ = conn.ExecContext(ctx, "DO RELEASE_ALL_LOCKS()") }()
	for _, l := range j.sorted() {
		var took sql.NullInt64
		err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", strconv.FormatInt(l, 10)).Scan(&took)
		if err != nil || took.Int64 != 1 {
			return err
		}
	}
	stmts := j.plan()
	if strings.HasPrefix(stmts[0].sql, "TRUNCATE") {
		return ws.commit(ctx, conn, stmts[0].sql, stmts[0].changes)
	}
	var changes []Change
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, s := range stmts {
		text, args := mariaStatement(s)
		if _, err := conn.ExecContext(ctx, text, args...); err != nil {
			var refused *driver.MySQLError
			if !errors.As(err, &refused) || refused.Number != 1213 && refused.Number != 1205 {
				return fmt.Errorf("%s: %w", text, err)
			}
			ws.conflicts.Add(1)
			_, err = conn.ExecContext(ctx, "ROLLBACK")
			return err
		}
		changes = append(changes, s.changes...)
	}
	if rand.IntN(20) == 0 {
		_, err := conn.ExecContext(ctx, "ROLLBACK")
		return err
	}
	return ws.commit(ctx, conn, "COMMIT", changes)
}

// mariaStatement returns a statement whose parameters stand in their order.
func mariaStatement(s stmt) (text string, args []any) {
	parts := strings.Split(s.sql, "$")
	text = parts[0]
	for _, p := range parts[1:] {
		args = append(args, s.args[p[0]-'1'])
		text += "?" + p[1:]
	}
	return text, args
}

// commit commits and reads a position of the log that is behind the commit.
func (ws *mariaWriters) commit(
	ctx context.Context, conn *sql.Conn, sql string, changes []Change,
) error {
	c := ws.world.history.Begin(changes)
	if _, err := conn.ExecContext(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	var file, do, ignore, gtids string
	var offset uint64
	columns := []any{&file, &offset, &do, &ignore}
	if dbtest.IsMySQL() {
		columns = append(columns, &gtids)
	}
	err := conn.QueryRowContext(ctx, dbtest.SQL("SHOW MASTER STATUS")[0]).Scan(columns...)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(file[strings.LastIndexByte(file, '.')+1:], 10, 24)
	if took := c.Done(n<<40 | offset); took > 100*time.Millisecond {
		ws.held.Add(1)
	}
	ws.commits.Add(1)
	return err
}

// haunt makes commits wait for a replica that does not exist, rotates the log and
// defines a table that nobody reads, again and again.
func (ws *mariaWriters) haunt(ctx context.Context, wg *sync.WaitGroup) {
	conn := testbed.DialMariaDB(ws.t, ws.url)
	wg.Go(func() {
		for testbed.Pause(ctx, time.Duration(20+rand.IntN(60))*time.Millisecond) {
			what := "SET GLOBAL rpl_semi_sync_master_enabled = " + []string{"ON", "OFF"}[rand.IntN(2)]
			switch rand.IntN(10) {
			case 0:
				what = "FLUSH BINARY LOGS"
				ws.rotations.Add(1)
			case 1:
				what = "CREATE OR REPLACE TABLE other (id int PRIMARY KEY)"
			}
			for _, sql := range dbtest.SQL(what) {
				if _, err := conn.ExecContext(context.Background(), sql); err != nil {
					ws.t.Errorf("%s: %v", sql, err)
					return
				}
			}
		}
		for _, sql := range dbtest.SQL("SET GLOBAL rpl_semi_sync_master_enabled = OFF") {
			_, _ = conn.ExecContext(context.Background(), sql)
		}
	})
}

// own writes through hotrow itself and reads back what it wrote.
func (ws *mariaWriters) own(
	ctx context.Context, wg *sync.WaitGroup, s *stand, wait time.Duration,
) {
	locks := testbed.DialMariaDB(ws.t, ws.url)
	roads := []road{s.road(0), s.road(1 + 2*rand.IntN(3))}
	wg.Go(func() {
		for testbed.Pause(ctx, wait) {
			k := 1 + rand.IntN(emps)
			lock, write := lockEmp+k, ws.world.ownEmp
			if rand.IntN(2) == 0 {
				lock, write = lockFlat+k, ws.world.ownFlat
			}
			bg := context.Background()
			if _, err := locks.ExecContext(bg, "DO GET_LOCK(?, 30)", strconv.Itoa(lock)); err != nil {
				ws.t.Errorf("lock for a write through hotrow: %v", err)
				return
			}
			err := write(roads[rand.IntN(len(roads))], k)
			if _, unlock := locks.ExecContext(bg, "DO RELEASE_ALL_LOCKS()"); unlock != nil {
				err = unlock
			}
			if err != nil {
				ws.t.Errorf("write through hotrow: %v", err)
				return
			}
			ws.through.Add(1)
		}
	})
}
