package postgres

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// bounded are the settings of a server that allows named slots.
var bounded = map[string]string{"wal_level": "logical", "max_slot_wal_keep_size": "64MB"}

// A shelf is a checkpoint store that a test sets.
type shelf struct {
	mu    sync.Mutex
	place source.Checkpoint
}

func (s *shelf) Complete() (source.Checkpoint, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place, true
}

func (s *shelf) set(p source.Checkpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place = p
}

// A resumer is a recorder that can go on.
type resumer struct {
	*recorder
	refuses bool

	mu      sync.Mutex
	resumed []source.Position
}

func (r *resumer) Resumed(origin string, pos source.Position) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuses {
		return false
	}
	r.resumed = append(r.resumed, pos)
	r.recorder.mu.Lock()
	defer r.recorder.mu.Unlock()
	r.recorder.pos = pos
	return true
}

func (r *resumer) goesOn() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.resumed)
}

// slotOfTest is a name that a slot may have and that SQL takes only in quotes.
const slotOfTest = "7_hotrow_test"

// A slotStand is a database whose feed has a named slot, and is run again and
// again, each time as another process would.
type slotStand struct {
	t      *testing.T
	server *dbtest.Server
	url    string
	conn   *pgx.Conn
	shelf  *shelf
	keep   bool // standbys keep the slot, too
	feed   source.Feed
	rec    *resumer
	stop   func()
}

func newSlotStand(t *testing.T) *slotStand {
	return newSlotStandIn(t, dbtest.NewPostgres(t, bounded))
}

// newSlotStandIn makes a database in server.
func newSlotStandIn(t *testing.T, server *dbtest.Server) *slotStand {
	s := &slotStand{t: t, server: server, shelf: new(shelf)}
	s.url = s.server.Database(t)
	s.conn = feedConn(t, s.url)
	s.exec(feedSchema)
	return s
}

func (s *slotStand) exec(sql string) {
	s.t.Helper()
	if _, err := s.conn.Exec(s.t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		s.t.Fatal(err)
	}
}

// start begins a process and waits until its feed follows.
func (s *slotStand) start(refuses bool) {
	s.t.Helper()
	src := sourceOf(s.t, s.url)
	src.Slot, src.SlotFailover = slotOfTest, s.keep
	feed, _, err := openFeed(s.t.Context(), src, source.FeedLogical, feedTables)
	if err != nil {
		s.t.Fatal(err)
	}
	s.feed, s.rec = feed, &resumer{recorder: new(recorder), refuses: refuses}
	feed.(source.Resumer).UseCheckpoints(s.shelf)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil { // as whoever follows a feed does
			_ = feed.Run(ctx, s.rec)
		}
	}()
	s.stop = sync.OnceFunc(func() { cancel(); <-done; _ = feed.Close() })
	s.t.Cleanup(s.stop)
	s.fence()
}

// halt ends the process and waits until the server knows.
func (s *slotStand) halt() {
	s.t.Helper()
	s.stop()
	await(s.t, "the slot to be free", func() bool {
		return s.server.Exec("SELECT count(*) FROM pg_replication_slots WHERE active") == "0"
	})
}

// fence waits until the feed has everything.
func (s *slotStand) fence() {
	s.t.Helper()
	await(s.t, "fence", func() bool {
		_, err := s.feed.Fence(s.t.Context())
		return err == nil
	})
}

// commit puts on the shelf what the process has been told of so far.
func (s *slotStand) commit() source.Checkpoint {
	s.t.Helper()
	s.rec.recorder.mu.Lock()
	pos := s.rec.recorder.pos
	s.rec.recorder.mu.Unlock()
	p, ok := s.feed.(source.Resumer).Checkpoint(pos)
	if !ok {
		s.t.Fatal("the feed has no place to resume from")
	}
	s.shelf.set(p)
	return p
}

