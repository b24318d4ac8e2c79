package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// A linksStore is where the links and the hits of a shortener are.
type linksStore struct {
	url    string
	count  func(ctx context.Context) (int64, error) // of hits
	away   func(ctx context.Context) (back func(context.Context) error, err error)
	behind []*process
}

// A linksDatabase makes one.
type linksDatabase func(ctx context.Context, on placement, dir string) (*linksStore, error)

// linksInSQLite keeps links in a file. It is away while another program holds its
// lock for writing.
func linksInSQLite(_ context.Context, _ placement, dir string) (*linksStore, error) {
	file := filepath.Join(dir, "links.db")
	shell, err := look("sqlite3")
	if err != nil {
		return nil, err
	}
	away := func(ctx context.Context) (func(context.Context) error, error) {
		cmd := exec.CommandContext(ctx, shell, "-cmd", ".timeout 10000", file)
		cmd.SysProcAttr = childAttributes()
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		_, err = fmt.Fprintln(in, "BEGIN EXCLUSIVE;")
		return func(context.Context) error {
			_, err := fmt.Fprintln(in, "ROLLBACK;")
			return errors.Join(err, in.Close(), cmd.Wait())
		}, err
	}
	return &linksStore{url: "sqlite:" + file, away: away,
		count: func(ctx context.Context) (int64, error) {
			return countBy(ctx, "sqlite3", "-cmd", ".timeout 10000", file,
				"SELECT count(*) FROM clicks WHERE kind < 2")
		}}, nil
}

// linksInMariaDB keeps links in a MariaDB of their own. It is away from when it
// is killed until it is started again.
func linksInMariaDB(ctx context.Context, on placement, dir string) (*linksStore, error) {
	// The feed follows the binlog: without one, links would be read for every hit.
	db, port, err := startMariaDB(ctx, on, dir, "--log-bin=binlog", "--binlog-format=ROW",
		"--server-id=1")
	if err != nil {
		return nil, err
	}
	shell := mariadbShell(port)
	if err := awaitMariaDB(ctx, shell); err != nil {
		db.stop()
		return nil, db.failed(err)
	}
	away := func(context.Context) (func(context.Context) error, error) {
		args := db.cmd.Args
		if err := db.cmd.Process.Kill(); err != nil {
			return nil, err
		}
		<-db.done
		return func(ctx context.Context) error {
			again, err := start("mariadb", dir, free, args...) // placed as it was
			if err != nil {
				return err
			}
			*db = *again // who stops the one stops the other
			return awaitMariaDB(ctx, shell)
		}, nil
	}
	return &linksStore{url: fmt.Sprintf("mysql://root@127.0.0.1:%d/shortcut", port), away: away,
		behind: []*process{db}, count: func(ctx context.Context) (int64, error) {
			return countBy(ctx, "mariadb", append(shell, "-e",
				"SELECT count(*) FROM clicks WHERE kind < 2", "shortcut")...)
		}}, nil
}

// mariadbShell is the client's command line but for what it is asked.
func mariadbShell(port int) []string {
	return []string{"--no-defaults", "--batch", "--skip-column-names", "--protocol=tcp",
		"--host=127.0.0.1", "--port=" + strconv.Itoa(port), "--user=root"}
}

// awayFrom and awayFor say when in a minute's load the database goes away, and
// for how long.
const (
	awayFrom = 10 * time.Second
	awayFor  = 30 * time.Second
)

// measureLinksAway offers redirects at a fixed rate; in rows whose "during" is
// "away" the database goes away meanwhile. Afterwards every redirect must be in
// it.
func measureLinksAway(ctx context.Context, w *workshop, a *attempt) ([]figure, error) {
	from, lasts := awayFrom, awayFor
	if w.opts.quick {
		from, lasts = from/20, lasts/30
	}
	broken := make(chan error, 1)
	if a.row.During != "away" {
		broken <- nil
	} else {
		go func() {
			wait(ctx, w.opts.warmup+from)
			back, err := a.peer.links.away(ctx)
			if err == nil {
				wait(ctx, lasts)
				err = back(ctx)
			}
			broken <- err
		}()
	}
	figures, err := measureLinksRate(ctx, w, a)
	return figures, errors.Join(err, <-broken)
}
