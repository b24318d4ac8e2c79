package binlog

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
// a quiet one a scan reads what the log holds before the beginning.
type barrier struct {
	start source.Position
	xa    bool // transactions may have been ended by XA COMMIT, which have no order

	// mu guards what follows.
	mu      sync.Mutex
	scanned bool
	need    *visibilityCheck   // the last one of a watched table; nil: there is none
	others  []*visibilityCheck // those without an XID
}

// passed reports whether all before the barrier is visible, when all with an XID
// up to visible are.
func (b *barrier) passed(visible source.Position) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.xa && (!b.scanned || len(b.others) > 0) {
		return false
	}
	return visible > b.start || b.scanned && (b.need == nil || visible >= b.need.pos)
}

// prove tries to prove by locks what the scan has found.
func (b *barrier) prove(ctx context.Context, c Conn, s *settler) error {
	b.mu.Lock()
	need, others := b.need, b.others
	b.mu.Unlock()
	if need != nil && !s.isVisible(need.pos) {
		_, free, err := s.free(ctx, c, need)
		if err != nil {
			return err
		}
		if free {
			s.sees(need.pos)
		}
	}
	var left []*visibilityCheck
	for _, p := range others {
		_, free, err := s.free(ctx, c, p)
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

// errScanned ends a scan's stream.
var errScanned = errors.New("the scan of the backlog has reached the feed's beginning")

// A backlogScan reads the log up to the feed's beginning and keeps what the barrier has
// to wait for: as the server's own recovery does, from the file that the last
// checkpoint names. All transactions of files before that one are visible.
type backlogScan struct {
	*reader
	until      source.Position
	need       *visibilityCheck
	others     []*visibilityCheck
	last       source.Position // the last end of a transaction with an XID
	checkpoint string
	ddls       uint64
	done       bool
}

// HandleEvent takes one event.
func (s *backlogScan) HandleEvent(e *replication.BinlogEvent) error {
	if err := s.reader.event(e); err != nil {
		return err
	}
	if s.done = s.group == nil && s.pos >= s.until; s.done {
		return errScanned
	}
	return nil
}

// commit keeps a transaction. Of rows before a change of definitions nobody knows what the
// columns were: they are read later, see lateRows.
func (s *backlogScan) commit(c *commit) error {
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
	p := &visibilityCheck{pos: s.pos, xid: c.xid, locks: c.locks, late: c.late}
	if c.xid {
		s.need = p
	} else if len(p.locks) > 0 || p.late != nil && p.late.watched {
		s.others = append(s.others, p)
	}
	return nil
}

// scanBacklog finds out what b has to wait for. The definitions are those of the feed's
// beginning, or nil.
func (f *Feed) scanBacklog(
	ctx context.Context, a *attached, defs *definitions, b *barrier,
) error {
	file, firstOnly := a.start.file, true
	for {
		s, err := f.scanFrom(ctx, a, defs, file)
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
		b.scanned, b.need, b.others = true, s.need, s.others
		b.mu.Unlock()
		return nil
	}
}

// scanFrom reads from the beginning of a file up to the feed's beginning.
func (f *Feed) scanFrom(
	ctx context.Context, a *attached, defs *definitions, file string,
) (*backlogScan, error) {
	until, err := a.start.position()
	if err != nil {
		return nil, err
	}
	r, err := newReader(*a.defs.of, f.src.Home, place{file: file, offset: 4})
	if err != nil {
		return nil, err
	}
	if defs != nil {
		mine := *defs
		mine.ddls, mine.end = 0, 0
		r.defs = &mine
	}
	r.views, r.keepsAll = f.src.Views, true
	s := &backlogScan{reader: r, until: until}
	r.emit = s.commit
	r.checkpoint = func(file string) { s.checkpoint = file }
	st, err := f.openStream(ctx, a.server, r.at, nil, s)
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