func (s *slotStand) confirmed() feed.LSN {
	s.t.Helper()
	var text string
	err := s.conn.QueryRow(s.t.Context(), "SELECT confirmed_flush_lsn::text"+
		" FROM pg_replication_slots WHERE slot_name = '7_hotrow_test'").Scan(&text)
	if err != nil {
		s.t.Fatal(err)
	}
	pos, err := feed.ParseLSN(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return pos
}

func TestPostgres_SlotGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	s := newSlotStand(t)
	s.start(false)
	if s.rec.goesOn() != 0 {
		t.Fatal("a new slot goes on")
	}
	s.exec("UPDATE dept SET loc = 'X' WHERE deptno = 10")
	s.fence()
	kept := s.commit()
	// Seen, and not committed: it comes again.
	s.exec("UPDATE emp SET ename = 'Y' WHERE empno = 7839")
	s.fence()
	if c := s.confirmed(); c > feed.LSN(kept.Pos) {
		t.Errorf("acknowledged %v, and only %v is kept", c, feed.LSN(kept.Pos))
	}
	s.stop()
	s.exec("DELETE FROM emp WHERE empno = 7566") // nobody follows
	s.start(false)
	if s.rec.goesOn() != 1 || len(s.rec.attached) != 0 {
		t.Fatalf("resumed %d times, began %d times", s.rec.goesOn(), len(s.rec.attached))
	}
	got := strings.Join(s.rec.taken(), " | ")
	if !strings.Contains(got, "emp U") || !strings.Contains(got, "emp D") ||
		strings.Contains(got, "dept U") || strings.Contains(got, "all") {
		t.Errorf("after the restart: %s", got)
	}

	// A connection that breaks is not a gap either, and what is acknowledged
	// follows what is kept.
	kept = s.commit()
	await(t, "acknowledgement", func() bool { s.fence(); return s.confirmed() >= feed.LSN(kept.Pos) })
	s.server.Kill(s.server.WalSenders()...)
	await(t, "feed after a crash of the server", func() bool { return len(s.rec.attachedNow()) > 0 })
}

// attachedNow returns the origins that were told so far.
func (r *recorder) attachedNow() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.attached...)
}

func TestPostgres_SlotGoesOnAfterTheConnectionBroke(t *testing.T) {
	t.Parallel()
	s := newSlotStand(t)
	s.start(false)
	s.commit()
	s.exec("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots")
	s.exec("UPDATE dept SET loc = 'X' WHERE deptno = 10")
	await(t, "resume", func() bool { return s.rec.goesOn() > 0 })
	s.fence()
	if n := len(s.rec.attachedNow()); n != 1 {
		t.Errorf("the feed began %d times", n)
	}
}

// TestPostgres_SlotDoubts: whatever may be a gap is one.
func TestPostgres_SlotDoubts(t *testing.T) {
	t.Parallel()
	tests := map[string]func(s *slotStand, p source.Checkpoint){
		"nothing kept":   func(s *slotStand, _ source.Checkpoint) { s.shelf.set(source.Checkpoint{}) },
		"another origin": func(s *slotStand, p source.Checkpoint) { p.Origin += "1"; s.shelf.set(p) },
		"acknowledged beyond": func(s *slotStand, p source.Checkpoint) {
			p.Pos--
			s.shelf.set(p)
		},
		"set back": func(s *slotStand, p source.Checkpoint) { p.Pos += 1 << 40; s.shelf.set(p) },
		"silenced": func(s *slotStand, _ source.Checkpoint) {
			s.exec("ALTER PUBLICATION hotrow SET (publish = 'insert')")
			s.exec("UPDATE dept SET loc = 'unsaid' WHERE deptno = 10")
			s.exec("ALTER PUBLICATION hotrow SET (publish = 'insert, update, delete, truncate')")
		},
		"altered": func(s *slotStand, _ source.Checkpoint) { s.exec("ALTER TABLE dept ADD x int") },
		"rewritten": func(s *slotStand, _ source.Checkpoint) {
			s.exec("ALTER TABLE dept ALTER loc TYPE text USING loc || 'x'")
		},
		"slot dropped": func(s *slotStand, _ source.Checkpoint) {
			s.exec("SELECT pg_drop_replication_slot('7_hotrow_test')")
		},
		"slot of before dropped and made by another": func(s *slotStand, _ source.Checkpoint) {
			s.exec("SELECT pg_drop_replication_slot('7_hotrow_test')")
			s.exec("SELECT pg_create_logical_replication_slot('7_hotrow_test', 'pgoutput')")
		},
		"slot of another plug-in": func(s *slotStand, _ source.Checkpoint) {
			s.exec("SELECT pg_drop_replication_slot('7_hotrow_test')")
			s.exec("SELECT pg_create_logical_replication_slot('7_hotrow_test', 'test_decoding')")
		},
		"crash": func(s *slotStand, _ source.Checkpoint) {
			s.server.Stop(dbtest.Immediate)
			s.server.Start()
			s.conn = feedConn(s.t, s.url)
		},
	}
	server := dbtest.NewPostgres(t, bounded)
	for name, doubt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSlotStandIn(t, server)
			s.start(false)
			p := s.commit()
			await(t, "acknowledgement", func() bool { s.fence(); return s.confirmed() >= feed.LSN(p.Pos) })
			s.halt()
			doubt(s, p)
			s.start(false)
			if s.rec.goesOn() != 0 || len(s.rec.attachedNow()) == 0 {
				t.Error("the feed goes on as if nothing had happened")
			}
			s.halt()
			s.exec("SELECT pg_drop_replication_slot('7_hotrow_test')")
		})
	}
}

