package main

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/demo"
)

// TestServe_SaysThatItCachesNothing: a node without a feed answers from the database
// alone. /readyz says so, and ?strict is 503; with a feed it is 200.
func TestServe_SaysThatItCachesNothing(t *testing.T) {
	db := database(t, deptSQL)
	for mode, want := range map[string]int{"none": 503, "auto": 200} {
		r := serve(t, "-c", configFile(t, "version: 1\nsources:\n  main:\n    url: 'sqlite:"+db+
			"'\n    feed: {mode: "+mode+"}\nresources:\n  depts: {table: dept}\n"))
		code, body := get(t, r.ops+"/readyz")
		if code != 200 || strings.Contains(body, "every read asks the database") != (mode == "none") {
			t.Errorf("feed %s: /readyz = %d %q", mode, code, body)
		}
		if code, body := get(t, r.ops+"/readyz?strict"); code != want {
			t.Errorf("feed %s: /readyz?strict = %d %q, want %d", mode, code, body, want)
		}
	}
}

// TestPostgres_SaysThatItCachesNothingByURL: the same of a server that allows no feed, by
// its URL alone.
func TestPostgres_SaysThatItCachesNothingByURL(t *testing.T) {
	t.Parallel()
	r := serve(t, dbtest.NewPostgres(t, nil).Database(t, dbtest.Setup(deptSQL)))
	if a := r.get("/dept/10"); a.code != 200 {
		t.Fatalf("GET = %d %s", a.code, a.body)
	}
	code, body := get(t, r.ops+"/readyz")
	if code != 200 || !strings.Contains(body, "every read asks the database") {
		t.Errorf("/readyz = %d %q", code, body)
	}
	if code, body := get(t, r.ops+"/readyz?strict"); code != 503 {
		t.Errorf("/readyz?strict = %d %q, want 503", code, body)
	}
}

// TestServe_IsReadyWhileTheDatabaseIsAway: an outage of the database must not take
// every node out of its balancer, for each answers what it has.
func TestServe_IsReadyWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	url := server.Database(t)
	dbtest.Psql(t, url, demo.PostgresSQL())
	limited := configFile(t, strings.Replace(demo.YAML(url), "\nresources:",
		"\n    feed: {stale_if_error: 3s, max_stale: 1s}\nresources:", 1))
	forever := serve(t, url)
	soon := serve(t, "-c", limited)
	forever.hit("/dept/10")
	soon.hit("/depts/10")
	server.Stop(dbtest.Immediate)
	for _, r := range []*running{forever, soon} {
		until(t, r.log, func() bool { return status(r.ops+"/readyz?strict") == 503 })
		code, body := get(t, r.ops+"/readyz")
		if code != 200 || !strings.Contains(body, "source main: the feed has not been complete") {
			t.Errorf("/readyz = %d %q, want 200 that names the source", code, body)
		}
	}
	if a := forever.get("/dept/10"); a.code != 200 {
		t.Errorf("GET = %d %s, want a copy", a.code, a.body)
	}
	// Somebody must ask: nobody else finds out that the database is away.
	until(t, soon.log, func() bool {
		soon.get("/depts/20")
		return status(soon.ops+"/readyz") == 503
	})
	if code := status(forever.ops + "/readyz"); code != 200 {
		t.Errorf("/readyz = %d, want 200", code)
	}
	server.Start()
	until(t, soon.log, soon.complete)
}
