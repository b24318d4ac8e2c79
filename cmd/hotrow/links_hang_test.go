package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// hangBound is within what the shortener says that its database hangs. It is the
// promise, and not what the machine of a test happens to do.
const hangBound = time.Second

// While the database of links hangs, redirects go on, and what asks how the
// shortener is hears it within a second: /api/v1/health with the counts of before,
// the pages with a sentence. Each of their statements waited for the database as
// long as a statement may take.
func TestLinks_AnswerWithinASecondWhileTheDatabaseHangs(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		s := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
		var pids []int
		// Longer than a statement may take: what asks then asks anew.
		hangs(t, s.Database(t), 9*time.Second, func() { pids = s.Pids(); s.Pause(pids...) },
			func() { s.Resume(pids...) })
	})
	t.Run("MariaDB", func(t *testing.T) {
		s := dbtest.NewMariaDB(t, nil)
		hangs(t, s.Database(t), time.Second, s.Pause, s.Resume)
	})
}

func hangs(t *testing.T, url string, last time.Duration, freeze, thaw func()) {
	r := serve(t, "-c", configFile(t, "version: 1\nlinks:\n  database: '"+url+"'\n  log: {dir: '"+
		filepath.Join(t.TempDir(), "clicks")+"', max: 64MiB}\n"))
	base := r.linksAddr()
	if code := makeLink(t, base, `{"code":"spring","url":"https://example.com/1"}`); code != 201 {
		t.Fatalf("create: %d", code)
	}
	// The feed has told of the link too, which drops the copy, and it is in memory again.
	told := regexp.MustCompile(`_invalidations_total\{origin="feed",source="links"\} [1-9]`)
	hits := regexp.MustCompile(`_lookups_total\{resource="links",result="hit",tier="memory"\} (\d+)`)
	until(t, r.log, func() bool {
		followed(t, "GET", base+"/spring") // else nobody has asked, and there are no metrics of it
		_, metrics := get(t, r.ops+"/metrics")
		return told.MatchString(metrics)
	})
	before := ""
	until(t, r.log, func() bool {
		code, _ := followed(t, "GET", base+"/spring")
		health, body := get(t, base+"/api/v1/health")
		_, metrics := get(t, r.ops+"/metrics")
		now := ""
		if m := hits.FindStringSubmatch(metrics); m != nil {
			now = m[1]
		}
		again := before != "" && now != before
		before = now
		return code == 302 && health == 200 && strings.Contains(body, `"links":1`) && again
	})
	defer thaw() // a second time it goes on already
	freeze()
	begin := time.Now()
	for round := 0; round < 2 || time.Since(begin) < last; round++ {
		for path, want := range map[string]string{
			"/api/v1/health": `"status":"database"`, "/+": "does not answer",
			"/spring+": "does not answer", "/api/v1/links": "does not answer",
			"/api/v1/links/spring/stats": "does not answer", "/+/export.csv": "does not answer",
		} {
			asked := time.Now()
			code, body := get(t, base+path)
			took := time.Since(asked)
			if code != 503 || !strings.Contains(body, want) || waittest.Late(took, hangBound) {
				t.Errorf("round %d: %s is %d after %v: %.300s", round, path, code, took, body)
			}
			var health struct{ Links int }
			if path == "/api/v1/health" && (json.Unmarshal([]byte(body), &health) != nil || health.Links != 1) {
				t.Errorf("health does not say what it knew: %s", body)
			}
		}
		asked := time.Now()
		if code := makeLink(t, base, `{"url":"https://example.com/2"}`); code != 503 ||
			waittest.Late(time.Since(asked), hangBound) {
			t.Errorf("round %d: a write is %d after %v", round, code, time.Since(asked))
		}
		asked = time.Now()
		if code, _ := followed(t, "GET", base+"/spring"); code != 302 || waittest.Late(time.Since(asked), hangBound) {
			t.Errorf("round %d: a redirect is %d after %v", round, code, time.Since(asked))
		}
	}
	thaw()
	until(t, r.log, func() bool {
		health, _ := get(t, base+"/api/v1/health")
		page, body := get(t, base+"/+")
		return health == 200 && page == 200 && strings.Contains(body, "spring")
	})
}
