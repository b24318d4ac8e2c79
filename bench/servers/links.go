package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
)

// The link that all peers redirect: that of the benchmark of
// github.com/davidkroell/shortcut.
const (
	linkPath   = "/asdf"
	linkTarget = "https://davidkroell.github.io"
)

// withLinks adds the servers of the scenarios about links.
func withLinks(all map[string]harness.Starter) map[string]harness.Starter {
	maps.Copy(all, map[string]harness.Starter{
		"links":             linksOf("record: true"),
		"links-held":        linksOf("record: true, drain: false"),
		"links-off":         linksOf("record: false"),
		"redirect-floor":    startRedirectFloor,
		"redirect-nginx":    startRedirectNginx,
		"redirect-nethttp":  startRedirectPeer,
		"shortcut-original": startShortcut,
	})
	return all
}

// redirected asks for a link once, and returns an error when it leads elsewhere.
func redirected(url string) error {
	client := http.Client{Timeout: 5 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.Header.Get("Location") != linkTarget {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return nil
}

// awaitRedirect waits until a server redirects.
func awaitRedirect(ctx context.Context, p *harness.Process, url string) error {
	ctx, cancel := context.WithTimeout(ctx, harness.Patience)
	defer cancel()
	last := errors.New("no answer")
	for ctx.Err() == nil {
		if last = redirected(url); last == nil {
			return nil
		}
		select {
		case err := <-p.Done:
			p.Done <- err
			return p.Failed(fmt.Errorf("it has ended: %v", err))
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return p.Failed(last)
}

// newRedirecting waits until a server redirects.
func newRedirecting(
	ctx context.Context, p *harness.Process, address string,
) (*harness.Server, error) {
	r := &harness.Server{Name: p.Name, Base: "http://" + address, Main: p, Keys: 1}
	r.URL = r.Base + linkPath
	if err := awaitRedirect(ctx, p, r.URL); err != nil {
		p.Stop()
		return nil, err
	}
	return r, nil
}

// startRedirectFloor answers with a constant redirect.
func startRedirectFloor(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	address, port, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "redirect")
	date := time.Now().UTC().Format(http.TimeFormat)
	answer := "HTTP/1.1 301 Moved Permanently\r\nDate: " + date +
		"\r\nLocation: " + linkTarget + "\r\nX-Robots-Tag: noindex\r\n" +
		"Cache-Control: private, max-age=90\r\nContent-Length: 0\r\n\r\n"
	if err := os.WriteFile(file, []byte(answer), 0o644); err != nil {
		return nil, err
	}
	p, err := harness.Start("redirect-floor", dir, on, w.Floor, strconv.Itoa(port), file, "raw")
	if err != nil {
		return nil, err
	}
	return newRedirecting(ctx, p, address)
}

// startRedirectPeer redirects by net/http and a map.
func startRedirectPeer(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	p, err := harness.Start("redirect-nethttp", dir, on, w.Programs+"nethttp", "-listen", address,
		"-mode", "redirect")
	if err != nil {
		return nil, err
	}
	return newRedirecting(ctx, p, address)
}

// startRedirectNginx redirects by nginx's return.
func startRedirectNginx(
	ctx context.Context, _ *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	p, address, err := nginxProcess("redirect-nginx", on, dir, func(listen string) string {
		return fmt.Sprintf("server { listen %s; location / { return 301 %s; } }", listen,
			linkTarget)
	})
	if err != nil {
		return nil, err
	}
	return newRedirecting(ctx, p, address)
}

// linksOf makes the starter of hotrow's shortener over SQLite; log is what its click
// log is told.
func linksOf(log string) harness.Starter {
	return func(
		ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
	) (*harness.Server, error) {
		return startLinks(ctx, w, on, dir, log)
	}
}

// startLinks starts the shortener.
func startLinks(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir, log string,
) (*harness.Server, error) {
	db := filepath.Join(dir, "links.db")
	if _, err := harness.Look("sqlite3"); err != nil {
		return nil, err
	}
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	ops, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "links.yaml")
	write := func(log string) error {
		text := fmt.Sprintf("version: 1\nhttp: {listen: 'off'}\nwire: {listen: 'off'}\n"+
			"ops: {listen: %q}\ncache: {memory: 2GiB}\nlinks:\n  listen: %q\n  database: %q\n"+
			"  log: {dir: %q, max: 16GiB, %s}\n",
			ops, address, "sqlite:"+db, filepath.Join(dir, "clicks"), log)
		return os.WriteFile(file, []byte(text), 0o600)
	}
	if err := write(log); err != nil {
		return nil, err
	}
	p, err := harness.Start("links", dir, on, w.Hotrow, "serve", "-c", file)
	if err != nil {
		return nil, err
	}
	if err := addLink(ctx, address); err != nil {
		p.Stop()
		return nil, p.Failed(err)
	}
	r, err := newRedirecting(ctx, p, address)
	if err != nil {
		return nil, err
	}
	r.Ops, r.Links = "http://"+ops, &harness.Shortener{Count: func(ctx context.Context) (int64,
		error) {
		return countBy(ctx, "sqlite3", "-cmd", ".timeout 10000", db,
			"SELECT count(*) FROM clicks WHERE kind < 2")
	}}
	switch {
	case strings.Contains(log, "drain: false"):
		r.Links.Drain = func(ctx context.Context, on bool) error {
			if err := write("record: true, drain: " + strconv.FormatBool(on)); err != nil {
				return err
			}
			return reloaded(ctx, p)
		}
	case strings.Contains(log, "record: false"):
		r.Links.Count = nil
	}
	return r, nil
}

// addLink makes the link by the API, once that answers.
func addLink(ctx context.Context, address string) error {
	body := fmt.Sprintf(`{"code":%q,"url":%q,"status":301}`, linkPath[1:], linkTarget)
	last := errors.New("no answer")
	ctx, cancel := context.WithTimeout(ctx, harness.Patience)
	defer cancel()
	for ctx.Err() == nil {
		resp, err := http.Post("http://"+address+"/api/v1/links", "application/json",
			strings.NewReader(body))
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusConflict {
				return nil
			}
			err = errors.New(resp.Status)
		}
		last = err
		harness.Wait(ctx, 20*time.Millisecond)
	}
	return fmt.Errorf("make %s: %w", linkPath, last)
}

// countBy returns the number that a database's shell prints.
func countBy(ctx context.Context, shell string, args ...string) (int64, error) {
	program, err := harness.Look(shell)
	if err != nil {
		return 0, err
	}
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if bytes.Contains(out, []byte("no such table: clicks")) ||
		bytes.Contains(out, []byte("clicks' doesn't exist")) {
		return 0, nil // the first batch makes the table of its month
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", shell, err, out)
	}
	return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
}

// reloaded has a server read its configuration again, and waits until it says
// that it has.
func reloaded(ctx context.Context, p *harness.Process) error {
	const word = "configuration reloaded"
	said := func() int {
		text, _ := os.ReadFile(p.Log)
		return strings.Count(string(text), word)
	}
	before := said()
	if err := p.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	for deadline := time.Now().Add(harness.Patience); said() == before; harness.Wait(ctx,
		5*time.Millisecond) {
		if ctx.Err() != nil || time.Now().After(deadline) {
			return p.Failed(errors.New("it does not reload"))
		}
	}
	return nil
}
