package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/demo"
)

// A running is a peer that has been started, and answers.
type running struct {
	name   string
	base   string // http://127.0.0.1:PORT
	url    string // of a document, with {n}
	keys   int    // how many it has
	expect string // what a document begins with; none: it knows one answer only
	main   *process
	behind []*process // what it needs, ended after it
	db     *cluster   // the database it serves, if that is PostgreSQL
	cold   bool       // writes have dropped documents since it was warmed
}

// close ends the peer.
func (r *running) close() {
	r.main.stop()
	for _, p := range r.behind {
		p.stop()
	}
}

// A starter starts a peer with a directory to write in.
type starter func(ctx context.Context, w *workshop, on placement, dir string) (*running, error)

// peers are the servers that scenarios name.
var peers = map[string]starter{
	"floor":            startFloor,
	"hotrow":           startHotrow,
	"hotrow-postgres":  startHotrowPostgres,
	"postgres-direct":  startDirect,
	"nethttp-ready":    goPeer("nethttp-ready", "nethttp", "-mode", "ready"),
	"nethttp-json":     goPeer("nethttp-json", "nethttp", "-mode", "json"),
	"fasthttp":         goPeer("fasthttp", "fasthttp"),
	"nginx-return":     startNginxReturn,
	"nginx-static":     startNginxStatic,
	"nginx-proxycache": startNginxCache,
	"varnish":          startVarnish,
	"h2o":              startH2O,
}

// keyed is what documents begin with.
const keyed = `{"deptNumber":{n},`

// newRunning waits until a server answers.
func newRunning(
	ctx context.Context, p *process, address string, keys int, expect string,
) (*running, error) {
	r := &running{
		name: p.name, base: "http://" + address, main: p, keys: keys, expect: expect,
	}
	r.url = r.base + "/depts/{n}"
	first := strings.ReplaceAll(r.url, "{n}", strconv.Itoa(demo.FirstDept))
	if err := p.await(ctx, first); err != nil {
		p.stop()
		return nil, err
	}
	return r, nil
}

// startFloor starts the constant server.
func startFloor(ctx context.Context, w *workshop, on placement, dir string) (*running, error) {
	address, port, err := loopback()
	if err != nil {
		return nil, err
	}
	p, err := start("floor", dir, on, w.floor, strconv.Itoa(port), w.one)
	if err != nil {
		return nil, err
	}
	return newRunning(ctx, p, address, w.opts.keys, "")
}

// goPeer makes the starter of a program of bench/peers.
func goPeer(name, program string, args ...string) starter {
	return func(ctx context.Context, w *workshop, on placement, dir string) (*running, error) {
		address, _, err := loopback()
		if err != nil {
			return nil, err
		}
		args := append([]string{w.peers + program, "-listen", address, "-docs", w.docs}, args...)
		p, err := start(name, dir, on, args...)
		if err != nil {
			return nil, err
		}
		return newRunning(ctx, p, address, w.opts.keys, keyed)
	}
}

// startHotrow starts hotrow over a copy of the SQLite database, which scenarios
// may write to.
func startHotrow(ctx context.Context, w *workshop, on placement, dir string) (*running, error) {
	db := filepath.Join(dir, "hotrow.db")
	if err := copyFile(db, w.db); err != nil {
		return nil, err
	}
	return hotrowOver(ctx, w, on, dir, "hotrow", "sqlite:"+db)
}

// hotrowOver starts hotrow over the database at url.
func hotrowOver(
	ctx context.Context, w *workshop, on placement, dir, name, url string,
) (*running, error) {
	address, _, err := loopback()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, name+".yaml")
	text := demo.YAML(url) + fmt.Sprintf("http: {listen: %q}\nops: {listen: \"off\"}\n"+
		"cache: {memory: 2GiB}\nlog: {level: warn}\n", address)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := start(name, dir, on, w.hotrow, "serve", "-c", config)
	if err != nil {
		return nil, err
	}
	return newRunning(ctx, p, address, w.opts.keys, keyed)
}

// copyFile copies a file.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := out.ReadFrom(in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
