package servers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strconv"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/internal/demo"
)

// withKeyValue adds the servers of the protocols of Redis and memcached to others.
func withKeyValue(all map[string]harness.Starter) map[string]harness.Starter {
	maps.Copy(all, map[string]harness.Starter{
		"hotrow-resp":     hotrowKeyValue("resp", "redis", ""),
		"hotrow-tracked":  hotrowKeyValue("resp", "redis", "kv: {max_clients: 20000}\n"),
		"hotrow-memcache": hotrowKeyValue("memcache", "memcache", ""),
		"redis":           startRedis("redis-server"),
		"redis-tracked":   startRedis("redis-server", "--maxclients", "20000"),
		"valkey":          startRedis("valkey-server"),
		"memcached":       startMemcached,
	})
	return all
}

// hotrowKeyValue makes the starter of hotrow with a key-value front, asked by its scheme, and
// with more settings of that.
func hotrowKeyValue(front, scheme, more string) harness.Starter {
	return func(
		ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
	) (*harness.Server, error) {
		address, _, err := harness.Loopback()
		if err != nil {
			return nil, err
		}
		f := flavour{fronts: fmt.Sprintf("%s: {listen: %q}\n%s", front, address, more)}
		web, err := startHotrowWith(ctx, w, on, dir, f)
		if err != nil {
			return nil, err
		}
		r, err := harness.NewKeyValueServer(ctx, web.Main, scheme+"://"+address, w.Opts.Keys,
			keyed)
		if err == nil {
			r.Others = []string{web.Base}
		}
		return r, err
	}
}

// startRedis makes the starter of a server of Redis' kind, which keeps nothing on disk, with
// more arguments.
func startRedis(program string, more ...string) harness.Starter {
	return func(
		ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
	) (*harness.Server, error) {
		path, err := harness.Look(program)
		if err != nil {
			return nil, err
		}
		address, port, err := harness.Loopback()
		if err != nil {
			return nil, err
		}
		args := append([]string{path, "--bind", "127.0.0.1", "--port", strconv.Itoa(port),
			"--save", "", "--appendonly", "no", "--dir", dir}, more...)
		p, err := harness.Start(program, dir, on, args...)
		if err != nil {
			return nil, err
		}
		set := func(out *bufio.Writer, key string, body []byte) {
			fmt.Fprintf(out, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(key), key,
				len(body), body)
		}
		return filled(ctx, w, p, "redis", address, set, "+OK\r\n")
	}
}

// startMemcached starts memcached, with a thread for each core that it has.
func startMemcached(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	p, address, err := memcachedProcess(on, dir, "-m", "4096", "-t", strconv.Itoa(threads(on)))
	if err != nil {
		return nil, err
	}
	return filled(ctx, w, p, "memcache", address, func(out *bufio.Writer, key string, body []byte) {
		fmt.Fprintf(out, "set %s 0 0 %d\r\n%s\r\n", key, len(body), body)
	}, "STORED\r\n")
}

// memcachedProcess starts memcached with further arguments. It returns where it listens.
func memcachedProcess(
	on harness.Placement, dir string, more ...string,
) (p *harness.Process, address string, err error) {
	program, err := harness.Look("memcached")
	if err != nil {
		return nil, "", err
	}
	address, port, err := harness.Loopback()
	if err != nil {
		return nil, "", err
	}
	p, err = harness.Start("memcached", dir, on, append([]string{program, "-u", "root", "-l",
		"127.0.0.1", "-U", "0", "-p", strconv.Itoa(port)}, more...)...)
	return p, address, err
}

// filled waits for a server and gives it every document by commands that set writes, each
// of which it answers with ok.
func filled(
	ctx context.Context, w *harness.Fixture, p *harness.Process, scheme, address string,
	set func(out *bufio.Writer, key string, body []byte), ok string,
) (*harness.Server, error) {
	r, err := harness.NewKeyValueServer(ctx, p, scheme+"://"+address, w.Opts.Keys, keyed)
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, w, address, set, ok); err != nil {
		r.Close()
		return nil, p.Failed(err)
	}
	return r, nil
}

// fill gives the server at address every document.
func fill(
	ctx context.Context, w *harness.Fixture, address string,
	set func(out *bufio.Writer, key string, body []byte), ok string,
) error {
	ctx, cancel := context.WithTimeout(ctx, harness.Patience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	sent := make(chan error, 1)
	go func() {
		out := bufio.NewWriter(conn)
		err := harness.EachDocument(w.Docs, func(n int, body []byte) error {
			set(out, "depts:"+strconv.Itoa(demo.FirstDept+n), body)
			return nil
		})
		sent <- errors.Join(err, out.Flush())
	}()
	want := bytes.Repeat([]byte(ok), w.Opts.Keys)
	said := make([]byte, len(want))
	n, err := io.ReadFull(conn, said)
	_ = conn.Close()
	if err = errors.Join(err, <-sent); err == nil && !bytes.Equal(said, want) {
		err = fmt.Errorf("answers %.100q", said[:n])
	}
	return err
}
