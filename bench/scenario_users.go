package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
)

// withUsers adds the servers of the seed's chart to other peers.
func withUsers(all map[string]starter) map[string]starter {
	maps.Copy(all, map[string]starter{
		"users-hotrow":    overUsers(startUsersHotrow),
		"users-go":        overUsers(startUsersGo),
		"users-perl":      overUsers(startUsersPerl),
		"users-ruby":      overUsers(startUsersRuby),
		"users-mariadb":   overUsers(askMariaDB),
		"users-memcached": overUsers(askMemcached),
	})
	return all
}

// overUsers makes a starter that finds the stores running.
func overUsers(
	start func(context.Context, *fixture, placement, string) (*running, error),
) starter {
	return func(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
		if w.users == nil {
			stores, err := startUserStores(ctx, w, on)
			if err != nil {
				return nil, err
			}
			w.users = stores
		}
		r, err := start(ctx, w, on, dir)
		if err != nil {
			return nil, err
		}
		r.keys, r.within = usersKeys, userWithin
		return r, nil
	}
}

// usersYAML is the configuration of hotrow over both stores.
const usersYAML = `version: 1
http: {listen: %q}
ops: {listen: %q}
wire: {listen: 'off'}
cache: {memory: 64MiB}
log: {level: warn}
sources:
  main: {url: "mariadb://root@localhost/%s?socket=%s"}
  cache: {url: "memcached://%s"}
resources:
  users:
    source: main
    table: user
    key: id
    only: true
    fields: {name: {}, mail: {}}
    formats: [json, msgpack]
    access: {read: public}
  profiles:
    source: cache
    ttl: 24h
    memcached: {fields: [name, mail]}
    formats: [json, msgpack]
    access: {read: public}
`

// startUsersHotrow starts hotrow over both stores, and asks it for every user
// once in each of its four representations.
func startUsersHotrow(
	ctx context.Context, w *fixture, on placement, dir string,
) (*running, error) {
	address, _, err := loopback()
	if err != nil {
		return nil, err
	}
	ops, _, err := loopback()
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(usersYAML, address, ops, usersDatabase, w.users.socket, w.users.cache)
	config := filepath.Join(dir, "hotrow.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := start("users-hotrow", dir, on, w.hotrow, "serve", "-c", config)
	if err != nil {
		return nil, err
	}
	r, err := newUsers(ctx, p, address, "/users/0")
	if err != nil {
		return nil, err
	}
	r.keys, r.ops = usersKeys, "http://"+ops
	if err := r.awaitReady(ctx); err != nil {
		return nil, err
	}
	for _, path := range []string{"/users/{n}", "/profiles/{n}"} {
		for _, header := range [][]string{nil, {"Accept: application/vnd.msgpack"}} {
			if err := w.warmURL(ctx, r, r.base+path, header); err != nil {
				r.close()
				return nil, p.failed(err)
			}
		}
	}
	return r, nil
}

// newUsers waits until a server answers at a path.
func newUsers(ctx context.Context, p *process, address, path string) (*running, error) {
	r := &running{name: p.name, base: "http://" + address, main: p}
	if err := p.awaitURL(ctx, r.base+path); err != nil {
		p.stop()
		return nil, err
	}
	return r, nil
}

// startUsersGo builds the service in Go, which is a module of its own, and starts
// it.
func startUsersGo(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
	program, err := w.buildUsers(ctx, "service")
	if err != nil {
		return nil, err
	}
	address, _, err := loopback()
	if err != nil {
		return nil, err
	}
	p, err := start("users-go", dir, on, program, "-listen", address, "-database", w.users.dsn(),
		"-memcached", w.users.cache)
	if err != nil {
		return nil, err
	}
	return newUsers(ctx, p, address, "/json/0")
}

// buildUsers builds a program of bench/peers/users.
func (w *fixture) buildUsers(ctx context.Context, name string) (string, error) {
	program := filepath.Join(w.tmp, "users-"+name)
	return program, command(ctx, "bench/peers/users", "go", "build", "-trimpath", "-o", program,
		"./"+name)
}

// workersEach is how many clients at once the services in Perl and Ruby are made
// for: a worker of Starman has one connection for as long as it is kept.
const workersEach = 16

// startUsersPerl starts the service in Perl.
func startUsersPerl(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
	starman, err := look("starman")
	if err != nil {
		return nil, err
	}
	for _, module := range []string{"DBD::mysql", "Data::MessagePack", "JSON::XS",
		"Cache::Memcached::Fast"} {
		if err := command(ctx, "", "perl", "-M"+module, "-e", "1"); err != nil {
			return nil, fmt.Errorf("%w: %s of Perl", errMissing, module)
		}
	}
	address, _, err := loopback()
	if err != nil {
		return nil, err
	}
	p, err := startWith("users-perl", dir, on, w.users.env, starman, "--listen", address,
		"--workers", strconv.Itoa(workersEach), "--max-requests", "1000000000", "--env",
		"deployment", "bench/peers/perl/users.psgi")
	if err != nil {
		return nil, err
	}
	return newUsers(ctx, p, address, "/json/0")
}

// startUsersRuby starts the service in Ruby: a process for each core, for threads
// of one take turns.
func startUsersRuby(ctx context.Context, w *fixture, on placement, dir string) (*running, error) {
	puma, err := look("puma")
	if err != nil {
		return nil, err
	}
	for _, library := range []string{"sinatra/base", "mysql2", "msgpack", "oj", "dalli"} {
		if err := command(ctx, "", "ruby", "-r"+library, "-e", "1"); err != nil {
			return nil, fmt.Errorf("%w: %s of Ruby", errMissing, library)
		}
	}
	address, _, err := loopback()
	if err != nil {
		return nil, err
	}
	threads, processes := workersEach/threads(on), threads(on)
	p, err := startWith("users-ruby", dir, on, w.users.env, puma, "--bind", "tcp://"+address,
		"--workers", strconv.Itoa(processes), "--threads", fmt.Sprintf("%d:%[1]d", threads),
		"--environment", "production", "--quiet", "bench/peers/ruby/config.ru")
	if err != nil {
		return nil, err
	}
	return newUsers(ctx, p, address, "/json/0")
}

// askMariaDB is the database itself as a peer.
func askMariaDB(ctx context.Context, w *fixture, _ placement, _ string) (*running, error) {
	return askStore(ctx, w, w.users.mariadb, "-database", w.users.dsn())
}

// askMemcached is memcached itself as a peer.
func askMemcached(ctx context.Context, w *fixture, _ placement, _ string) (*running, error) {
	return askStore(ctx, w, w.users.memcached, "-memcached", w.users.cache)
}

// askStore returns a store as a peer that outlives it.
func askStore(
	ctx context.Context, w *fixture, store *process, args ...string,
) (*running, error) {
	program, err := w.buildUsers(ctx, "direct")
	if err != nil {
		return nil, err
	}
	return &running{name: store.name, main: store, shared: true,
		client: append([]string{program}, args...)}, nil
}
