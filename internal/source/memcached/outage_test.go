package memcached

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMemcached_ARestartCostsNoRequest(t *testing.T) {
	p, server := newPlan(t, users)
	server.Set("user:k", "old")
	mustLoad(t, p, "k")
	server.Restart()
	if got := loadJSON(t, p, "k"); got != "absent" {
		t.Errorf("after the restart the value reads %s", got)
	}
	server.Restart()
	mustWrite(t, p, source.OpCreate, "k", `{"name":"new"}`)
	server.Stop()
	for range 2 {
		_, err := p.Load(t.Context(), []row.Key{"k"})
		var e *source.Error
		if !errors.As(err, &e) || e.Class != source.Unavailable || e.After == 0 {
			t.Errorf("without a server: %v", err)
		}
		_, err = tryWrite(t, p, source.OpReplace, "k", `{}`)
		if source.ClassOf(err) != source.Unavailable {
			t.Errorf("a write without a server: %v", err)
		}
		if _, err := p.Check(t.Context()); source.ClassOf(err) != source.Unavailable {
			t.Errorf("check without a server: %v", err)
		}
	}
	server.Start()
	if got := loadJSON(t, p, "k"); got != "absent" {
		t.Errorf("when the server is back, the value reads %s", got)
	}
}

func TestMemcached_ARestartIsTold(t *testing.T) {
	p, server := newPlan(t, users)
	told := 0
	p.src.OnRestart(func() { told++ })
	for restarts := range 3 {
		for range 2 {
			mustLoad(t, p, "k")
			p.src.pool.empty() // so that the next load connects again
		}
		mustLoad(t, p, "k")
		if told != restarts {
			t.Errorf("told %d times of %d restarts", told, restarts)
		}
		server.Restart()
	}
}

func TestMemcached_AFrozenServerIsGivenUp(t *testing.T) {
	server := dbtest.NewMemcached(t)
	s := openSource(t, server.URL(), Options{StatementTimeout: 200 * time.Millisecond})
	p := mustCompile(t, s, users)
	server.Set("user:k", "v")
	mustLoad(t, p, "k")
	server.Pause()
	_, err := p.Load(t.Context(), []row.Key{"k"})
	if source.ClassOf(err) != source.Unavailable || !strings.Contains(err.Error(), "in time") {
		t.Errorf("a frozen server: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Load(ctx, []row.Key{"k"}); source.ClassOf(err) != source.Unavailable {
		t.Errorf("a load that was given up: %v", err)
	}
	server.Resume()
	if got := loadJSON(t, p, "k"); got != `{"name":"v","mail":null}` {
		t.Errorf("when it goes on, the value reads %s", got)
	}
	// One who has sent the change and hears nothing does not know its outcome.
	_, err = p.Write(t.Context(), &source.Write{Op: source.OpDelete, Key: "k",
		Touch: func([]source.Change, source.Position) { server.Pause() }})
	if err == nil || source.ClassOf(err) != source.Unknown {
		t.Errorf("a delete that is not answered: %v", err)
	}
	server.Resume()
}

func TestMemcached_CloseEndsLoads(t *testing.T) {
	server := dbtest.NewMemcached(t)
	s := openSource(t, server.URL(), Options{MaxConns: 1, AcquireTimeout: time.Minute,
		StatementTimeout: time.Minute})
	p := mustCompile(t, s, users)
	mustLoad(t, p, "k")
	server.Pause()
	done := make(chan error, 2)
	for range 2 { // one on the connection, one that waits for it
		go func() {
			_, err := p.Load(context.Background(), []row.Key{"k"})
			done <- err
		}()
	}
	within(t, "one to load and one to wait", func() bool {
		st := s.Stats()
		return st.InUse == 1 && st.Waiting == 1
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-done; source.ClassOf(err) != source.Unavailable ||
			!strings.Contains(err.Error(), "closed") {
			t.Errorf("a load under way: %v", err)
		}
	}
	if _, err := p.Load(t.Context(), []row.Key{"k"}); source.ClassOf(err) != source.Unavailable {
		t.Errorf("a load after it: %v", err)
	}
}

func TestMemcached_APlaceIsWaitedForSoLong(t *testing.T) {
	server := dbtest.NewMemcached(t)
	long := waittest.Limit(200 * time.Millisecond) // to connect takes its time, too
	s := openSource(t, server.URL(), Options{MaxConns: 1, AcquireTimeout: long})
	p := mustCompile(t, s, users)
	server.Set("user:k", "v")
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpDelete, Key: "k",
		Check: func(*source.Loaded) error {
			_, err := p.Load(t.Context(), []row.Key{"k"})
			return err
		}})
	if source.ClassOf(err) != source.Unavailable || !strings.Contains(err.Error(), "within "+long.String()) {
		t.Errorf("with no connection left: %v", err)
	}
	if st := s.Stats(); st.Timeouts != 1 {
		t.Errorf("stats: %+v", st)
	}
}

