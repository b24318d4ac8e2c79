package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/client"
	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

// TestPostgres_NothingIsIncludedThatIsNotVisible has a commit in the log, which the feed passes,
// before any read sees it: it waits for a standby that is not there. No answer that lacks it may
// say that it includes all up to there. Of a table that the feed leaves out no mark tells that.
func TestPostgres_NothingIsIncludedThatIsNotVisible(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical",
		"synchronous_commit": "local", "synchronous_standby_names": "nobody"})
	url := server.Database(t)
	dbtest.Psql(t, url, `CREATE TABLE told (id int PRIMARY KEY, v int); INSERT INTO told VALUES (1, 0);
		CREATE TABLE other (id int PRIMARY KEY, v int); INSERT INTO other VALUES (1, 0);
		CREATE TABLE untold (id int PRIMARY KEY, v int); INSERT INTO untold VALUES (1, 0);
		ALTER TABLE untold REPLICA IDENTITY NOTHING`)
	r := serve(t, url)
	wire := regexp.MustCompile(`proto=wire addr=(\S+)`).FindStringSubmatch(r.log.String())
	c, err := client.Open("hotrow://" + wire[1])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	get := func(table string) (body string, token resource.Token) {
		doc, err := c.Get(t.Context(), table, "1", client.MinPosition(""))
		if err == nil {
			token, err = resource.ParseToken(doc.Position)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(doc.Body), token
	}
	held := make(chan struct{})
	go func() {
		defer close(held)
		dbtest.Psql(t, url, `SET synchronous_commit = on;
			WITH also AS (UPDATE told SET v = 1) UPDATE untold SET v = 1`)
	}()
	release := func() {
		dbtest.Psql(t, url, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	}
	defer release()
	waits := "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	until(t, r.log, func() bool {
		select {
		case <-held:
			t.Fatal("the commit is not held")
		default:
		}
		return strings.TrimSpace(dbtest.Psql(t, url, waits)) == "1"
	})
	text := strings.TrimSpace(dbtest.Psql(t, url, "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"))
	lsn, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	end := source.Position(lsn)
	dbtest.Psql(t, url, "UPDATE other SET v = 1")
	until(t, r.log, func() bool { // the feed has passed both
		body, token := get("other")
		return strings.Contains(body, `"v":1`) && token.Since() >= end
	})
	for _, table := range []string{"told", "untold"} {
		body, token := get(table)
		if !strings.Contains(body, `"v":0`) || token.Since() >= end {
			t.Errorf("%s: %s includes all up to %X, and the change is before %X", table, body, token.Since(), end)
		}
	}
	release()
	<-held
	for _, table := range []string{"told", "untold"} {
		until(t, r.log, func() bool { body, _ := get(table); return strings.Contains(body, `"v":1`) })
	}
}