// TestPostgres_SlotCleanRestartOfTheServer loses nothing.
func TestPostgres_SlotCleanRestartOfTheServer(t *testing.T) {
	t.Parallel()
	s := newSlotStand(t)
	s.start(false)
	s.commit()
	s.stop()
	s.server.Stop(dbtest.Fast)
	s.server.Start()
	s.conn = feedConn(t, s.url)
	s.start(false)
	if s.rec.goesOn() != 1 {
		t.Error("the feed begins anew")
	}
}

// TestPostgres_SlotLost: the server has thrown the log away that the slot needs.
func TestPostgres_SlotLost(t *testing.T) {
	t.Parallel()
	s := newSlotStand(t)
	s.server.Set(map[string]string{"max_slot_wal_keep_size": "1MB", "max_wal_size": "32MB"})
	s.conn = feedConn(t, s.url)
	s.start(false)
	s.commit()
	s.stop()
	await(t, "loss of the slot", func() bool {
		s.exec("CREATE TABLE IF NOT EXISTS bulk (x text);" +
			"INSERT INTO bulk SELECT repeat('x', 1000) FROM generate_series(1, 20000);" +
			"SELECT pg_switch_wal(); CHECKPOINT")
		var status string
		err := s.conn.QueryRow(t.Context(), "SELECT wal_status FROM pg_replication_slots").Scan(&status)
		return err == nil && status == "lost"
	})
	s.start(false)
	if s.rec.goesOn() != 0 || len(s.rec.attachedNow()) == 0 {
		t.Error("the feed goes on with a slot that is lost")
	}
}

func TestPostgres_SlotHandlerThatCannotGoOn(t *testing.T) {
	t.Parallel()
	s := newSlotStand(t)
	s.start(false)
	s.commit()
	s.stop()
	s.start(true)
	if len(s.rec.attachedNow()) == 0 {
		t.Error("the feed did not begin anew")
	}
}

