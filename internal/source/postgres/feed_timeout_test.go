package postgres

import (
	"context"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// A feed that could not be opened in time says nothing of what the database allows: it is an
// error that passes, and no advice to install triggers.
func TestPostgres_FeedThatIsLateIsTriedAgain(t *testing.T) {
	url := dbtest.Postgres(t)
	conn, src := feedConn(t, url), sourceOf(t, url)
	if _, err := conn.Exec(t.Context(), feedSchema); err != nil {
		t.Fatal(err)
	}
	facts, err := feed.ReadFacts(t.Context(), conn, feedTables, src.Names)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []source.FeedMode{source.FeedAuto, source.FeedLogical} {
		late, cancel := context.WithTimeout(t.Context(), 0)
		opened, why, err := choose(late, src, feed.NewControl(src), facts, mode, feedTables)
		cancel()
		if opened != nil || !source.ClassOf(err).Passing() {
			t.Errorf("%s: %v, %q, %v; want an error that passes", mode, opened, why, err)
		}
	}
}

// Tables are found by their names whatever points these have.
func TestPostgres_FactsOfNamesWithPoints(t *testing.T) {
	conn := feedConn(t, dbtest.Postgres(t))
	if _, err := conn.Exec(t.Context(), `CREATE SCHEMA "a.b"; CREATE TABLE "a.b"."c.d" (id int
		PRIMARY KEY); CREATE TABLE public."c.d" (id int PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	want := []source.Watched{{Table: "a.b.c.d"}, {Table: "public.c.d"}, {Table: "public.none"}}
	found, err := feed.ReadTables(t.Context(), conn, want, channelPrefix)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found[0].ID() != "a.b.c.d" || found[1].ID() != "public.c.d" ||
		len(found[0].Cols) != 1 || len(found[0].Key) != 1 {
		t.Errorf("found %d tables: %+v", len(found), found)
	}
	if none, err := feed.ReadTables(t.Context(), conn, want[2:], channelPrefix); err != nil ||
		len(none) != 0 {
		t.Errorf("%d tables of a name that is not there, %v", len(none), err)
	}
}
