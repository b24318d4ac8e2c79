package servers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/internal/demo"
)

// A cluster is a PostgreSQL server with the demo's data.
type cluster struct {
	server *harness.Process
	bin    string
	port   int
}

// url is that of its database.
func (c *cluster) url() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", c.port)
}

// startPostgres makes a server and fills it with the demo's data.
func startPostgres(ctx context.Context, w *harness.Fixture, dir string) (*cluster, error) {
	c, err := newCluster(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := c.fill(ctx, w.Opts.Keys); err != nil {
		c.server.Stop()
		return nil, c.server.Failed(err)
	}
	return c, nil
}

// newCluster makes a server, and starts it.
func newCluster(ctx context.Context, dir string) (*cluster, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "postgres")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	become, err := databaseUser(data)
	if err != nil {
		return nil, err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-A", "trust",
		"-U", "postgres", "-E", "UTF8", "--no-locale", "-N")
	initdb.SysProcAttr = harness.ChildAttributes()
	become(initdb)
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	c := &cluster{bin: bin}
	if c.port, err = harness.FreePort(); err != nil {
		return nil, err
	}
	c.server, err = harness.StartWith("postgres", dir, harness.Free, become, filepath.Join(bin,
		"postgres"),
		"-D", data, "-p", strconv.Itoa(c.port), "-h", "127.0.0.1", "-k", "",
		"-c", "wal_level=logical", "-c", "shared_buffers=512MB", "-c", "max_connections=200")
	if err != nil {
		return nil, err
	}
	return c, nil
}

// postgresBin returns the directory of PostgreSQL's programs.
func postgresBin() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err == nil && len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := harness.Look("initdb")
	return filepath.Dir(path), err
}

// databaseUser returns what makes a command one of PostgreSQL's: it refuses to
// run as root.
func databaseUser(data string) (func(*exec.Cmd), error) {
	if os.Getuid() != 0 {
		return func(*exec.Cmd) {}, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	if err := os.Chown(data, int(uid), int(gid)); err != nil {
		return nil, err
	}
	return func(cmd *exec.Cmd) {
		harness.AsUser(cmd.SysProcAttr, uint32(uid), uint32(gid))
		cmd.Dir = data
	}, nil
}

// wholeRows has the feed tell of an employee's old department, too: a document that
// holds rows of another table is kept on disk only if it does.
const wholeRows = "ALTER TABLE emp REPLICA IDENTITY FULL; "

// perScript is how many departments one call of psql writes.
const perScript = 5000

// fill waits for the server and makes the data.
func (c *cluster) fill(ctx context.Context, depts int) error {
	if err := c.await(ctx); err != nil {
		return err
	}
	if err := c.psql(ctx, strings.NewReader(demo.PostgresSQL())); err != nil {
		return err
	}
	for done := 0; done < depts; done += perScript {
		statements := demo.PostgresScaleSQL(done, min(perScript, depts-done))
		script := strings.NewReader(strings.Join(statements, ";\n") + ";\n")
		if err := c.psql(ctx, script); err != nil {
			return err
		}
	}
	return c.psql(ctx, strings.NewReader(wholeRows+"VACUUM ANALYZE; CHECKPOINT;"))
}

// await waits until the server takes connections.
func (c *cluster) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, harness.Patience)
	defer cancel()
	for {
		err := harness.Command(ctx, "", filepath.Join(c.bin, "pg_isready"), "-U", "postgres",
			"-h", "127.0.0.1", "-p", strconv.Itoa(c.port))
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// psql runs a script.
func (c *cluster) psql(ctx context.Context, script io.Reader) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "psql"), "-X", "-q", "-v",
		"ON_ERROR_STOP=1", c.url())
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = script, io.Discard, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("psql: %w: %s", err, out.Bytes())
	}
	return nil
}

// startHotrowPostgres starts hotrow over PostgreSQL.
func startHotrowPostgres(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	return hotrowOverPostgres(ctx, w, on, dir, flavour{})
}

// startHotrowDisk starts hotrow over PostgreSQL with next to no memory, so that
// documents come from its disk tier.
func startHotrowDisk(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	return hotrowOverPostgres(ctx, w, on, dir, flavour{
		cache: fmt.Sprintf("memory: 1MiB, disk: {path: %q}", filepath.Join(dir, "documents.db")),
	})
}

// hotrowOverPostgres starts hotrow over a PostgreSQL of its own.
func hotrowOverPostgres(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string, f flavour,
) (*harness.Server, error) {
	db, err := startPostgres(ctx, w, dir)
	if err != nil {
		return nil, err
	}
	r, err := hotrowOver(ctx, w, on, dir, "hotrow-postgres", db.url(), f)
	return overDatabase(r, db, err)
}

// startDirect starts the service that asks PostgreSQL each time.
func startDirect(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	db, err := startPostgres(ctx, w, dir)
	if err != nil {
		return nil, err
	}
	address, _, err := harness.Loopback()
	if err != nil {
		return overDatabase(nil, db, err)
	}
	p, err := harness.Start("postgres-direct", dir, on, w.Programs+"postgres", "-listen", address,
		"-url",
		db.url())
	if err != nil {
		return overDatabase(nil, db, err)
	}
	r, err := harness.NewServer(ctx, p, address, w.Opts.Keys, keyed)
	return overDatabase(r, db, err)
}

// overDatabase makes a server responsible for its database.
func overDatabase(r *harness.Server, db *cluster, err error) (*harness.Server, error) {
	if err != nil {
		db.server.Stop()
		return nil, err
	}
	r.Database, r.SQL = db.url(), db.psql
	r.Behind = append(r.Behind, db.server)
	return r, nil
}
