package mysql

import (
	"context"
	"errors"
	"sync"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/hotrow/hotrow/internal/source"
)

// A barrier stands for what a feed cannot deliver because it was written to the
// log before the feed's beginning, although no read saw it yet. A read after
// Attached could find the row as it was, and nothing would ever drop its copy.
// So the feed delivers "everything may have changed" as if it were a
// transaction, which is settled when all that was in the log is visible.
//
// On a busy server the first transaction after it that is visible proves it. On
// a quiet one a scout reads what the log holds before the beginning.
type barrier struct {
	start source.Position
	xa    bool // transactions may have been ended by XA COMMIT, which have no order

	// mu guards what follows.
	mu      sync.Mutex
	scouted bool
	need    *proof   // the last one of a watched table; nil: there is none
	others  []*proof // those without an XID
}

// passed reports whether all before the barrier is visible, when all with an XID
// up to visible are.
func (b *barrier) passed(visible source.Position) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.xa && (!b.scouted || len(b.others) > 0) {
		return false
	}
	return visible > b.start || b.scouted && (b.need == nil || visible >= b.need.pos)
}

// prove tries to prove by locks what the scout has found.
func (b *barrier) prove(ctx context.Context, c *conn, s *settler) error {
	b.mu.Lock()
	need, others := b.need, b.others
	b.mu.Unlock()
	if need != nil && !s.isVisible(need.pos) {
		free, err := unlocked(ctx, c, need.locks)
		if err != nil {
			return err
		}
		if free {
			s.sees(need.pos)
		}
	}
	var left []*proof
	for _, p := range others {
		free, err := unlocked(ctx, c, p.locks)
		if err != nil {
			return err
		}
		if !free {
			left = append(left, p)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.others) == len(others) {
		b.others = left
	}
	return nil
}

// errScouted ends a scout's stream.
var errScouted = errors.New("the scout has reached the feed's beginning")

// A scout reads the log up to the feed's beginning and keeps what the barrier has
// to wait for: as the server's own recovery does, from the file that the last
// checkpoint names. All transactions of files before that one are visible.
type scout struct {
	*reader
	until      source.Position
	need       *proof
	others     []*proof
	last       source.Position // the last end of a transaction with an XID
	checkpoint string
	ddls       uint64
	done       bool
}

// HandleEvent takes one event.
func (s *scout) HandleEvent(e *replication.BinlogEvent) error {
	if err := s.reader.event(e); err != nil {
		return err
	}
	if s.done = s.group == nil && s.pos >= s.until; s.done {
		return errScouted
	}
	return nil
}

// commit keeps a transaction. Of rows before a change of definitions nobody knows
// what the columns were.
func (s *scout) commit(c *commit) error {
	if s.ddls != s.reader.ddls {
		s.ddls = s.reader.ddls
		if s.defs != nil {
			s.defs.ddls = s.ddls // they are those of the end, taken to hold before too
		}
		if s.need != nil {
			s.need.locks = nil
		}
		for _, p := range s.others {
			p.locks = nil
		}
	}
	if c.xid {
		s.last = s.pos
	}
	if c.proven || len(c.tx.Changes) == 0 && len(c.tx.Tables) == 0 {
		return nil
	}
	p := &proof{pos: s.pos, xid: c.xid, locks: c.locks}
	if c.xid {
		s.need = p
	} else if len(p.locks) > 0 {
		s.others = append(s.others, p)
	}
	return nil
}

// scout finds out what b has to wait for. The definitions are those of the feed's
// beginning, or nil.
func (f *binlogFeed) scout(
	ctx context.Context, a *attached, defs *definitions, b *barrier,
) error {
	file, firstOnly := a.start.file, true
	for {
		s, err := f.scoutFrom(ctx, a, defs, file)
		if err != nil {
			return err
		}
		if firstOnly && s.checkpoint != "" && s.checkpoint != file {
			file, firstOnly = s.checkpoint, false
			continue
		}
		if s.last > 0 {
			f.settler.ended(s.last)
		}
		b.mu.Lock()
		b.scouted, b.need, b.others = true, s.need, s.others
		b.mu.Unlock()
		return nil
	}
}

// scoutFrom reads from the beginning of a file up to the feed's beginning.
func (f *binlogFeed) scoutFrom(
	ctx context.Context, a *attached, defs *definitions, file string,
) (*scout, error) {
	until, err := a.start.position()
	if err != nil {
		return nil, err
	}
	r, err := newReader(f.tables, f.src.cfg.DBName, place{file: file, offset: 4})
	if err != nil {
		return nil, err
	}
	if defs != nil {
		mine := *defs
		mine.ddls, mine.end = 0, 0
		r.defs = &mine
	}
	s := &scout{reader: r, until: until}
	r.emit = s.commit
	r.checkpoint = func(file string) { s.checkpoint = file }
	st, err := f.src.openStream(ctx, a.server, r.at, nil, s)
	if err != nil {
		return nil, err
	}
	err = st.wait(ctx)
	st.close()
	if s.done {
		err = nil
	}
	return s, err
}
