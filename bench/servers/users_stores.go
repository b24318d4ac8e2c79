package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
)

// The users of github.com/stanaka/go-rest-api-server: 10,001 of them, in a table
// of MariaDB and, with a bar between name and mail, in memcached.
const (
	usersKeys     = 10_001
	usersDatabase = "users"

	// usersTable is the original's but for the key's collation, under which a text is
	// equal to itself alone: hotrow keeps one representation at a time of others.
	usersTable = `CREATE TABLE user (
	id varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PRIMARY KEY,
	name varchar(256) NOT NULL, mail varchar(1024) NOT NULL,
	c3 int, c4 bigint unsigned, c5 int) ENGINE=InnoDB`

	// userWithin is in the answer for user {n}, whatever its encoding.
	userWithin = "user{n}@example.org"
)

// userStores are what all of these servers have behind them.
type userStores struct {
	mariadb, memcached *harness.Process
	socket             string // of MariaDB
	cache              string // address of memcached
}

// stop ends both.
func (s *userStores) stop() {
	for _, p := range []*harness.Process{s.mariadb, s.memcached} {
		if p != nil {
			p.Stop()
		}
	}
}

// dsn is that of go-sql-driver/mysql.
func (s *userStores) dsn() string { return "root@unix(" + s.socket + ")/" + usersDatabase }

// env tells the services in Perl and Ruby where the users are.
func (s *userStores) env(cmd *exec.Cmd) {
	cmd.Env = append(os.Environ(), "USERS_SOCKET="+s.socket, "USERS_DATABASE="+usersDatabase,
		"USERS_MEMCACHED="+s.cache)
}

// startUserStores starts MariaDB and memcached and fills them.
func startUserStores(
	ctx context.Context, w *harness.Fixture, on harness.Placement,
) (_ *userStores, err error) {
	dir := filepath.Join(w.Tmp, "users")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s := &userStores{socket: filepath.Join(dir, "mariadb.sock")}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if s.memcached, s.cache, err = memcachedProcess(on, dir); err != nil {
		return nil, err
	}
	if err := fillMemcached(ctx, s.cache); err != nil {
		return nil, s.memcached.Failed(err)
	}
	// hotrow follows the binlog.
	s.mariadb, _, err = startMariaDB(ctx, on, dir, "--log-bin=binlog", "--binlog-format=ROW",
		"--server-id=1", "--gtid-strict-mode=ON")
	if err != nil {
		return nil, err
	}
	if err := fillMariaDB(ctx, s.socket); err != nil {
		return nil, s.mariadb.Failed(err)
	}
	return s, nil
}

// fillMariaDB makes the table as soon as the server answers.
func fillMariaDB(ctx context.Context, socket string) error {
	shell := []string{"--no-defaults", "--socket=" + socket, "--user=root"}
	if err := awaitMariaDB(ctx, shell); err != nil {
		return err
	}
	program, err := harness.Look("mariadb")
	if err != nil {
		return err
	}
	var sql strings.Builder
	fmt.Fprintf(&sql, "CREATE DATABASE %s; USE %[1]s; %s; INSERT INTO user VALUES ", usersDatabase,
		usersTable)
	for n := range usersKeys {
		if n > 0 {
			sql.WriteByte(',')
		}
		fmt.Fprintf(&sql, "('%d','User %[1]d','user%[1]d@example.org',0,0,0)", n)
	}
	cmd := exec.CommandContext(ctx, program, shell...)
	cmd.Stdin = strings.NewReader(sql.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb: %w: %s", err, out)
	}
	return nil
}

// fillMemcached sets every user as soon as the server answers.
func fillMemcached(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, harness.Patience)
	defer cancel()
	var conn net.Conn
	for {
		var err error
		if conn, err = new(net.Dialer).DialContext(ctx, "tcp", address); err == nil {
			break
		}
		if ctx.Err() != nil {
			return err
		}
		harness.Wait(ctx, 20*time.Millisecond)
	}
	defer func() { _ = conn.Close() }()
	var text strings.Builder
	for n := range usersKeys {
		value := fmt.Sprintf("User %d|user%[1]d@example.org", n)
		fmt.Fprintf(&text, "set %d 0 0 %d noreply\r\n%s\r\n", n, len(value), value)
	}
	text.WriteString("mn\r\n") // answered when all of it has been read
	if _, err := conn.Write([]byte(text.String())); err != nil {
		return err
	}
	said := make([]byte, 64)
	n, err := conn.Read(said)
	if err == nil && string(said[:n]) != "MN\r\n" {
		err = fmt.Errorf("memcached answers %q", said[:n])
	}
	return err
}
