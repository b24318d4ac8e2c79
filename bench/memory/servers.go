package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/hotrow/hotrow/bench/harness"
)

// A starter starts a server for a set, without any of its rows in memory.
type starter func(ctx context.Context, m *measurement, s set) (*server, error)

// A server is one that is measured.
type server struct {
	process *harness.Process
	url     string // of HTTP; "": it has none
	address string // where rows are read and written
	speak   speech
	feed    func() (*client, error)
	rows    func(c *client, s set, from, to int) error // has it keep rows, over what feed returns
}

func (x *server) dial() (*client, error) { return dial(x.address, x.speak) }

const config = `version: 1
http: {listen: %[1]s}
wire: {listen: off}
ops: {listen: off}
resp: {listen: %[2]s}
cache: {memory: %[3]dMiB}
sources:
  main: {url: "sqlite:%[4]s"}
resources:
  t: {table: t, key: id, access: {read: public, write: public}}
`

// startHotrow starts hotrow in front of a SQLite database that has the rows. It says what its
// collector does.
func startHotrow(ctx context.Context, m *measurement, s set) (*server, error) {
	file := filepath.Join(m.dir, fmt.Sprintf("%d-%d.db", s.rows, s.body))
	if err := makeDatabase(ctx, file, s); err != nil {
		return nil, err
	}
	http, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	resp, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	yaml := filepath.Join(m.dir, "hotrow.yaml")
	text := fmt.Sprintf(config, http, resp, 2*(s.bytes()+int64(s.rows)*100)>>20+64, file)
	if err := os.WriteFile(yaml, []byte(text), 0o644); err != nil {
		return nil, err
	}
	p, err := harness.StartWith("hotrow", m.dir, harness.Free, func(c *exec.Cmd) {
		c.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	}, m.hotrow, "serve", "-c", yaml)
	if err != nil {
		return nil, err
	}
	x := &server{process: p, url: "http://" + http, address: http, speak: httpSpeech,
		rows: readRows, feed: func() (*client, error) { return dial(resp, redisSpeech) }}
	return x, p.AwaitURL(ctx, x.url+"/t/"+keyOf(0))
}

// makeDatabase makes a SQLite database of the rows.
func makeDatabase(ctx context.Context, file string, s set) error {
	program, err := harness.Look("sqlite3")
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, program, file)
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	out, body := bufio.NewWriter(in), []byte(nil)
	fmt.Fprint(out, "PRAGMA journal_mode = wal; PRAGMA synchronous = off; "+
		"CREATE TABLE t (id integer PRIMARY KEY, v text); BEGIN;\n")
	head := len(`{"id":10000000,"v":"`)
	for i := range s.rows {
		body = s.appendBody(body[:0], i, 0)
		fmt.Fprintf(out, "INSERT INTO t VALUES (%s, '%s');\n", keyOf(i), body[head:len(body)-2])
	}
	fmt.Fprint(out, "COMMIT;\n")
	if err := out.Flush(); err != nil {
		return err
	}
	if err := in.Close(); err != nil {
		return err
	}
	return c.Wait()
}

// startMemcached starts memcached with more memory than the rows take.
func startMemcached(ctx context.Context, m *measurement, s set) (*server, error) {
	return startPeer(ctx, m, "memcached", memcachedSpeech, func(port string) []string {
		return []string{"-u", "root", "-l", "127.0.0.1", "-U", "0", "-p", port, "-m",
			strconv.FormatInt(2*(s.bytes()+int64(s.rows)*100)>>20+64, 10)}
	})
}

// redisLike is the starter of a server of Redis' kind, which keeps nothing on disk.
func redisLike(program string) starter {
	return func(ctx context.Context, m *measurement, _ set) (*server, error) {
		return startPeer(ctx, m, program, redisSpeech, func(port string) []string {
			return []string{"--bind", "127.0.0.1", "--port", port, "--save", "",
				"--appendonly", "no"}
		})
	}
}

func startPeer(
	ctx context.Context, m *measurement, program string, speak speech, args func(string) []string,
) (*server, error) {
	path, err := harness.Look(program)
	if err != nil {
		return nil, err
	}
	address, port, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	p, err := harness.Start(program, m.dir, harness.Free,
		append([]string{path}, args(strconv.Itoa(port))...)...)
	if err != nil {
		return nil, err
	}
	x := &server{process: p, address: address, speak: speak, rows: writeRows}
	x.feed = x.dial
	return x, p.Await(ctx, harness.Accepts(address))
}
