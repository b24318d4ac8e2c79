package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
)

// startShortcut starts the rebuilt original (peers/shortcut) over a MariaDB of
// its own, with that server's defaults: each insert is on disk before the answer.
func startShortcut(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	db, port, err := startMariaDB(ctx, on, dir)
	if err != nil {
		return nil, err
	}
	shell := mariadbShell(port)
	r, err := shortcutOver(ctx, w, on, dir, port, shell)
	if err != nil {
		db.Stop()
		return nil, db.Failed(err)
	}
	r.Behind = append(r.Behind, db)
	r.Links = &harness.Shortener{Count: func(ctx context.Context) (int64, error) {
		return countBy(ctx, "mariadb", append(shell, "-e", "SELECT count(*) FROM ShortcutLog",
			"shortcut")...)
	}}
	return r, nil
}

// shortcutOver starts the rebuilt original once its database answers.
func shortcutOver(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string, port int,
	shell []string,
) (*harness.Server, error) {
	if err := awaitMariaDB(ctx, shell); err != nil {
		return nil, err
	}
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	p, err := harness.Start("shortcut-original", dir, on, w.Programs+"shortcut", "-listen", address,
		"-database", fmt.Sprintf("root@tcp(127.0.0.1:%d)/shortcut", port))
	if err != nil {
		return nil, err
	}
	return newRedirecting(ctx, p, address)
}

// startMariaDB makes an empty server and starts it, with further settings.
func startMariaDB(
	ctx context.Context, on harness.Placement, dir string, settings ...string,
) (*harness.Process, int, error) {
	server, err := harness.Look("mariadbd")
	if err != nil {
		return nil, 0, err
	}
	install, err := harness.Look("mariadb-install-db")
	if err != nil {
		return nil, 0, err
	}
	data := filepath.Join(dir, "mariadb")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, 0, err
	}
	me, err := user.Current()
	if err != nil {
		return nil, 0, err
	}
	err = harness.Command(ctx, "", install, "--no-defaults",
		"--auth-root-authentication-method=normal",
		"--skip-test-db", "--datadir="+data, "--user="+me.Username)
	if err != nil {
		return nil, 0, err
	}
	port, err := harness.FreePort()
	if err != nil {
		return nil, 0, err
	}
	args := []string{server, "--no-defaults", "--datadir=" + data, "--user=" + me.Username,
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port),
		"--socket=" + filepath.Join(dir, "mariadb.sock"),
		"--pid-file=" + filepath.Join(dir, "mariadb.pid")}
	p, err := harness.Start("mariadb", dir, on, append(args, settings...)...)
	return p, port, err
}

// awaitMariaDB makes the database as soon as the server answers.
func awaitMariaDB(ctx context.Context, shell []string) error {
	program, err := harness.Look("mariadb")
	if err != nil {
		return err
	}
	var out []byte
	ctx, cancel := context.WithTimeout(ctx, harness.Patience)
	defer cancel()
	for ctx.Err() == nil {
		out, err = exec.CommandContext(ctx, program, append(shell, "-e",
			"CREATE DATABASE IF NOT EXISTS shortcut CHARACTER SET utf8mb4")...).CombinedOutput()
		if err == nil {
			return nil
		}
		harness.Wait(ctx, 50*time.Millisecond)
	}
	return fmt.Errorf("mariadb: %w: %s", err, out)
}

// mariadbShell is the client's command line but for what it is asked.
func mariadbShell(port int) []string {
	return []string{"--no-defaults", "--batch", "--skip-column-names", "--protocol=tcp",
		"--host=127.0.0.1", "--port=" + strconv.Itoa(port), "--user=root"}
}