func TestMemcached_AsksWhoWeAre(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(file, []byte("ann:secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(filepath.Dir(file)), 0o755); err != nil {
		t.Fatal(err)
	}
	server := dbtest.NewMemcached(t, "-Y", file)
	for user, want := range map[string]source.Class{
		"ann:secret@": source.NoRow, "ann:wrong@": source.Unavailable, "": source.Unavailable,
	} {
		url := strings.Replace(server.URL(), "//", "//"+user, 1)
		p := mustCompile(t, openSource(t, url, Options{}), users)
		_, err := tryWrite(t, p, source.OpDelete, "none", "")
		if source.ClassOf(err) != want || err == nil {
			t.Errorf("as %q: %v", user, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is shown: %v", err)
		}
	}
}

// script is a server that answers each line of what it is sent with the next of
// its answers, and closes the connection after an empty one and the last.
func script(t *testing.T, answers ...string) (url string, connections *atomic.Int32) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections = new(atomic.Int32)
	done := make(chan struct{})
	go func() {
		defer close(done)
		next := 0
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			lines := bufio.NewScanner(c)
			for next < len(answers) && lines.Scan() {
				if lines.Text() == "stats" { // as each connection begins
					_, _ = fmt.Fprint(c, "ERROR\r\n")
					continue
				}
				_, _ = fmt.Fprint(c, answers[next])
				if next++; answers[next-1] == "" {
					break
				}
			}
			// Closed with something unread, the answer would be lost, too.
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { <-done })
	t.Cleanup(func() { _ = ln.Close() })
	return "memcached://" + ln.Addr().String(), connections
}

func TestMemcached_ErrorsHaveTheirClasses(t *testing.T) {
	for _, tt := range []struct {
		answer string
		want   source.Class
	}{
		{"ERROR\r\n", source.Internal},
		{"CLIENT_ERROR bad command line format\r\n", source.Internal},
		{"CLIENT_ERROR unauthenticated\r\n", source.Unavailable},
		{"SERVER_ERROR backend unavailable\r\n", source.Unavailable},
		{"SERVER_ERROR out of memory storing object\r\n", source.Full},
		{"HTTP/1.1 400 Bad Request\r\n", source.Unavailable},
		{"VALUE k 0 5\r\nabc", source.Unavailable},
		{"VALUE other 0 1\r\na\r\nEND\r\n", source.Unavailable},
		{"VALUE k 0 18446744073709551615\r\n", source.Internal},
		{"", source.Unavailable},
	} {
		url, _ := script(t, tt.answer)
		p := mustCompile(t, openSource(t, url, Options{}), source.ValueSpec{Format: source.ValueRaw})
		_, err := p.Load(t.Context(), []row.Key{"k"})
		if err == nil || source.ClassOf(err) != tt.want {
			t.Errorf("%q: class %d, %v", tt.answer, source.ClassOf(err), err)
		}
	}
}

// The answer to a change is one of these, or the outcome is not known.
func TestMemcached_WriteKnowsWhatItDoesNotKnow(t *testing.T) {
	const there, notThere = "VALUE k 0 1 7\r\na\r\nEND\r\n", "END\r\n"
	for _, tt := range []struct {
		answers []string // to gets, then to the lines of a change: head and value
		want    source.Class
	}{
		{[]string{there, "", ""}, source.Unknown},
		{[]string{there, "SERVER_ERROR connection to backend lost\r\n"}, source.Unknown},
		{[]string{there, "WHAT\r\n"}, source.Unknown},
		{[]string{there, "SERVER_ERROR object too large for cache\r\n"}, source.TooLarge},
		{[]string{there, "SERVER_ERROR out of memory storing object\r\n"}, source.Full},
		{[]string{there, "SERVER_ERROR read only\r\n"}, source.ReadOnly},
		{[]string{notThere, ""}, source.Unknown},
		{[]string{""}, source.Unavailable},
		{[]string{"SERVER_ERROR busy\r\n"}, source.Unavailable},
	} {
		url, connections := script(t, tt.answers...)
		p := mustCompile(t, openSource(t, url, Options{}), source.ValueSpec{Format: source.ValueRaw})
		_, err := tryWrite(t, p, source.OpReplace, "k", `{"value":"b"}`)
		if err == nil || source.ClassOf(err) != tt.want {
			t.Errorf("%q: class %d, %v", tt.answers, source.ClassOf(err), err)
		}
		if n := connections.Load(); n != 1 {
			t.Errorf("%q: %d connections", tt.answers, n)
		}
	}
}
