package robust

import (
	"bufio"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// memcacheListens finds the listener of memcached's clients in the log.
var memcacheListens = regexp.MustCompile(`msg=listening proto=memcache addr=(\S+)`)

// ask sends a command, and returns what comes until enough of it has, or the connection ends.
func ask(t *testing.T, addr, command string, enough func(got string) bool) string {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(waittest.Deadline(time.Minute))
	if _, err := io.WriteString(nc, command+"\r\n"); err != nil {
		t.Fatal(err)
	}
	r, got := bufio.NewReader(nc), ""
	for !enough(got) {
		line, err := r.ReadString('\n')
		got += line
		if errors.Is(err, io.EOF) {
			return got + "(closed)"
		}
		if err != nil {
			t.Fatalf("%s: %v, behind %q", command, err, got)
		}
	}
	return got
}

// lines returns whether so many lines have come, or an error.
func lines(n int) func(string) bool {
	return func(got string) bool {
		return strings.Count(got, "\n") >= n || got != "" && strings.ContainsAny(got[:1], "-SE")
	}
}

// A protocols is a hotrow that is asked for row 1 by each protocol.
type protocols struct {
	t *testing.T
	p *program
	d *database
}

func (x protocols) answers() map[string]string {
	memcache := memcacheListens.FindStringSubmatch(x.p.text())[1]
	code, status, body := x.p.get("/kv/1")
	if code != 200 {
		body = "error"
	}
	listCode, listStatus, list := x.p.get("/kv?id=lte.1")
	if listCode != 200 {
		list = "error"
	}
	return map[string]string{
		"http": status + " " + body, "list": listStatus + " " + list,
		"redis": ask(x.t, x.p.resp, "GET kv:1", lines(2)),
		"hash":  ask(x.t, x.p.resp, "HGET kv:1 v", lines(2)), "get": ask(x.t, memcache, "get kv:1", lines(3)),
		"mg": ask(x.t, memcache, "mg kv:1 v", lines(2)),
	}
}

// openProtocols starts hotrow, and has it keep row 1.
func openProtocols(t *testing.T, d *database) protocols {
	x := protocols{t, serve(t, d.config(setup{}), "HOTROW_RESP_LISTEN=127.0.0.1:0",
		"HOTROW_MEMCACHE_LISTEN=127.0.0.1:0"), d}
	x.keep()
	return x
}

// keep has hotrow keep row 1.
func (x protocols) keep() {
	x.t.Helper()
	x.p.awaitReady()
	until(x.t, x.p.text, "the row in memory", func() bool {
		_, status, _ := x.p.get("/kv/1")
		return strings.Contains(status, "hit")
	})
}

// TestStale_NeverWithoutASign: while the feed lags, and while the database is away, no protocol
// gives an old value without saying so.
func TestStale_NeverWithoutASign(t *testing.T) {
	makers := map[string]func(*testing.T, *oracle) *database{
		"PostgreSQL": func(t *testing.T, o *oracle) *database { return newPostgres(t, o, nil) },
		"MariaDB":    func(t *testing.T, o *oracle) *database { return newMariaDB(t, o) },
	}
	for name, make := range makers {
		t.Run(name, func(t *testing.T) {
			d := make(t, newOracle(t, 10))
			x := openProtocols(t, d)
			closed := func() { until(t, x.p.text, "a closed gate", func() bool { return !x.p.ready() }) }
			if d.postgres != nil {
				pids := d.postgres.PauseSenders()
				if err := d.exec("UPDATE kv SET v = 777 WHERE id = 1"); err != nil {
					t.Fatal(err)
				}
				closed()
				for protocol, got := range x.answers() {
					flagged := protocol == "http" && strings.Contains(got, "fwd=stale") ||
						protocol == "mg" && strings.Contains(got, " X\r\n")
					if !strings.Contains(got, "777") && !flagged {
						t.Errorf("the feed lags: %s gives %q", protocol, got)
					}
				}
				d.postgres.Resume(pids...)
				x.keep()
			}
			d.stop(dbtest.Immediate)
			defer d.start()
			closed()
			for protocol, want := range map[string]string{"http": "fwd=stale",
				"list": "error", "redis": "-UNAVAILABLE ",
				"hash": "-UNAVAILABLE ", "get": "(closed)", "mg": " X\r\n"} {
				got := ""
				until(t, x.p.text, protocol, func() bool {
					got = x.answers()[protocol]
					return strings.Contains(got, want)
				})
			}
		})
	}
}
