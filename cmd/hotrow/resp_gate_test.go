//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/demo"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A cachingClient is a client of Redis that keeps copies and believes the stream: what it has read
// stays until it is told, or until its connection ends.
type cachingClient struct {
	t      *testing.T
	nc     net.Conn
	r      *bufio.Reader
	copies map[string]string
	flush  int // messages that anything may have changed
}

func (r *running) cachingClient(options string) *cachingClient {
	r.t.Helper()
	nc, err := net.Dial("tcp", "127.0.0.1:"+r.respPort())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = nc.Close() })
	k := &cachingClient{t: r.t, nc: nc, r: bufio.NewReader(nc), copies: make(map[string]string)}
	k.do("HELLO 3")
	if got := k.do("CLIENT TRACKING ON " + options); got != "+OK" {
		r.t.Fatalf("CLIENT TRACKING ON = %q", got)
	}
	return k
}

// next takes in one reply or message, and returns the reply; "" for a message. Its parts
// have blanks between them.
func (k *cachingClient) next() (string, error) {
	line, err := k.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '$':
		b := make([]byte, n+2)
		_, err = io.ReadFull(k.r, b)
		return string(b[:n]), err
	case '%':
		n *= 2
	case '*', '>':
	default:
		return line, nil
	}
	var parts []string
	for range n {
		part, err := k.next()
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	if line[0] != '>' {
		return strings.Join(parts, " "), nil
	}
	if parts[1] == "_" {
		clear(k.copies)
		k.flush++
	}
	for _, key := range strings.Fields(parts[1]) {
		delete(k.copies, key)
	}
	return "", nil
}

// do sends a command and returns its reply.
func (k *cachingClient) do(command string) string {
	k.t.Helper()
	_, _ = fmt.Fprintf(k.nc, "%s\r\n", command)
	_ = k.nc.SetReadDeadline(waittest.Deadline(20 * time.Second))
	for {
		got, err := k.next()
		if err != nil {
			k.t.Fatalf("%s: %v", command, err)
		}
		if got != "" {
			return got
		}
	}
}

// keep reads a key and keeps the answer, unless it is told at once not to.
func (k *cachingClient) keep(key string) bool {
	k.t.Helper()
	k.copies[key] = k.do("GET " + key)
	k.hear(20 * time.Millisecond)
	_, kept := k.copies[key]
	return kept
}

// hear takes in what is told within a time.
func (k *cachingClient) hear(d time.Duration) {
	k.t.Helper()
	for by := time.Now().Add(d); time.Now().Before(by); {
		_ = k.nc.SetReadDeadline(by)
		if _, err := k.next(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			k.t.Fatal(err)
		}
	}
}

// flushed waits for the message that anything may have changed, for the time that a copy
// may be old.
func (k *cachingClient) flushed(why string, before int) {
	k.t.Helper()
	begin := time.Now()
	for k.flush == before {
		if k.hear(10 * time.Millisecond); waittest.Late(time.Since(begin), time.Minute) {
			k.t.Fatalf("%s: nothing is told", why)
		}
	}
	if took := time.Since(begin); waittest.Late(took, 5*time.Second) {
		k.t.Errorf("%s: told after %v", why, took)
	}
	if len(k.copies) > 0 {
		k.t.Errorf("%s: %d copies are left", why, len(k.copies))
	}
}

// keptAgain reads until an answer may be kept: the gate is open.
func (k *cachingClient) keptAgain(log *output, key string) {
	k.t.Helper()
	until(k.t, log, func() bool {
		k.keep(key)
		k.hear(150 * time.Millisecond) // what no feed follows is told twice
		_, kept := k.copies[key]
		return kept
	})
}

// TestRESP_EveryRowOfTheGate: whatever makes copies doubtful is told to who keeps some,
// within stale_after and a second, and once more when it is over, for what was read
// meanwhile was not followed.
func TestRESP_EveryRowOfTheGate(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	url := server.Database(t)
	dbtest.Psql(t, url, demo.PostgresSQL())
	r := serve(t, "-c", configFile(t, demo.YAML(url)))
	k, all := r.cachingClient(""), r.cachingClient("BCAST")
	k.keptAgain(r.log, "depts:10")

	// A change by SQL is told, and the copy is the new one.
	dbtest.Psql(t, url, "UPDATE dept SET loc = 'ONE' WHERE deptno = 10")
	until(t, r.log, func() bool { k.hear(10 * time.Millisecond); return len(k.copies) == 0 })
	k.keptAgain(r.log, "depts:10")
	if !strings.Contains(k.copies["depts:10"], "ONE") {
		t.Errorf("after the change: %s", k.copies["depts:10"])
	}

	// The feed stops: it does not send what is written, and nobody hangs up.
	before, beforeAll := k.flush, all.flush
	senders := server.WalSenders()
	server.Pause(senders...)
	dbtest.Psql(t, url, "UPDATE dept SET loc = 'TWO' WHERE deptno = 10")
	k.flushed("the feed is stopped", before)
	all.flushed("the feed is stopped, BCAST", beforeAll)
	before = k.flush
	k.keep("depts:10")
	until(t, r.log, func() bool { // it is told to drop what is not followed
		k.hear(10 * time.Millisecond)
		return len(k.copies) == 0
	})
	server.Resume(senders...)
	k.flushed("the feed goes on", before)
	k.keptAgain(r.log, "depts:10")
	if !strings.Contains(k.copies["depts:10"], "TWO") {
		t.Errorf("after the feed went on: %s", k.copies["depts:10"])
	}

	// The feed is killed: it begins anew.
	before = k.flush
	server.Kill(server.WalSenders()...)
	k.flushed("the feed is killed", before)
	until(t, r.log, r.complete)
	k.keptAgain(r.log, "depts:10")

	// A table gets another form.
	before = k.flush
	dbtest.Psql(t, url, "ALTER TABLE dept ADD COLUMN more int")
	k.flushed("DDL", before)
	until(t, r.log, r.complete)
	k.keptAgain(r.log, "depts:10")

	// The database is killed. An outage is never nil.
	before = k.flush
	server.Stop(dbtest.Immediate)
	k.flushed("the database is killed", before)
	if got := k.do("GET depts:99"); !strings.HasPrefix(got, "-UNAVAILABLE ") {
		t.Errorf("without a database: %q", got)
	}
	server.Start()
	until(t, r.log, r.complete)
	k.keptAgain(r.log, "depts:10")
	dbtest.Psql(t, url, "UPDATE dept SET loc = 'END' WHERE deptno = 10")
	until(t, r.log, func() bool { k.hear(10 * time.Millisecond); return len(k.copies) == 0 })
}
