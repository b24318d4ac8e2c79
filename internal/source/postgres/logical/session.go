package logical

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// A session is one connection of a Feed, from Attached on.
type session struct {
	feed    *Feed
	stream  *stream
	handler source.Handler
	rows    *assembler

	progress *source.Progress // in LSNs

	// found holds what look has found, for the goroutine that reads the stream.
	found  atomic.Pointer[feed.Diff]
	kick   chan struct{} // asks look to look now
	cancel context.CancelCauseFunc

	// replays says that the server is a standby, which has replayed a history.
	replays  bool
	answered atomic.Int64 // when the primary did last, in nanoseconds
	history  *history
	vouched  int // bytes of the stream that were here when vouch asked; see there
}

// read delivers what the stream sends until it ends.
func (s *session) read(ctx context.Context) error {
	heard := time.Now()
	for {
		b, err := s.stream.receive(silence)
		if errors.Is(err, os.ErrDeadlineExceeded) && time.Since(heard) < busyFor && s.busy(ctx) {
			continue
		}
		if err != nil {
			return err
		}
		heard = time.Now()
		s.feed.Counts.Bytes.Add(uint64(len(b)))
		s.vouched -= copyHead + len(b)
		m, err := decodeWAL(b)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case xLogData:
			err = s.message(ctx, m.data)
		case keepAlive:
			err = s.alive(ctx, m)
		}
		if err != nil {
			return err
		}
	}
}

