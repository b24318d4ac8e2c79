package servers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hotrow/hotrow/bench/harness"
)

// withUsers adds the servers of the seed's chart to other peers.
func withUsers(all map[string]harness.Starter) map[string]harness.Starter {
	var stores *userStores
	maps.Copy(all, map[string]harness.Starter{
		"users-hotrow":    overUsers(&stores, startUsersHotrow),
		"users-go":        overUsers(&stores, startUsersGo),
		"users-perl":      overUsers(&stores, startUsersPerl),
		"users-ruby":      overUsers(&stores, startUsersRuby),
		"users-mariadb":   overUsers(&stores, askMariaDB),
		"users-memcached": overUsers(&stores, askMemcached),
	})
	return all
}

// A usersStarter starts a server over the stores that all of them share.
type usersStarter func(
	ctx context.Context, w *harness.Fixture, s *userStores, on harness.Placement, dir string,
) (*harness.Server, error)

// overUsers makes the starter of a server over the stores, which the first one starts.
func overUsers(stores **userStores, start usersStarter) harness.Starter {
	return func(
		ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
	) (*harness.Server, error) {
		if *stores == nil {
			s, err := startUserStores(ctx, w, on)
			if err != nil {
				return nil, err
			}
			*stores = s
			w.AtEnd(s.stop)
		}
		r, err := start(ctx, w, *stores, on, dir)
		if err != nil {
			return nil, err
		}
		r.Keys, r.Within = usersKeys, userWithin
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
	ctx context.Context, w *harness.Fixture, s *userStores, on harness.Placement, dir string,
) (*harness.Server, error) {
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	ops, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(usersYAML, address, ops, usersDatabase, s.socket, s.cache)
	config := filepath.Join(dir, "hotrow.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := harness.Start("users-hotrow", dir, on, w.Hotrow, "serve", "-c", config)
	if err != nil {
		return nil, err
	}
	r, err := newUsers(ctx, p, address, "/users/0")
	if err != nil {
		return nil, err
	}
	r.Keys, r.Ops = usersKeys, "http://"+ops
	if err := r.AwaitReady(ctx); err != nil {
		return nil, err
	}
	for _, path := range []string{"/users/{n}", "/profiles/{n}"} {
		for _, header := range [][]string{nil, {"Accept: application/vnd.msgpack"}} {
			if err := w.WarmURL(ctx, r, r.Base+path, header); err != nil {
				r.Close()
				return nil, p.Failed(err)
			}
		}
	}
	return r, nil
}

// newUsers waits until a server answers at a path.
func newUsers(
	ctx context.Context, p *harness.Process, address, path string,
) (*harness.Server, error) {
	r := &harness.Server{Name: p.Name, Base: "http://" + address, Main: p}
	if err := p.AwaitURL(ctx, r.Base+path); err != nil {
		p.Stop()
		return nil, err
	}
	return r, nil
}

// startUsersGo builds the service in Go, which is a module of its own, and starts
// it.
func startUsersGo(
	ctx context.Context, w *harness.Fixture, s *userStores, on harness.Placement, dir string,
) (*harness.Server, error) {
	program, err := buildUsers(ctx, w, "service")
	if err != nil {
		return nil, err
	}
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	p, err := harness.Start("users-go", dir, on, program, "-listen", address, "-database", s.dsn(),
		"-memcached", s.cache)
	if err != nil {
		return nil, err
	}
	return newUsers(ctx, p, address, "/json/0")
}

// buildUsers builds a program of bench/peers/users.
func buildUsers(ctx context.Context, w *harness.Fixture, name string) (string, error) {
	program := filepath.Join(w.Tmp, "users-"+name)
	return program, harness.Command(ctx, "bench/peers/users", "go", "build", "-trimpath", "-o",
		program,
		"./"+name)
}

// workersEach is how many clients at once the services in Perl and Ruby are made
// for: a worker of Starman has one connection for as long as it is kept.
const workersEach = 16

// startUsersPerl starts the service in Perl.
func startUsersPerl(
	ctx context.Context, w *harness.Fixture, s *userStores, on harness.Placement, dir string,
) (*harness.Server, error) {
	starman, err := harness.Look("starman")
	if err != nil {
		return nil, err
	}
	for _, module := range []string{"DBD::mysql", "Data::MessagePack", "JSON::XS",
		"Cache::Memcached::Fast"} {
		if err := harness.Command(ctx, "", "perl", "-M"+module, "-e", "1"); err != nil {
			return nil, fmt.Errorf("%w: %s of Perl", harness.ErrMissing, module)
		}
	}
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	p, err := harness.StartWith("users-perl", dir, on, s.env, starman, "--listen", address,
		"--workers", strconv.Itoa(workersEach), "--max-requests", "1000000000", "--env",
		"deployment", "bench/peers/perl/users.psgi")
	if err != nil {
		return nil, err
	}
	return newUsers(ctx, p, address, "/json/0")
}

// startUsersRuby starts the service in Ruby: a process for each core, for threads
// of one take turns.
func startUsersRuby(
	ctx context.Context, w *harness.Fixture, s *userStores, on harness.Placement, dir string,
) (*harness.Server, error) {
	puma, err := harness.Look("puma")
	if err != nil {
		return nil, err
	}
	for _, library := range []string{"sinatra/base", "mysql2", "msgpack", "oj", "dalli"} {
		if err := harness.Command(ctx, "", "ruby", "-r"+library, "-e", "1"); err != nil {
			return nil, fmt.Errorf("%w: %s of Ruby", harness.ErrMissing, library)
		}
	}
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	threads, processes := workersEach/threads(on), threads(on)
	p, err := harness.StartWith("users-ruby", dir, on, s.env, puma, "--bind", "tcp://"+address,
		"--workers", strconv.Itoa(processes), "--threads", fmt.Sprintf("%d:%[1]d", threads),
		"--environment", "production", "--quiet", "bench/peers/ruby/config.ru")
	if err != nil {
		return nil, err
	}
	return newUsers(ctx, p, address, "/json/0")
}

// askMariaDB is the database itself as a peer.
func askMariaDB(
	ctx context.Context, w *harness.Fixture, s *userStores, _ harness.Placement, _ string,
) (*harness.Server, error) {
	return askStore(ctx, w, s.mariadb, "-database", s.dsn())
}

// askMemcached is memcached itself as a peer.
func askMemcached(
	ctx context.Context, w *harness.Fixture, s *userStores, _ harness.Placement, _ string,
) (*harness.Server, error) {
	return askStore(ctx, w, s.memcached, "-memcached", s.cache)
}

// askStore returns a store as a peer that outlives it.
func askStore(
	ctx context.Context, w *harness.Fixture, store *harness.Process, args ...string,
) (*harness.Server, error) {
	program, err := buildUsers(ctx, w, "direct")
	if err != nil {
		return nil, err
	}
	return &harness.Server{Name: store.Name, Main: store, Shared: true,
		Client: append([]string{program}, args...)}, nil
}
