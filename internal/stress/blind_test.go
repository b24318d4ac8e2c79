package stress

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A blindSpot is a line of the table of docs/explanation/freshness.md: changes of the table
// x that a feed does not see, or seems not to.
type blindSpot struct {
	name, setup string
	mode        source.FeedMode
	change      string // makes the column v of row 1 new
	gone        bool   // the row is gone after the change
	kept        bool   // hits are expected before the change
}

// ownTriggers are those of a program that hotrow may use as they are.
const ownTriggers = "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM" +
	" pg_notify('events_x', coalesce(NEW.id, OLD.id)::text); RETURN NULL; END $$;" +
	" CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON x FOR EACH ROW EXECUTE FUNCTION tell()"

const update = "UPDATE x SET v = 'new'"

func blindSpots() []blindSpot {
	logical, notify := source.FeedLogical, source.FeedNotify
	publish := func(what string) string {
		return plain("x") + "; " + plain("y") + "; CREATE PUBLICATION hotrow FOR TABLE " + what
	}
	return []blindSpot{
		{name: "row filter", setup: publish("x WHERE (id > 5), y"), mode: source.FeedAuto,
			change: update},
		{name: "column list", setup: publish("x (id), y"), mode: source.FeedAuto, change: update},
		{name: "replica role", setup: plain("x"), mode: logical, kept: true,
			change: "SET session_replication_role = replica; " + update},
		{name: "replica role, triggers of hotrow", setup: plain("x"), mode: notify, kept: true,
			change: "SET session_replication_role = replica; " + update},
		{name: "trigger disabled", setup: plain("x"), mode: notify, kept: true,
			change: "ALTER TABLE x DISABLE TRIGGER hotrow_row; " + update},
		{name: "all triggers disabled", setup: plain("x"), mode: notify, kept: true,
			change: "ALTER TABLE x DISABLE TRIGGER ALL; " + update + "; ALTER TABLE x ENABLE TRIGGER ALL"},
		{name: "trigger of replicas", setup: plain("x"), mode: notify, kept: true,
			change: "ALTER TABLE x ENABLE REPLICA TRIGGER hotrow_row; " + update},
		{name: "truncated", setup: plain("x"), mode: logical, kept: true, change: "TRUNCATE x", gone: true},
		{name: "truncated, triggers of hotrow", setup: plain("x"), mode: notify, kept: true,
			change: "TRUNCATE x", gone: true},
		{name: "truncated, other triggers", setup: plain("x") + ";" + ownTriggers, mode: source.FeedNotify,
			change: "TRUNCATE x", gone: true},
	}
}

func TestPostgres_BlindSpots(t *testing.T) {
	for _, b := range blindSpots() {
		t.Run(b.name, func(t *testing.T) {
			at := dbtest.Postgres(t)
			conn := testbed.Dial(t, at)
			testbed.MustExec(t, conn, b.setup)
			if b.mode == source.FeedNotify && !strings.Contains(b.setup, "TRIGGER") {
				doctored(t, at, []resource.Spec{testbed.Spec("x")})
			}
			s := newBlindStand(t, at, b.mode, strings.Contains(b.setup, "TABLE y"))
			s.sees(b.kept, func() { testbed.MustExec(t, conn, b.change) }, b.gone)
		})
	}
}

// newBlindStand serves x, and y, which the feed follows in any case.
func newBlindStand(t *testing.T, at string, mode source.FeedMode, y bool) *stand {
	t.Helper()
	bypass := resource.LagBypass
	specs := []resource.Spec{testbed.Spec("x")}
	specs[0].Stale.OnLag = &bypass
	if y {
		specs = append(specs, testbed.Spec("y"))
	}
	return newStand(t, at, plan{Specs: specs, Mode: mode,
		Change: func(o *resource.SourceOptions) { o.LookBetter = 300 * time.Millisecond }})
}