func TestPostgres_SlotIsRefused(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	url := server.Database(t, dbtest.Setup(feedSchema))
	open := func(slot string, force bool) error {
		src := sourceOf(t, url)
		src.Slot, src.SlotUnbounded = slot, force
		feed, _, err := openFeed(t.Context(), src, source.FeedLogical, feedTables)
		if feed != nil {
			_ = feed.Close()
		}
		return err
	}
	err := open("hotrow_a", false)
	if err == nil || !strings.Contains(err.Error(), "ALTER SYSTEM SET max_slot_wal_keep_size") {
		t.Errorf("without a bound: %v", err)
	}
	if err := open("hotrow_a", true); err != nil {
		t.Errorf("forced: %v", err)
	}
	// Nobody else's slots are bounded unasked, and no feed is lost for want of a slot.
	src := sourceOf(t, url)
	src.Slot = "hotrow_a"
	var said bytes.Buffer
	src.Log = slog.New(slog.NewTextHandler(&said, nil))
	findings, err := doctor(t.Context(), src, source.FeedAuto, feedTables)
	if err != nil || feedWorst(findings, source.LevelError) != nil ||
		!strings.Contains(strings.Join(feedWorst(findings, source.LevelWarning), ""), "hotrow_a") {
		t.Errorf("doctor says %q, %v", feedWorst(findings, source.LevelWarning), err)
	}
	for _, f := range findings {
		if strings.Contains(strings.Join(f.Apply, ";")+strings.Join(f.Remove, ";"), "SYSTEM") {
			t.Errorf("unasked: %q, %q", f.Apply, f.Remove)
		}
	}
	feed, why, err := openFeed(t.Context(), src, source.FeedAuto, feedTables)
	if err != nil || feed == nil || feed.Mode() != source.FeedLogical ||
		!strings.Contains(why, "temporary slot") {
		t.Fatalf("the feed is %v: %s, %v", feed, why, err)
	}
	_ = feed.Close()
	if text := said.String(); !strings.Contains(text, "level=WARN") ||
		!strings.Contains(text, "feed.slot cannot be used") || !strings.Contains(text, "on disk") {
		t.Errorf("the log says %q", text)
	}
	if err := open("Hotrow-A", true); err == nil {
		t.Error("a name that no slot can have is taken")
	}
	if err := open("1_node", true); err != nil {
		t.Errorf("a name that begins with a digit: %v", err)
	}
	// What the error says mends it.
	server.Exec("ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'")
	server.Exec("SELECT pg_reload_conf()")
	await(t, "the bound", func() bool { return open("hotrow_a", false) == nil })
}

// TestPostgres_SlotOfAnotherNode: two nodes that have one name.
func TestPostgres_SlotOfAnotherNode(t *testing.T) {
	t.Parallel()
	s := newSlotStand(t)
	s.start(false)
	src := sourceOf(t, s.url)
	src.Slot = slotOfTest
	feed, _, err := openFeed(t.Context(), src, source.FeedLogical, feedTables)
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	err = feed.Run(t.Context(), &resumer{recorder: new(recorder)})
	if err == nil || !strings.Contains(err.Error(), "is active for process") {
		t.Errorf("the second node: %v", err)
	}
	s.fence() // the first one goes on
}

// TestPostgres_DoctorDropsTheSlotThatItNames: what a feed with feed.slot leaves keeps log
// for ever. Without that name it may be another program's, and is only shown.
func TestPostgres_DoctorDropsTheSlotThatItNames(t *testing.T) {
	t.Parallel()
	s := newSlotStand(t)
	s.start(false)
	look := func(slot string) (drop, byHand []string) {
		t.Helper()
		src := sourceOf(t, s.url)
		src.Slot = slot
		findings, err := doctor(t.Context(), src, source.FeedAuto, feedTables)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if strings.Contains(f.Text, slotOfTest) {
				drop, byHand = append(drop, f.Remove...), append(byHand, f.RemoveByHand...)
			}
		}
		return drop, byHand
	}
	if drop, byHand := look(""); drop != nil || byHand != nil {
		t.Errorf("of a slot that somebody uses: %q, %q", drop, byHand)
	}
	s.halt()
	drop, byHand := look("")
	if drop != nil || len(byHand) != 1 || !strings.Contains(byHand[0], "'"+slotOfTest+"'") {
		t.Errorf("of a slot that nobody uses: %q, by hand %q", drop, byHand)
	}
	drop, byHand = look(slotOfTest)
	if len(drop) != 1 || byHand != nil {
		t.Fatalf("of the slot of the configuration: %q, by hand %q", drop, byHand)
	}
	s.exec(drop[0])
	if drop, byHand = look(slotOfTest); drop != nil || byHand != nil {
		t.Errorf("of a slot that is dropped: %q, %q", drop, byHand)
	}
}
