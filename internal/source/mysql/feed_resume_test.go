package mysql

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/binlog"
)

// A shelf is a checkpoint store that a test sets.
type shelf struct{ place source.Checkpoint }

func (s *shelf) Complete() (source.Checkpoint, bool) { return s.place, true }

// A resumer is a recorder that can go on.
type resumer struct {
	*recorder
	refuses bool

	mu      sync.Mutex // guards resumed
	resumed int
}

func (r *resumer) Resumed(_ string, pos source.Position) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuses {
		return false
	}
	r.resumed++
	r.recorder.mu.Lock()
	defer r.recorder.mu.Unlock()
	r.pos = pos
	return true
}

func (r *resumer) goesOn() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resumed
}

// again runs a feed of the fixture's database as another process would, until
// stop is called. It has caught up when again returns.
func (f *fixture) again(kept source.Checkpoint, refuses bool) (rec *resumer, stop func()) {
	f.t.Helper()
	feed, _, err := f.src.OpenFeed(f.t.Context(), source.FeedBinlog,
		followed(f.src, "dept deptno"))
	if err != nil {
		f.t.Fatal(err)
	}
	feed.(source.Resumer).UseCheckpoints(&shelf{kept})
	f.feed, f.rec = feed, new(recorder)
	rec = &resumer{recorder: f.rec, refuses: refuses}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := feed.Run(ctx, rec); ctx.Err() == nil {
				f.t.Logf("Run: %v", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	f.t.Cleanup(stop)
	await(f.t, "attach", func() bool { return f.rec.epochs()+rec.goesOn() > 0 && f.tryFence() })
	return rec, stop
}

// place returns from where the feed would go on now: soon after a feed has attached there is
// such a place.
func (f *fixture) place() (p source.Checkpoint) {
	f.t.Helper()
	await(f.t, "a place to resume from", func() (ok bool) {
		f.rec.mu.Lock()
		pos := f.rec.pos
		f.rec.mu.Unlock()
		p, ok = f.feed.(source.Resumer).Checkpoint(pos)
		return ok
	})
	return p
}

// followed follows for a while, and returns from where to go on.
func (f *fixture) followed() source.Checkpoint {
	f.t.Helper()
	_, stop := f.again(source.Checkpoint{}, false)
	run(f.t, f.conn, "UPDATE dept SET loc = 'A' WHERE deptno = 10")
	f.fence()
	kept := f.place()
	stop()
	return kept
}

func newResumed(t *testing.T, server *dbtest.MariaDBServer) *fixture {
	url := server.Database(t)
	f := &fixture{t: t, src: openSource(t, url, Options{}), conn: foreign(t, url)}
	run(t, f.conn, feedSchema...)
	return f
}

func TestMariaDB_FeedGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	f := newResumed(t, dbtest.NewMariaDB(t, nil))
	_, stop := f.again(source.Checkpoint{}, false)
	run(t, f.conn, "UPDATE dept SET loc = 'A' WHERE deptno = 10")
	f.fence()
	kept := f.place()
	run(t, f.conn, "UPDATE dept SET loc = 'B' WHERE deptno = 20") // seen, and not kept
	f.fence()
	stop()
	run(t, f.conn, "INSERT INTO dept VALUES (30, '', '')", "FLUSH BINARY LOGS",
		"DELETE FROM dept WHERE deptno = 10") // nobody follows
	rec, stop := f.again(kept, false)
	want := []string{"dept U (deptno=20)->(deptno=20)", "dept I ->(deptno=30)",
		"dept D (deptno=10)->"}
	if got := f.fence(); rec.goesOn() != 1 || rec.epochs() != 0 || !slices.Equal(got, want) {
		t.Fatalf("resumed %d times, began %d times:\n got %q\nwant %q", rec.goesOn(), rec.epochs(),
			got, want)
	}
	f.want(one("UPDATE dept SET loc = 'C' WHERE deptno = 20"), "dept U (deptno=20)->(deptno=20)")
	kept = f.place()
	stop()
	// Nothing is written meanwhile.
	if rec, _ = f.again(kept, false); rec.goesOn() != 1 || len(f.fence()) != 0 {
		t.Error("the feed does not go on where the log ends")
	}
}

// TestMariaDB_ResumeDoubts: whatever may be a gap is one.
func TestMariaDB_ResumeDoubts(t *testing.T) {
	t.Parallel()
	tests := map[string]func(f *fixture, s *dbtest.MariaDBServer, p *source.Checkpoint){
		"another origin": func(_ *fixture, _ *dbtest.MariaDBServer, p *source.Checkpoint) { p.Origin += "1" },
		"no note":        func(_ *fixture, _ *dbtest.MariaDBServer, p *source.Checkpoint) { p.Note = "" },
		"a note of another position": func(_ *fixture, _ *dbtest.MariaDBServer, p *source.Checkpoint) {
			p.Pos += 1 << binlog.OffsetBits
		},
		"purged": func(f *fixture, s *dbtest.MariaDBServer, p *source.Checkpoint) {
			run(f.t, f.conn, "FLUSH BINARY LOGS")
			_, was, _ := strings.Cut(p.Note, "binlog.")
			await(f.t, "the log is gone", func() bool { // which the engine keeps for a moment
				run(f.t, f.conn, "PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY",
					"UPDATE dept SET loc = CONCAT(loc, 'x') WHERE deptno = 10")
				logs := dbtest.MariaDBShell(f.t, s.URL(), "SHOW BINARY LOGS")
				return !strings.Contains(logs, "binlog."+was)
			})
		},
		"reset": func(f *fixture, _ *dbtest.MariaDBServer, p *source.Checkpoint) {
			run(f.t, f.conn, "DO SLEEP(1.1)", "RESET MASTER")
			for {
				if pos := logEnd(f); pos >= p.Pos {
					return
				}
				run(f.t, f.conn, "UPDATE dept SET loc = CONCAT(loc, 'x') WHERE deptno = 10")
			}
		},
		"restarted": func(f *fixture, s *dbtest.MariaDBServer, _ *source.Checkpoint) {
			run(f.t, f.conn, "DO SLEEP(3.1)")
			s.Restart(dbtest.Immediate)
		},
	}
	for name, doubt := range tests {
		t.Run(name, func(t *testing.T) {
			server := dbtest.NewMariaDB(t, nil)
			f := newResumed(t, server)
			kept := f.followed()
			doubt(f, server, &kept)
			if rec, _ := f.again(kept, false); rec.goesOn() != 0 || rec.epochs() == 0 {
				t.Error("the feed goes on as if nothing had happened")
			}
		})
	}
}

func TestMariaDB_ResumeOfAHandlerThatCannot(t *testing.T) {
	f := newResumed(t, dbtest.NewMariaDB(t, nil))
	kept := f.followed()
	if rec, _ := f.again(kept, true); rec.epochs() == 0 {
		t.Error("the feed did not begin anew")
	}
}

// logEnd returns the end of the binary log.
func logEnd(f *fixture) source.Position {
	f.t.Helper()
	c, err := f.src.controlConn(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.release()
	pos, err := binlog.WritePosition(f.t.Context(), c)
	if err != nil {
		f.t.Fatal(err)
	}
	return pos
}
