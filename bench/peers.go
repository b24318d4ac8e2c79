package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/demo"
)

// A running is a peer that has been started, and answers.
type running struct {
	name   string
	base   string // http://127.0.0.1:PORT
	ops    string // of hotrow's operator's port
	url    string // of a document, with {n}
	first  int64  // the first key
	keys   int    // how many it has
	expect string // what a document begins with; none: it knows one answer only
	within string // what every answer holds, with {n}
	memory int64  // the budget of its tier in memory, in bytes, where that is measured
	main   *process
	behind []*process // what it needs, ended after it
	db     *cluster   // the database it serves, if that is PostgreSQL
	links  *shortener // nil: it records nothing
	input  io.Closer  // the peer ends with it; nil: it does not
	client []string   // what asks it, where that is not HTTP
	cert   string     // file of the certificate that it shows, if clients are to check it
	shared bool       // it outlives the peer
	cold   bool       // not warmed, or writes have dropped documents since

	accepted tally // connections at the last server; nil: nobody counts
}

// close ends the peer.
func (r *running) close() {
	closeInput(r.input)
	if !r.shared {
		r.main.stop()
	}
	for _, p := range r.behind {
		p.stop()
	}
}

// firstURL returns the URL of the first document.
func (r *running) firstURL() string {
	return strings.ReplaceAll(r.url, "{n}", strconv.Itoa(demo.FirstDept))
}

// address returns where the peer listens.
func (r *running) address() string {
	_, address, _ := strings.Cut(r.base, "://")
	return address
}

// A starter starts a peer with a directory to write in.
type starter func(ctx context.Context, w *fixture, on placement, dir string) (*running, error)

// peers are the servers that scenarios name.
var peers = withUsers(withTiers(withWire(withLinks(withProxies(map[string]starter{
	"floor":            startFloor,
	"hotrow":           startHotrow,
	"hotrow-tls":       startSecure,
	"hotrow-postgres":  startHotrowPostgres,
	"hotrow-disk":      startHotrowDisk,
	"postgres-direct":  startDirect,
	"nethttp-ready":    goPeer("nethttp-ready", "nethttp", "-mode", "ready"),
	"nethttp-tls":      startSecurePeer,
	"nethttp-json":     goPeer("nethttp-json", "nethttp", "-mode", "json"),
	"fasthttp":         goPeer("fasthttp", "fasthttp"),
	"nginx-return":     startNginxReturn,
	"nginx-static":     startNginxStatic,
	"nginx-proxycache": startNginxCache,
	"varnish":          startVarnish,
	"h2o":              startH2O,
})))))

// keyed is what documents begin with.
const keyed = `{"deptNumber":{n},`

// newRunning waits until a server answers.
func newRunning(
	ctx context.Context, p *process, address string, keys int, expect string,
) (*running, error) {
	return newRunningAt(ctx, p, "http://"+address, keys, expect)
}

// newRunningAt is newRunning for any scheme.
func newRunningAt(
	ctx context.Context, p *process, base string, keys int, expect string,
) (*running, error) {
	r := &running{name: p.name, base: base, main: p, first: demo.FirstDept, keys: keys,
		expect: expect}
	r.url = r.base + "/depts/{n}"
	first := r.firstURL()
	if err := p.awaitURL(ctx, first); err != nil {
		p.stop()
		return nil, err
	}
	return r, nil
}

// startFloor starts the constant server.
func startFloor(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
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
	return func(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
		address, _, err := loopback()
		if err != nil {
			return nil, err
		}
		scheme := "http"
		if slices.Contains(args, "-cert") {
			scheme = "https"
		}
		args := append([]string{w.peers + program, "-listen", address, "-docs", w.docs}, args...)
		p, err := start(name, dir, on, args...)
		if err != nil {
			return nil, err
		}
		return newRunningAt(ctx, p, scheme+"://"+address, w.opts.keys, keyed)
	}
}

// startHotrow starts hotrow over a copy of the SQLite database, which scenarios
// may write to.
func startHotrow(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
	return startHotrowWith(ctx, w, on, dir, flavour{})
}

// startHotrowWith is startHotrow with something different.
func startHotrowWith(
	ctx context.Context, w *fixture, on placement, dir string, f flavour,
) (*running, error) {
	db := filepath.Join(dir, "hotrow.db")
	if err := copyFile(db, w.db); err != nil {
		return nil, err
	}
	return hotrowOver(ctx, w, on, dir, "hotrow", "sqlite:"+db, f)
}

// A flavour is what differs from one hotrow to another.
type flavour struct {
	scheme string // http
	http   string // further settings of the HTTP listener
	cache  string // its bounds
}

// hotrowOver starts hotrow over the database at url.
func hotrowOver(
	ctx context.Context, w *fixture, on placement, dir, name, url string, f flavour,
) (*running, error) {
	setDefault(&f.scheme, "http")
	setDefault(&f.cache, "memory: 2GiB")
	address, _, err := loopback()
	if err != nil {
		return nil, err
	}
	ops, _, err := loopback()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, name+".yaml")
	text := demo.YAML(url) + fmt.Sprintf("http: {listen: %q%s}\nops: {listen: %q}\n"+
		"wire: {listen: 'off'}\ncache: {%s}\nlog: {level: warn}\n", address, f.http, ops, f.cache)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := start(name, dir, on, w.hotrow, "serve", "-c", config)
	if err != nil {
		return nil, err
	}
	r, err := newRunningAt(ctx, p, f.scheme+"://"+address, w.opts.keys, keyed)
	if err != nil {
		return nil, err
	}
	r.ops = "http://" + ops
	return r, r.awaitReady(ctx)
}

// awaitReady waits until hotrow follows its databases: what it reads before that it
// does not keep, so that it could not be warmed.
func (r *running) awaitReady(ctx context.Context) error {
	err := r.main.awaitURL(ctx, r.ops+"/readyz?strict")
	if err != nil {
		r.close()
	}
	return err
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
