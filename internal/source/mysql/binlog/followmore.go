package binlog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// The log has the changes of all tables, so a feed that follows others goes on with its stream.
// What it has passed over until then may not be visible yet: a barrier stands for that, as for
// what was logged before the feed began.

// lookAgain is how often it is looked whether no transaction is half here.
const lookAgain = time.Millisecond

// Follow implements source.Feed. MySQL has no barrier: its feed begins after what is visible, by
// GTID, and that cannot be asked of a stream that runs.
func (f *Feed) Follow(ctx context.Context, tables []source.Watched) (before uint64, err error) {
	s := f.session.Load()
	switch {
	case s == nil:
		return 0, source.ErrDetached
	case s.mysql:
		return 0, fmt.Errorf("%w: the server is MySQL", source.ErrReopen)
	}
	if err := f.src.Check(ctx, tables); err != nil {
		return 0, err
	}
	// Changes of their definitions are noticed from here on, and then these are read.
	err = s.between(ctx, func() bool { s.watch(tables, f.src.Home); return true })
	var a *attached
	for a == nil && err == nil {
		a, err = s.follow(ctx, &tables)
	}
	if err != nil {
		return 0, fmt.Errorf("follow other tables: %w", err)
	}
	return s.passedOver(a)
}

// follow has the reader follow tables by their definitions, once it is where these hold. nil: they
// changed meanwhile.
func (s *following) follow(
	ctx context.Context, tables *[]source.Watched,
) (a *attached, err error) {
	defs, err := s.feed.definitions(ctx, tables, s.seen.Load())
	if err != nil {
		return nil, err
	}
	err = s.between(ctx, func() bool {
		switch {
		case s.ddls != defs.ddls:
			return true
		case s.pos < defs.end:
			return false
		}
		for _, g := range s.prepared { // of which rows were passed over
			g.all(added(*s.tables, *tables))
		}
		s.tables, s.defs = tables, defs
		s.feed.tables.Store(tables)
		a = &attached{start: s.done, pos: s.pos, defs: defs,
			server: server{identity: s.server, mariadb: true}}
		return true
	})
	return a, err
}

// added returns the tables of now that are not among before.
func added(before, now []source.Watched) (ids []string) {
	for _, w := range now {
		if !slices.ContainsFunc(before, func(o source.Watched) bool { return o.Table == w.Table }) {
			ids = append(ids, w.Table)
		}
	}
	return ids
}

// between calls f between two transactions until it returns true, which may change what the reader
// uses.
func (s *following) between(ctx context.Context, f func() bool) error {
	try := func() bool {
		s.turn.Lock()
		defer s.turn.Unlock()
		return s.group == nil && f()
	}
	for !try() {
		select {
		case <-time.After(lookAgain):
		case <-s.ctx.Done():
			return source.ErrDetached
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// again returns where the next stream goes on.
func (s *following) again() place {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.resume()
}

// passedOver returns the Tx.ID that stands for what the log has before a place where the reader
// began to follow other tables.
func (s *following) passedOver(a *attached) (uint64, error) {
	c, err := s.feed.src.Control(s.ctx)
	if err != nil {
		return 0, err
	}
	defer c.Release()
	err = c.Query(s.ctx, sqlXACommits, nil, func(v []any) error {
		a.xa = catalog.AsInt(v[1]) > 0
		return nil
	})
	if err != nil {
		return 0, err
	}
	before := s.barrier(a)
	s.work.Lock()
	defer s.work.Unlock()
	if s.ctx.Err() != nil {
		return 0, source.ErrDetached
	}
	s.helpers.Go(func() { s.watchBarrier(s.ctx, a) })
	return before, nil
}

// sqlXACommits asks how many transactions were ended by XA COMMIT.
const sqlXACommits = "SHOW GLOBAL STATUS LIKE 'Com\\_xa\\_commit'"
