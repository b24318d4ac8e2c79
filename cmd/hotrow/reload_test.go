package main

import (
	"runtime"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// reloading reports whether a reload is under way in this process.
func reloading() bool {
	stacks := make([]byte, 8<<20)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "(*server).reload(")
}

// A SIGHUP and then a SIGTERM: the reload that waits for the database ends before what
// it builds on is closed, and it does not hold up the end.
func TestPostgres_AReloadEndsBeforeTheServerDoes(t *testing.T) {
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	url := server.Database(t, dbtest.Setup(deptSQL))
	r := serve(t, url)
	r.hit("/dept/10")
	pids := server.Pids()
	server.Pause(pids...)
	defer server.Resume(pids...)
	sighup(t)
	until(t, r.log, reloading)
	ended := make(chan int, 1)
	go func() { ended <- r.stop() }()
	until(t, r.log, func() bool { return !reloading() })
	select {
	case <-ended:
		t.Error("the server has ended while a reload was under way")
	default:
	}
	server.Resume(pids...) // closing connections that hang takes pgx 15 s
	if code := <-ended; code != 0 || strings.Contains(r.log.String(), "did not close") {
		t.Errorf("it ended with %d\n%s", code, r.log)
	}
}
