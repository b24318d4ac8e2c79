// Package notify follows a PostgreSQL database by LISTEN and triggers: it makes the
// triggers, reads what they and those of other programs notify, and says what a table
// lacks for that.
//
// It loads nothing and keeps no copies; what it needs of the driver is feed.Config.
package notify

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// echoLimit is how long a notification of our own may take to come back before
// the connection counts as one that delivers none.
const echoLimit = 5 * time.Second

// A Feed follows a database by LISTEN. Its triggers cost every writer, and
// PostgreSQL orders all commits that notify behind one lock; it is for servers
// where logical replication is not to be had. Notifications are delivered in the
// order of commits and only of transactions that every new read sees, so nothing
// has to settle. Whatever was sent while nobody listened is lost: each Run is a
// new beginning.
type Feed struct {
	feed.Base
	session atomic.Pointer[listening] // nil: not attached
}

// listening is one connection of a Feed, from Attached on.
type listening struct {
	server  feed.Server // that conn leads to
	feed    *Feed
	conn    *pgx.Conn
	handler source.Handler
	reader  atomic.Pointer[reader]
	reload  sync.Mutex // held while the reader is made anew, by what the catalogue says last
	echoes  string     // the channel on which notifications of our own come back
	pos     feed.LSN   // of the last echo; used by the reading goroutine only

	queue []*pgconn.Notification // received and not read yet
	// progress counts echoes: its position is the number of the last one.
	progress *source.Progress
	asked    atomic.Uint64 // number of the last echo asked for
	found    atomic.Pointer[feed.Diff]
	cancel   context.CancelCauseFunc
}

// Open returns the feed, whose triggers have been checked.
func Open(
	ctx context.Context, src feed.Config, facts *feed.Facts, tables []source.Watched,
) (source.Feed, error) {
	f := new(Feed)
	f.Init(src, tables, checkTables, "")
	found, err := f.Watcher.Look(ctx, f.Control)
	if err != nil {
		f.Control.Close()
		return nil, err
	}
	f.Watcher.Accept(found)
	// Listening through a pooler succeeds and delivers nothing: try it.
	s, err := f.listen(ctx)
	if err != nil {
		f.Control.Close()
		return nil, err
	}
	feed.HangUp(s.conn.PgConn())
	return f, nil
}

func checkTables(f *feed.Facts) []source.Finding { return feed.Failures(Check(f)) }

// Mode returns FeedNotify.
func (f *Feed) Mode() source.FeedMode { return source.FeedNotify }

// Unobservable names what the feed cannot tell of.
func (f *Feed) Unobservable() string {
	return feed.Unreported + ", nor of writes of sessions with session_replication_role = replica" +
		" where the triggers are not hotrow's own"
}

// Settled reports true for every transaction: what is notified is visible.
func (f *Feed) Settled(_ context.Context, txs []*source.Tx) ([]bool, error) {
	out := make([]bool, len(txs))
	for i := range out {
		out[i] = true
	}
	return out, nil
}

// Run follows the database until ctx ends or the connection breaks.
func (f *Feed) Run(ctx context.Context, h source.Handler) error {
	return feed.Follow(ctx, func(ctx context.Context, cancel context.CancelCauseFunc) error {
		return f.run(ctx, cancel, h)
	})
}

func (f *Feed) run(
	ctx context.Context, cancel context.CancelCauseFunc, h source.Handler,
) error {
	s, err := f.listen(ctx)
	if err != nil {
		return err
	}
	defer feed.HangUp(s.conn.PgConn())
	if err := f.Adopt(ctx, s.server); err != nil {
		return err
	}
	found, err := f.Watcher.Look(ctx, f.Control)
	if err != nil {
		return err
	}
	s.handler, s.cancel = h, cancel
	f.Attach(h, s.server.Origin, source.Position(s.pos), 0, found)
	f.session.Store(s)
	defer s.progress.End()
	defer f.session.CompareAndSwap(s, nil)

	defer feed.Beside(ctx, cancel, s.watch)()
	return s.read(ctx)
}

