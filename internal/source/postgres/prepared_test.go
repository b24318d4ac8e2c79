package postgres

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// A guarded is a buffer for the log.
type guarded struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (g *guarded) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.Write(p)
}

func (g *guarded) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.String()
}

// TestPostgres_ForgottenPreparedTransactionsAreNamed: no session has them, and no feed begins
// before their end. Doctor names them, and the log says where they are.
func TestPostgres_ForgottenPreparedTransactionsAreNamed(t *testing.T) {
	t.Parallel() // it waits for the most part
	server := dbtest.NewPostgres(t, map[string]string{
		"wal_level": "logical", "max_prepared_transactions": "5"})
	f := feedDatabase(t, server.URL(), feedSchema)
	f.exec("BEGIN", "UPDATE dept SET loc = 'X'", "PREPARE TRANSACTION 'it''s lost'")
	about := func(f source.Finding) bool { return strings.Contains(f.Text, "'it''s lost'") }
	var found source.Finding
	await(t, "a finding", func() bool {
		findings := feedDiagnose(t, server.URL(), source.FeedAuto)
		i := slices.IndexFunc(findings, about)
		if i >= 0 {
			found = findings[i]
		}
		return i >= 0
	})
	if found.Level != source.LevelWarning || len(found.Apply) != 0 {
		t.Errorf("%+v", found)
	}
	for _, want := range []string{"ROLLBACK PREPARED 'it''s lost'", "COMMIT PREPARED 'it''s lost'"} {
		if !strings.Contains(found.Why, want) {
			t.Errorf("no %s in %s", want, found.Why)
		}
	}

	log := new(guarded)
	src := sourceOf(t, server.URL())
	src.Log = slog.New(slog.NewTextHandler(log, nil))
	g := &fixture{t: t, url: server.URL(), conn: f.conn, src: src}
	var err error
	if g.feed, _, err = openFeed(t.Context(), src, source.FeedLogical, feedTables); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.feed.Close() })
	time.AfterFunc(10*time.Millisecond, func() {
		for end := time.Now().Add(feedPatience); time.Now().Before(end); {
			if strings.Contains(log.String(), "pg_prepared_xacts") {
				break
			}
			time.Sleep(2 * time.Millisecond) // between polls
		}
		server.Exec("ROLLBACK PREPARED 'it''s lost'")
	})
	g.run() // waits until it is attached
	if !strings.Contains(log.String(), "pg_prepared_xacts") {
		t.Errorf("the log says %s", log)
	}
	if slices.ContainsFunc(feedDiagnose(t, server.URL(), source.FeedAuto), about) {
		t.Error("doctor tells of a transaction that has ended")
	}
}
