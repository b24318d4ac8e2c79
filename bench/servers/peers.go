// Package servers starts the servers that scenarios name: hotrow in its forms, and what it
// is compared with.
package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/internal/demo"
)

// All returns the servers that scenarios name.
func All() map[string]harness.Starter {
	all := map[string]harness.Starter{
		"floor":            startFloor,
		"hotrow":           StartHotrow,
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
		"hotrow-h2c":       startHotrowH2C,
		"nginx-tls":        nginxHTTP2(true),
		"nginx-h2c":        nginxHTTP2(false),
		"h2o-tls":          startSecureH2O,
		"caddy-tls":        startCaddy,
	}
	for _, with := range []func(map[string]harness.Starter) map[string]harness.Starter{
		withProxies, withLinks, withWire, withTiers, withUsers, withKeyValue,
		withPrograms, withLists, withFollowed,
	} {
		all = with(all)
	}
	return all
}

// keyed is what documents begin with.
const keyed = `{"deptNumber":{n},`

// startFloor starts the constant server.
func startFloor(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	address, port, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	p, err := harness.Start("floor", dir, on, w.Floor, strconv.Itoa(port), w.One)
	if err != nil {
		return nil, err
	}
	return harness.NewServer(ctx, p, address, w.Opts.Keys, "")
}

// goPeer makes the starter of a program of bench/peers.
func goPeer(name, program string, args ...string) harness.Starter {
	return func(
		ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
	) (*harness.Server, error) {
		address, _, err := harness.Loopback()
		if err != nil {
			return nil, err
		}
		scheme := "http"
		if slices.Contains(args, "-cert") {
			scheme = "https"
		}
		args := append([]string{w.Programs + program, "-listen", address, "-docs", w.Docs}, args...)
		p, err := harness.Start(name, dir, on, args...)
		if err != nil {
			return nil, err
		}
		return harness.NewServerAt(ctx, p, scheme+"://"+address, w.Opts.Keys, keyed)
	}
}

// StartHotrow starts hotrow over a copy of the SQLite database, which scenarios
// may write to.
func StartHotrow(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	return startHotrowWith(ctx, w, on, dir, flavour{})
}

// startHotrowWith is startHotrow with something different.
func startHotrowWith(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string, f flavour,
) (*harness.Server, error) {
	db := filepath.Join(dir, "hotrow.db")
	if err := copyFile(db, w.Db); err != nil {
		return nil, err
	}
	return hotrowOver(ctx, w, on, dir, "hotrow", "sqlite:"+db, f)
}

// A flavour is what differs from one hotrow to another.
type flavour struct {
	scheme string // http
	http   string // further settings of the HTTP listener
	cache  string // its bounds
	wire   string // where the wire protocol is; off
	fronts string // further lines of the configuration
	config string // instead of the demo's: sources and resources
	path   string // of documents, with {n}
	expect string // what documents begin with
}

// hotrowOver starts hotrow over the database at url.
func hotrowOver(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir, name, url string, f flavour,
) (*harness.Server, error) {
	harness.SetDefault(&f.scheme, "http")
	harness.SetDefault(&f.cache, "memory: 2GiB")
	harness.SetDefault(&f.wire, "off")
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	ops, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, name+".yaml")
	harness.SetDefault(&f.config, demo.YAML(url))
	harness.SetDefault(&f.path, "/depts/{n}")
	harness.SetDefault(&f.expect, keyed)
	text := f.config + fmt.Sprintf("http: {listen: %q%s}\nops: {listen: %q}\n"+
		"wire: {listen: %q}\ncache: {%s}\nlog: {level: warn}\n%s", address, f.http, ops, f.wire,
		f.cache, f.fronts)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := harness.Start(name, dir, on, w.Hotrow, "serve", "-c", config)
	if err != nil {
		return nil, err
	}
	r, err := harness.NewServerOf(ctx, p, f.scheme+"://"+address+f.path, w.Opts.Keys, f.expect)
	if err != nil {
		return nil, err
	}
	r.Ops = "http://" + ops
	return r, r.AwaitReady(ctx)
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