// listen connects, listens and waits until a notification of its own has come
// back: from then on every change is heard of.
func (f *Feed) listen(ctx context.Context) (*listening, error) {
	name, err := feed.RandomName()
	if err != nil {
		return nil, err
	}
	s := &listening{feed: f, echoes: name, progress: source.NewProgress(0)}
	cfg := feed.ConnConfig(f.Src.Conn, "hotrow feed")
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		s.queue = append(s.queue, n)
	}
	feed.Validate(cfg, func(origin string, err error) error {
		s.server.Origin = origin
		return f.Src.MayFollow(origin, err)
	})
	if s.conn, err = feed.Connect(ctx, cfg); err != nil {
		return nil, err
	}
	s.server.Address = feed.AddressOf(s.conn.PgConn())
	// Its connection of before may lead to another server.
	if err = f.Control.Pin(ctx, s.server); err == nil {
		err = s.begin(ctx)
	}
	if err != nil {
		feed.HangUp(s.conn.PgConn())
		return nil, err
	}
	return s, nil
}

func (s *listening) begin(ctx context.Context) error {
	if err := s.readAnew(ctx); err != nil {
		return err
	}
	listen := []string{ownChannel, s.echoes}
	for c := range s.reader.Load().channels {
		listen = append(listen, c)
	}
	for _, c := range listen {
		if _, err := s.conn.Exec(ctx, "LISTEN "+catalog.QuoteName(c)); err != nil {
			return err
		}
	}
	if err := s.ask(ctx); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, echoLimit)
	defer cancel()
	for s.pos == 0 {
		if err := s.conn.PgConn().WaitForNotification(waiting); err != nil {
			if ctx.Err() == nil && waiting.Err() != nil {
				return errors.New("a notification does not come back: the URL leads to a pooler," +
					" or a commit that notifies waits for a standby")
			}
			return err
		}
		for _, n := range s.take() {
			if n.Channel == s.echoes {
				s.echo(n.Payload)
			}
		}
	}
	return nil
}

// readAnew reads the catalogue for the reader of notifications. When that would
// have to hear a channel that nobody listens to, the session must end.
func (s *listening) readAnew(ctx context.Context) error {
	s.reload.Lock()
	defer s.reload.Unlock()
	var facts *feed.Facts
	err := s.feed.Control.Do(ctx, func(conn *pgx.Conn) (err error) {
		facts, err = feed.ReadFacts(ctx, conn, s.feed.Watcher.Tables(), s.feed.Src.Names)
		return err
	})
	if err != nil {
		return err
	}
	now, before := newReader(facts), s.reader.Load()
	for c, t := range now.channels {
		if before != nil && before.channels[c] == nil {
			return &feed.Broken{Reason: "the triggers of " + t.id + " have changed"}
		}
	}
	s.reader.Store(now)
	return nil
}

// take returns what was received and not read yet.
func (s *listening) take() []*pgconn.Notification {
	queue := s.queue
	s.queue = nil
	return queue
}

// ask sends an echo: its number and the end of the log. Every change up to there
// that notifies is in PostgreSQL's queue before it: they are queued in the order
// of their commits, and this commit comes after that position was read.
func (s *listening) ask(ctx context.Context) error {
	number := strconv.FormatUint(s.asked.Add(1), 10)
	return s.feed.Control.Do(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx,
			"SELECT pg_notify($1, $2 || ' ' || pg_current_wal_insert_lsn()::text)",
			s.echoes, number)
		return err
	})
}

