package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/source"
)

// benchCode is the link that is followed: that of the benchmark of
// github.com/davidkroell/shortcut, as is its target.
const (
	benchCode   = "/asdf"
	benchTarget = "https://davidkroell.github.io"
)

// A linksBench is a server for one row, in a process of its own.
type linksBench struct {
	cmd   *benchLinksCmd
	env   []string
	row   linksRow
	dir   string
	child *selfChild // nil: none runs
	url   string     // where links are
	ops   string
	db    source.Store
	close func() error // of db
	first int64        // rows that were there before
}

// bench makes the server's directory, and finds out what the database has.
func (c *benchLinksCmd) bench(p *program, dir string, row linksRow) (*linksBench, error) {
	b := &linksBench{cmd: c, env: p.env, row: row, dir: dir}
	return b, os.MkdirAll(dir, 0o700)
}

// records reports whether the row's hits are recorded.
func (b *linksBench) records() bool { return b.row.log != "record: false" }

// database returns the URL of the row's database.
func (b *linksBench) database() string {
	if b.cmd.Database != "" {
		return b.cmd.Database
	}
	return "sqlite:" + filepath.Join(b.dir, "links.db")
}

// start starts the server and waits until it redirects.
func (b *linksBench) start(ctx context.Context, log string) (err error) {
	file, said := filepath.Join(b.dir, "hotrow.yaml"), filepath.Join(b.dir, "log")
	text := fmt.Sprintf("version: 1\nhttp: {listen: 'off'}\nwire: {listen: 'off'}\n"+
		"ops: {listen: '127.0.0.1:0'}\nlinks:\n  listen: 127.0.0.1:0\n  database: '%s'\n"+
		"  log: {dir: '%s', max: 16GiB, %s}\n", b.database(), filepath.Join(b.dir, "clicks"), log)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	b.child, err = startSelf(ctx, b.env, said, []string{"serve", "-c", file},
		"the server does not redirect", func(text []byte) error { return b.ready(ctx, text) })
	if err != nil {
		b.url, b.ops = "", ""
	}
	return err
}

// listening is how a server says where it is.
var listening = regexp.MustCompile(`proto=(links|ops) addr=(\S+)`)

// ready returns nil when the server has the link, which is made if need be.
func (b *linksBench) ready(ctx context.Context, said []byte) error {
	for _, m := range listening.FindAllStringSubmatch(string(said), -1) {
		if m[1] == "links" {
			b.url = "http://" + m[2]
		} else {
			b.ops = "http://" + m[2]
		}
	}
	if b.url == "" || b.ops == "" {
		return errors.New("no answer")
	}
	if bytes.Contains(said, []byte(linksAway)) { // it would wait for as long as we do
		return fmt.Errorf("%w: the database is not reached", errHopeless)
	}
	return b.prepare(ctx)
}

// prepare makes the link, and opens the database to count rows in it.
func (b *linksBench) prepare(ctx context.Context) error {
	body := fmt.Sprintf(`{"code":%q,"url":%q,"status":301}`, benchCode[1:], benchTarget)
	resp, err := http.Post(b.url+"/api/v1/links", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusConflict {
		err := fmt.Errorf("POST /api/v1/links: %s", resp.Status)
		if resp.StatusCode != http.StatusServiceUnavailable {
			err = fmt.Errorf("%w: %w", errHopeless, err)
		}
		return err
	}
	if b.db != nil || !b.records() {
		return nil
	}
	cfg, _, err := config.FromURL(b.database(), nil)
	if err != nil {
		return err
	}
	db, err := openSource(context.WithoutCancel(ctx), cfg.Sources["main"], true, false,
		slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("%w: %w", errHopeless, err)
	}
	store, ok := db.(source.Store)
	if !ok {
		return errors.Join(fmt.Errorf("%s keeps no tables", b.cmd.Database), db.Close())
	}
	b.db, b.close = store, db.Close
	b.first, err = b.count(ctx)
	return err
}

// count returns how many clicks the database has.
func (b *linksBench) count(ctx context.Context) (n int64, err error) {
	err = b.db.Query(ctx, "SELECT count(*) FROM clicks", nil,
		func(r source.StoreRow) error { n = r.Int(0); return nil })
	if source.ClassOf(err) == source.Missing {
		err = nil // the first batch makes the table of its month
	}
	return n - b.first, err
}

// drained waits until the database has so many clicks, and returns how many it
// has. When none has come for a while there will be no more.
func (b *linksBench) drained(ctx context.Context, want int64) (int64, error) {
	last, since := int64(-1), time.Now()
	for {
		n, err := b.count(ctx)
		if err != nil || n >= want {
			return n, err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) > benchTimeout/4 {
			return n, nil
		}
		select {
		case <-ctx.Done():
			return n, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// sample returns the value of a series in the text of /metrics, where a million and more
// is 1e+06; one that is not there is 0.
func sample(text, name string) (int64, error) {
	for line := range strings.SplitSeq(text, "\n") {
		if value, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.ParseFloat(value, 64)
			return int64(n), err
		}
	}
	return 0, nil
}

// redirects returns how many redirects the server says it has sent, once no more
// are under way.
func (b *linksBench) redirects(ctx context.Context) (int64, error) {
	const name = `hotrow_links_requests_total{result="redirect"} `
	const often = 4 // a machine that is busy may let a loop wait between two looks
	for last, same := int64(-1), 0; ; {
		resp, err := http.Get(b.ops + "/metrics")
		if err != nil {
			return 0, err
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return 0, err
		}
		n, err := sample(string(text), name)
		if err != nil {
			return 0, err
		}
		if n != last {
			last, same = n, 0
		}
		if same++; same > often {
			return n, nil
		}
		select {
		case <-ctx.Done():
			return n, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// kill ends the server as kill -9 does.
func (b *linksBench) kill() {
	if b.child != nil {
		b.child.kill()
		b.child, b.url, b.ops = nil, "", ""
	}
}

// stop ends the server: gently where the database is to keep what it has.
func (b *linksBench) stop(gently bool) error {
	if b.child != nil && gently && b.child.Signal(os.Interrupt) == nil {
		b.child.wait()
		b.child = nil
	}
	b.kill()
	if b.close != nil {
		return b.close()
	}
	return nil
}

// printJSON prints a document with line breaks.
func printJSON(to io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = to.Write(append(text, '\n'))
	return err
}
