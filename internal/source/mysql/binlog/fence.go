package binlog

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

const (
	// logStall is how long a fence waits for the server to say where its log ends.
	// A server whose commits wait for a semi-synchronous replica does not say it
	// until they go on; which transaction was the last it says at any time.
	logStall = 20 * time.Millisecond

	// rememberGTIDs bounds how many of the last transactions are known by name, beside the
	// last one of each domain.
	rememberGTIDs = 4096
)

// gtids are the names of the transactions that a feed has handed on last.
type gtids struct {
	// mu guards the fields.
	mu      sync.Mutex
	seen    map[string]bool
	order   []string          // of seen, oldest first
	last    map[string]string // of each domain
	changed chan struct{}     // closed when one is added; nil: nobody waits
}

// add notes transactions.
func (g *gtids) add(names ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen == nil {
		g.seen, g.last = make(map[string]bool), make(map[string]string)
	}
	for _, name := range names {
		// The log's end names the last transaction of a domain that is idle for ever.
		domain, _, _ := strings.Cut(name, "-")
		g.last[domain] = name
		if g.seen[name] {
			continue
		}
		g.seen[name] = true
		g.order = append(g.order, name)
	}
	for len(g.order) > rememberGTIDs {
		delete(g.seen, g.order[0])
		g.order = g.order[1:]
	}
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// reach waits until all of names have been handed on.
func (g *gtids) reach(ctx context.Context, names []string) error {
	for {
		g.mu.Lock()
		missing := false
		for _, name := range names {
			domain, _, _ := strings.Cut(name, "-")
			missing = missing || !g.seen[name] && g.last[domain] != name
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		if !missing {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lastGTIDs returns the last transaction of each domain in the log. MariaDB notes
// it before it writes the transaction, so nothing that is visible comes after.
func lastGTIDs(ctx context.Context, c Conn) (names []string, err error) {
	err = c.Query(ctx, "SELECT @@GLOBAL.gtid_binlog_pos", nil, func(v []any) error {
		if text := catalog.AsText(v[0]); text != "" {
			names = strings.Split(text, ",")
		}
		return nil
	})
	return names, err
}

// fence reaches the end of the log or, where the server does not say where that
// is, the last transactions in it.
func (s *following) fence(ctx context.Context) (source.Position, error) {
	timer := time.NewTimer(logStall)
	defer timer.Stop()
	if s.mysql {
		timer.Stop()
	}
	end := s.askEnd()
	if end == nil && s.mysql {
		return 0, source.ErrDetached
	}
	select {
	case e := <-end: // never, if it is nil: somebody still waits for the answer
		if e.err != nil {
			return 0, e.err
		}
		return s.progress.Reach(ctx, e.pos)
	case <-timer.C:
		return s.fenceStalled(ctx, end)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// fenceStalled is fence for a server that has not said where its log ends in time:
// it may do so yet, or when it is asked again. A feed that has gone on where an
// earlier one stopped does not know the names of the transactions before that.
func (s *following) fenceStalled(ctx context.Context, end <-chan end) (source.Position, error) {
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	last := make(chan error, 1)
	go func() { last <- s.reachLast(both) }()
	again := time.NewTicker(logStall)
	defer again.Stop()
	for {
		select {
		case err := <-last:
			if err != nil {
				return 0, err
			}
			return s.progress.Reach(ctx, 0)
		case e := <-end:
			if e.err == nil {
				return s.progress.Reach(ctx, e.pos)
			}
			end = nil
		case <-again.C:
			if end == nil {
				end = s.askEnd()
			}
		case <-s.ctx.Done():
			return 0, source.ErrDetached
		}
	}
}

// reachLast waits until the last transactions in the log have been handed on.
func (s *following) reachLast(ctx context.Context) error {
	c, err := s.feed.src.Control(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	names, err := lastGTIDs(ctx, c)
	if err == nil {
		err = s.observe(ctx, c, s.feed.filters) // which would wait, as the log's end does
	}
	if err != nil {
		return err
	}
	return s.gtids.reach(ctx, names)
}

// An end is where the log was said to end.
type end struct {
	pos source.Position
	err error
}

// askEnd asks where the log ends, unless an answer to that is still awaited: then
// the channel is nil.
func (s *following) askEnd() <-chan end {
	if !s.asking.CompareAndSwap(false, true) {
		return nil
	}
	answer := make(chan end, 1)
	s.work.Lock()
	defer s.work.Unlock()
	if s.ctx.Err() != nil {
		s.asking.Store(false)
		answer <- end{err: source.ErrDetached}
		return answer
	}
	s.helpers.Go(func() {
		defer s.asking.Store(false)
		ctx, cancel := context.WithTimeout(s.ctx, silence)
		defer cancel()
		c, err := s.feed.src.Control(ctx)
		if err != nil {
			answer <- end{err: err}
			return
		}
		defer c.Release()
		at, err := binlogEnd(ctx, c)
		var pos source.Position
		if err == nil {
			pos, err = at.position()
		}
		if err == nil {
			err = s.observe(ctx, c, at.filters)
		}
		answer <- end{pos, err}
	})
	return answer
}

// observe ends the feed if the server has changes that its log does not have: with them the
// log's end is not the end of what is visible. MySQL's setting cannot change while a stream
// of it lasts.
func (s *following) observe(ctx context.Context, c Conn, filters string) error {
	err := s.feed.filtered(filters)
	if err == nil && !(s.mysql && s.apply.complete()) {
		var now Applying
		if now, err = ReadApplying(ctx, c, !s.mysql); err == nil {
			err = now.Err(&s.apply)
		}
	}
	if errors.Is(err, source.ErrUnseen) {
		s.stop(err)
	}
	return err
}