// echo takes an echo that has come back.
func (s *listening) echo(payload string) {
	number, position, _ := strings.Cut(payload, " ")
	n, err := strconv.ParseUint(number, 10, 64)
	pos, errPos := feed.ParseLSN(position)
	if err != nil || errPos != nil {
		return // not ours: anybody may notify any channel
	}
	if pos > s.pos {
		s.pos = pos
		if s.handler != nil {
			s.handler.Advance(source.Position(pos))
		}
		s.feed.Counts.Position.Store(uint64(pos))
	}
	s.progress.Advance(source.Position(n))
}

// read delivers what is notified until the connection breaks.
func (s *listening) read(ctx context.Context) error {
	for {
		for _, n := range s.take() {
			s.feed.Counts.Bytes.Add(uint64(len(n.Channel) + len(n.Payload)))
			if n.Channel == s.echoes {
				s.deliver()
				s.echo(n.Payload)
				continue
			}
			var batch source.Batch
			s.reader.Load().read(n.Channel, n.Payload, &batch)
			s.apply(&batch)
		}
		if err := s.conn.PgConn().WaitForNotification(ctx); err != nil {
			return err
		}
	}
}

func (s *listening) apply(batch *source.Batch) {
	if batch.Empty() {
		return
	}
	tx := &source.Tx{Pos: source.Position(s.pos)}
	batch.Take(tx)
	s.handler.Apply(tx)
	s.feed.Counts.Add(tx)
}

// deliver tells what look has found.
func (s *listening) deliver() {
	found := s.found.Swap(nil)
	if found == nil {
		return
	}
	if len(found.Tables) > 0 {
		s.handler.SchemaChanged(found.Tables)
	}
	if !found.Empty() {
		s.handler.Apply(found.Tx(source.Position(s.pos)))
	}
	s.feed.Watcher.Accept(found)
}

// watch makes sure that notifications still come back, and looks for what no
// trigger tells. It ends the session when one of the two fails.
func (s *listening) watch(ctx context.Context) {
	ask, look := time.NewTicker(feed.AskEvery), time.NewTicker(feed.LookEvery)
	defer ask.Stop()
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ask.C:
		case <-look.C:
			if err := s.watchNow(ctx); err != nil {
				s.feed.Src.Log.Debug("look at the tables' definitions", "error", err)
			}
		}
		limited, stop := context.WithTimeout(ctx, echoLimit)
		_, err := s.feed.Fence(limited)
		stop()
		if err != nil && ctx.Err() == nil {
			s.cancel(&feed.Broken{Reason: "notifications do not come back: " + err.Error()})
			return
		}
	}
}

// watchNow looks, and has the handler told of what has changed. What the triggers
// cannot tell any more ends the session.
func (s *listening) watchNow(ctx context.Context) error {
	err := s.feed.Watcher.Report(ctx, s.feed.Control, s)
	if err == nil {
		err = s.readAnew(ctx)
	}
	var broken *feed.Broken
	if errors.As(err, &broken) {
		s.cancel(err)
	}
	return err
}

// Report gives what look has found to the reader, which tells it before the next echo.
func (s *listening) Report(ctx context.Context, found *feed.Diff) error {
	s.found.Store(found)
	if err := s.ask(ctx); err != nil {
		return err
	}
	select {
	case <-found.Reported:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Fence returns once every change that was visible when it was called has been
// handed to the handler.
func (f *Feed) Fence(ctx context.Context) (source.Position, error) {
	return f.Fences.Join(ctx, func(ctx context.Context) (source.Position, error) {
		s := f.session.Load()
		if s == nil {
			return 0, source.ErrDetached
		}
		_, same, err := f.Watcher.Fence(ctx, f.Control)
		if err == nil && !same {
			err = s.watchNow(ctx)
		}
		if err == nil {
			err = s.ask(ctx)
		}
		if err != nil {
			return 0, fmt.Errorf("fence: %w", err)
		}
		if _, err := s.progress.Reach(ctx, source.Position(s.asked.Load())); err != nil {
			return 0, fmt.Errorf("fence: %w", err)
		}
		return source.Position(f.Counts.Position.Load()), nil
	})
}