// TestPostgres_OfASubscription: what a subscription applies fires no trigger but those that
// are enabled ALWAYS; the log has it.
func TestPostgres_OfASubscription(t *testing.T) {
	t.Parallel()
	for name, triggers := range map[string]string{"logical": "", "notify": "", "other triggers": ownTriggers} {
		t.Run(name, func(t *testing.T) {
			from, at := dbtest.Postgres(t), dbtest.Postgres(t)
			publisher, conn := testbed.Dial(t, from), testbed.Dial(t, at)
			testbed.MustExec(t, publisher, plain("x")+"; CREATE PUBLICATION p FOR TABLE x")
			testbed.MustExec(t, conn, "CREATE TABLE x (id int PRIMARY KEY, v text); "+plain("y")+";"+triggers)
			mode := source.FeedNotify
			switch name {
			case "logical":
				mode = source.FeedLogical
			case "notify":
				doctored(t, at, []resource.Spec{testbed.Spec("x"), testbed.Spec("y")})
			default:
				testbed.MustExec(t, conn, strings.NewReplacer("events_x", "events_y", "tell", "tell_y",
					"ON x", "ON y").Replace(triggers))
			}
			s := newBlindStand(t, at, mode, true)
			subscribe(t, publisher, conn, from)
			waittest.Until(t, "the row", func() bool { return testbed.Number(t, conn, "SELECT count(*) FROM x") == 1 })
			s.sees(triggers == "", func() {
				testbed.MustExec(t, publisher, update)
				waittest.Until(t, "the change", func() bool {
					return testbed.Number(t, conn, "SELECT count(*) FROM x WHERE v = 'new'") == 1
				})
			}, false)
		})
	}
}

// subscribe has conn's database apply what is published at from, of the same server.
func subscribe(t *testing.T, publisher, conn *pgx.Conn, from string) {
	t.Helper()
	slot := "s" + fmt.Sprint(testbed.Number(t, publisher,
		"SELECT oid::int8 FROM pg_database WHERE datname = current_database()"))
	testbed.MustExec(t, publisher, "SELECT pg_create_logical_replication_slot('"+slot+"', 'pgoutput')")
	testbed.MustExec(t, conn, fmt.Sprintf("CREATE SUBSCRIPTION s CONNECTION '%s' PUBLICATION p"+
		" WITH (create_slot = false, slot_name = '%s')", from, slot))
	t.Cleanup(func() { testbed.MustExec(t, conn, "DROP SUBSCRIPTION s") })
}

// sees: nothing is answered that is older than definitionBound after change.
func (s *stand) sees(kept bool, change func(), gone bool) {
	s.T.Helper()
	read := func() (string, resource.Origin) {
		a, err := s.Resource("x").Get(context.Background(), "1",
			resource.Options{Format: row.FormatJSON})
		switch {
		case err != nil:
			return "error: " + err.Error(), resource.HitStale
		case a.Doc.Absent():
			return "gone", a.Origin
		}
		return string(a.Doc.Body()), a.Origin
	}
	if kept {
		waittest.Until(s.T, "a hit", func() bool { _, from := read(); return from == resource.HitMemory })
	}
	for range 5 {
		read()
	}
	change()
	testbed.Pause(s.T.Context(), definitionBound)
	for i := range 5 {
		now, from := read()
		if gone != (now == "gone") || !gone && !strings.Contains(now, "new") {
			s.T.Fatalf("read %d: %s from %v", i, now, from)
		}
	}
}

// TestPostgres_BusySender: a server's process that is at work for longer than a silent one
// would be waited for is not taken for one that is gone.
func TestPostgres_BusySender(t *testing.T) {
	t.Parallel() // it waits for eight seconds
	at := dbtest.Postgres(t)
	conn, locks := testbed.Dial(t, at), testbed.Dial(t, at)
	testbed.MustExec(t, conn, plain("x"))
	s := newBlindStand(t, at, source.FeedLogical, false)
	s.Quiet()
	gaps := s.Stats().Gaps
	// It asks which publications have the table, for the first change of one.
	testbed.MustExec(t, locks, "BEGIN", "LOCK TABLE pg_catalog.pg_publication IN ACCESS EXCLUSIVE MODE")
	testbed.MustExec(t, conn, "INSERT INTO x VALUES (2, 'new')")
	testbed.Pause(t.Context(), 8*time.Second)
	testbed.MustExec(t, locks, "COMMIT")
	s.Quiet()
	if now := s.Stats().Gaps; now != gaps {
		t.Errorf("the feed was lost %d times while its server was at work", now-gaps)
	}
	s.sees(true, func() { testbed.MustExec(t, conn, update) }, false)
}