// busy reports whether the process that sends is at work, or waits for a lock or a disk. One
// that waits for us, or for something to send, would have answered.
func (s *session) busy(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	busy := false
	err := s.feed.Control.Do(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_catalog.pg_stat_activity
			WHERE pid = $1 AND backend_type = 'walsender'
			AND coalesce(wait_event_type, '') NOT IN ('Activity', 'Client')`,
			int32(s.stream.pid)).Scan(&busy)
	})
	return err == nil && busy
}

// message takes one message of the plug-in and delivers the transaction that it
// ends.
func (s *session) message(ctx context.Context, b []byte) error {
	m, err := decodeMessage(b)
	if err != nil {
		return err
	}
	c, err := s.rows.add(m)
	if err != nil || c == nil {
		return err
	}
	if err := s.vouch(ctx); err != nil {
		return err
	}
	if s.rows.again {
		s.rows.again = false
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
	s.announce(c.changed)
	if s.replays {
		c.tx.ID = 0 // it is visible
	}
	if len(c.tx.Changes) == 0 && len(c.tx.Tables) == 0 {
		s.handler.Advance(c.tx.Pos)
	} else {
		if s.replays {
			s.feed.Src.Standby.Delivering()
		}
		s.handler.Apply(c.tx)
		s.feed.Counts.Add(c.tx)
	}
	s.feed.settler.delivered(uint32(c.tx.ID))
	s.moved(c.tx.Pos)
	return nil
}

// alive takes a keep-alive: what the server has read of its log so far has been
// sent, unless a transaction is only half here.
func (s *session) alive(ctx context.Context, m keepAlive) error {
	if !s.rows.begun {
		if err := s.vouch(ctx); err != nil {
			return err
		}
		if found := s.found.Swap(nil); found != nil {
			s.rows.coarse = found.Coarse
			s.rows.watch(found.Watched)
			s.announce(found.Tables)
			if !found.Empty() {
				s.handler.Apply(found.Tx(s.position()))
			}
			if s.feed.slot != nil { // not before: checkpoints include it from here on
				s.feed.slot.fingerprint.Store(found.Digest())
			}
			s.feed.Watcher.Accept(found)
		}
		if end := source.Position(m.end); end > s.position() {
			s.handler.Advance(end)
			s.moved(end)
		}
	}
	if m.reply {
		return s.status(false)
	}
	return nil
}

// status tells the server how far the handler has got, and what of its log it
// need not keep: with a named slot that is what is complete on disk.
func (s *session) status(reply bool) error {
	pos := feed.LSN(s.position())
	if s.feed.slot == nil {
		return s.stream.status(pos, pos, reply)
	}
	return s.stream.status(pos, s.feed.slot.acknowledged(pos), reply)
}

// announce tells the handler which tables are not what they were.
func (s *session) announce(changed []string) {
	if len(changed) > 0 {
		s.handler.SchemaChanged(changed)
	}
}

func (s *session) moved(pos source.Position) {
	s.progress.Advance(pos)
	s.feed.Counts.Position.Store(uint64(pos))
	if s.replays {
		s.feed.Src.Standby.Replayed(feed.LSN(pos))
	}
}

func (s *session) position() source.Position {
	pos, _, _ := s.progress.At()
	return pos
}

// watch asks the server every now and then to say that it is there, and looks for what
// no fence sees: rights that come with roles.
func (s *session) watch(ctx context.Context) {
	ask, look := time.NewTicker(feed.AskEvery), time.NewTicker(feed.LookEvery)
	defer ask.Stop()
	defer look.Stop()
	said := "" // why the last look failed
	for {
		select {
		case <-ctx.Done():
			return
		case <-ask.C:
			if s.status(true) != nil {
				return // the reader finds out by itself
			}
			continue
		case <-look.C:
		case <-s.kick:
		}
		err := s.watchNow(ctx)
		if err == nil {
			said = ""
		} else if text := err.Error(); ctx.Err() == nil && text != said {
			said = text
			s.feed.Src.Log.Warn("could not look for changes of the tables' definitions", "err", err)
		}
	}
}

// watchNow looks, and has the handler told of what has changed. Finding that the
// publication lost a table ends the session: changes may have been missed.
func (s *session) watchNow(ctx context.Context) error {
	err := s.feed.Watcher.Report(ctx, s.feed.Control, s)
	var broken *feed.Broken
	if errors.As(err, &broken) {
		s.cancel(err)
	}
	return err
}

// Report gives what look has found, which is all that the handler was not told yet, to
// the reader, makes the reader wake up, and waits until it has told.
func (s *session) Report(ctx context.Context, found *feed.Diff) error {
	s.found.Store(found)
	// An error closes the stream, which the reader sees.
	_ = s.status(true)
	select {
	case <-found.Reported:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Fence returns once every change that was visible when it was called has been
// handed to the handler, those of definitions too.
func (f *Feed) Fence(ctx context.Context) (source.Position, error) {
	return f.Fences.Join(ctx, func(ctx context.Context) (source.Position, error) {
		s := f.session.Load()
		if s == nil {
			return 0, source.ErrDetached
		}
		if s.replays {
			pos, err := s.fenceByPrimary(ctx)
			if err != nil {
				return 0, fmt.Errorf("fence: %w", err)
			}
			return pos, nil
		}
		target, same, err := f.Watcher.Fence(ctx, f.Control)
		if err == nil && !same {
			err = s.watchNow(ctx)
		}
		if err != nil {
			return 0, fmt.Errorf("fence: %w", err)
		}
		pos, err := s.reach(ctx, source.Position(target))
		if err != nil {
			return 0, fmt.Errorf("fence: %w", err)
		}
		return pos, nil
	})
}

// insertPosition returns the end of the log, which no visible change is behind.
func (f *Feed) insertPosition(ctx context.Context) (feed.LSN, error) {
	var text string
	err := f.Control.Do(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT pg_current_wal_insert_lsn()::text").Scan(&text)
	})
	if err != nil {
		return 0, err
	}
	return feed.ParseLSN(text)
}

// reach waits until the handler has everything up to target, and asks the
// server how far it is as often as is needed for that.
func (s *session) reach(
	ctx context.Context, target source.Position,
) (source.Position, error) {
	flush := time.NewTimer(flushAfter)
	defer flush.Stop()
	wait := time.Millisecond
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		pos, ended, changed := s.progress.At()
		switch {
		case pos >= target:
			return pos, nil
		case ended:
			return 0, source.ErrDetached
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-changed:
		case <-again.C:
			if err := s.status(true); err != nil {
				return 0, err
			}
			again.Reset(wait)
			wait = min(2*wait, flushAfter)
		case <-flush.C:
			if err := s.feed.flush(ctx); err != nil {
				return 0, err
			}
			wait = time.Millisecond
			again.Reset(0)
		}
	}
}

// flush makes the server write its log out. A message that belongs to a
// transaction is flushed by the commit; one that does not waits for the
// background writer.
func (f *Feed) flush(ctx context.Context) error {
	return f.Primary.Do(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SELECT pg_logical_emit_message(true, 'hotrow', '')")
		return err
	})
}
