package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// valueOf reads the row of oneTable where s reads. The first failures tries end as a read
// does that conflicts with what is replayed.
func valueOf(t *testing.T, s *Source, failures int) (v string, err error) {
	t.Helper()
	err = s.read(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
		if failures--; failures >= 0 {
			return &pgconn.PgError{Code: "40001", Message: "conflict with recovery"}
		}
		return conn.QueryRow(ctx, "SELECT v FROM t").Scan(&v)
	})
	return v, err
}

// A commit that waits for another standby is visible on the one that is read, and not on
// the primary, which does not answer in its place then.
func TestPostgres_ReadsOfWhatThePrimaryDoesNotShow(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a read fails", "the feed tells of it"} {
		t.Run(name, func(t *testing.T) {
			primary, _, url, reads := standbyOf(t)
			s := withReads(t, url, reads)
			followReads(t, s)
			await(t, "the standby to be read", func() bool { return s.standby.trust.Load() != nil })
			failures := 2               // the first is tried again there
			if name != "a read fails" { // the primary is read, and was proved to show all
				failures = 0
				s.standby.distrust(s.standby.trust.Load())
				if v, err := valueOf(t, s, 0); v != "a" {
					t.Fatalf("%q, %v", v, err)
				}
			}
			before := s.standby.replayed.Load()
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			done := make(chan error, 1)
			go func() {
				_, err := conn.Exec(context.Background(),
					"SET synchronous_commit = on; UPDATE t SET v = 'b'")
				done <- err
			}()
			await(t, "the standby to show it", func() bool {
				return dbtest.Psql(t, reads, "SELECT v FROM t") == "b"
			})
			await(t, "the feed to tell of it", func() bool { return s.standby.replayed.Load() > before })
			v, err := valueOf(t, s, failures)
			if source.ClassOf(err) != source.Unavailable {
				t.Errorf("read %q, %v", v, err)
			}
			primary.Exec("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
			if err := <-done; err != nil {
				t.Error(err)
			}
			await(t, "the primary to show it", func() bool {
				v, err := valueOf(t, s, failures)
				return err == nil && v == "b"
			})
		})
	}
}

// A standby is not read before it has replayed what others may have shown.
func TestPostgres_ReadsOfAStandbyThatIsBehind(t *testing.T) {
	t.Parallel()
	_, standby, url, reads := standbyOf(t)
	s := withReads(t, url, reads)
	opened, why, err := s.OpenFeed(t.Context(), source.FeedLogical, oneTable)
	if err != nil {
		t.Fatalf("%s: %v", why, err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	standby.Exec("SELECT pg_wal_replay_pause()")
	dbtest.Psql(t, url, "UPDATE t SET v = 'b'")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- opened.Run(ctx, new(recorder)) }()
	select { // no read of the primary, which would be waited for
	case err := <-done:
		t.Fatal(err)
	case <-time.After(300 * time.Millisecond):
	}
	if v, err := valueOf(t, s, 0); v != "b" {
		t.Errorf("%q, %v", v, err)
	}
	standby.Exec("SELECT pg_wal_replay_resume()")
	await(t, "the standby to be read", func() bool { return s.standby.trust.Load() != nil })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
}

// What a standby shows that is promoted while it is read is not told: the primary lives on,
// and never had it.
func TestPostgres_ReadsOfAStandbyThatIsPromoted(t *testing.T) {
	t.Parallel()
	_, standby, url, reads := standbyOf(t)
	s := withReads(t, url, reads)
	followReads(t, s)
	var seen []string
	var err error
	read := func(ctx context.Context, conn *pgx.Conn) error {
		if len(seen) == 0 {
			if conn.Config().Port != s.standby.conn.Port {
				return nil // it is late on a busy machine
			}
			standby.Promote()
			dbtest.Psql(t, reads, "UPDATE t SET v = 'of another history'")
		}
		var v string
		err := conn.QueryRow(ctx, "SELECT v FROM t").Scan(&v)
		seen = append(seen, v)
		return err
	}
	await(t, "the standby to be read", func() bool {
		err = s.read(t.Context(), read)
		return err != nil || len(seen) > 0
	})
	if err != nil || len(seen) < 2 || seen[0] == "a" || seen[len(seen)-1] != "a" {
		t.Errorf("read %q, %v: want what the standby has, and then what the primary has", seen, err)
	}
}

// A feed tells nothing of what its standby has logged by itself, once it is promoted: the
// primary lives on, and these positions say nothing of what it has.
func TestPostgres_FeedOfAStandbyThatIsPromoted(t *testing.T) {
	t.Parallel()
	_, standby, url, reads := standbyOf(t)
	s := withReads(t, url, reads)
	opened, why, err := s.OpenFeed(t.Context(), source.FeedLogical, oneTable)
	if err != nil {
		t.Fatalf("%s: %v", why, err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	f := &fixture{t: t, feed: opened}
	f.run()
	dbtest.Psql(t, url, "UPDATE t SET v = 'b'")
	await(t, "the change", func() bool { return len(f.rec.taken()) > 0 })
	standby.Promote()
	end, err := feed.ParseLSN(dbtest.Psql(t, reads, "SELECT pg_current_wal_insert_lsn()"))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		dbtest.Psql(t, reads, "UPDATE t SET v = v || 'of another history'")
	}
	select {
	case err := <-f.done:
		f.done <- err
		var broken *feed.Broken
		if !errors.As(err, &broken) {
			t.Errorf("the feed ended by %v", err)
		}
	case <-time.After(feedPatience):
		t.Fatal("the feed goes on")
	}
	if told := f.rec.taken(); len(told) > 0 || f.rec.pos > source.Position(end) {
		t.Errorf("told of %v, up to %v; what is the primary's ended before %v", told, feed.LSN(f.rec.pos), end)
	}
}

// Who finds that a standby has caught up may come when another server is followed already:
// that one stays trusted, or the primary would be read for good.
func TestPostgres_StandbyThatCaughtUpTooLate(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/none") // never asked
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r := &standby{pool: pool}
	r.follow(feed.Server{Address: "first"}, nil)
	first := r.followed.Load()
	r.follow(feed.Server{Address: "second"}, nil)
	r.trusts(first)
	if now := r.trust.Load(); now == nil || now.of != r.followed.Load() || now.ctx.Err() != nil {
		t.Errorf("trusted: %+v, followed: %+v", now, r.followed.Load())
	}
	r.lost()
	r.trusts(first)
	if now := r.trust.Load(); now != nil {
		t.Errorf("nothing is followed, trusted: %+v", now)
	}
}
