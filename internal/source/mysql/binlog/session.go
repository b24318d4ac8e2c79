package binlog

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// A following is a Feed from Attached on, over one stream or several that
// continue each other.
type following struct {
	// turn is held while an event is taken, and while the tables change between two
	// transactions.
	turn sync.Mutex

	*reader
	tables   *[]source.Watched // of the feed, that it follows; replaced with turn held
	feed     *Feed
	handler  source.Handler
	mysql    bool // and not MariaDB
	progress *source.Progress

	handed source.Position // that the handler knows
	ready  chan struct{}   // closed when the handler has been told of the beginning
	early  chan struct{}   // closed when the file is known to be that of before; nil: no such
	points *resumePoints

	digested *definitions // of which digest is
	digest   string

	void   bool   // the handler is not told of it: set before ready is closed
	server string // its identity
	failed error  // what the log itself had against being followed; set by the stream

	// found holds definitions that were read, for the goroutine of the stream.
	found atomic.Pointer[definitions]
	read  chan struct{} // asks for definitions to be read
	seen  atomic.Uint64 // changes of definitions so far

	gtids  gtids
	apply  Applying        // what the server applied of others at the beginning: nothing
	ctx    context.Context // of the helpers
	stop   context.CancelCauseFunc
	asking atomic.Bool // somebody waits for where the log ends

	// work is held while a helper is started, so that none is after they are
	// waited for.
	work    sync.Mutex
	helpers sync.WaitGroup
}

func (f *Feed) newFollowing(a *attached, h source.Handler) (*following, error) {
	r, err := newReader(*a.defs.of, f.src.Home, a.start)
	if err != nil {
		return nil, err
	}
	s := &following{
		reader: r, tables: a.defs.of, feed: f, handler: h, mysql: !a.server.mariadb,
		progress: source.NewProgress(a.pos),
		ready:    make(chan struct{}), read: make(chan struct{}, 1),
		points: &resumePoints{started: a.started}, server: a.server.identity,
		apply: a.apply,
	}
	s.found.Store(a.defs)
	r.views = f.src.Views
	s.gtids.add(a.gtids...)
	r.emit = s.commit
	r.undecoded = s.warnUndecoded()
	if a.resumed != nil {
		s.goOn(a)
	}
	r.checkpoint = func(file string) {
		if pos, err := (place{file: file}).position(); err == nil {
			f.settler.sees(pos)
		}
	}
	return s, nil
}

// warnUndecoded returns a function that warns of tables whose rows cannot be decoded, once of
// each. The library's reason may have values of the rows.
func (s *following) warnUndecoded() func(catalog.Name) {
	warned := make(map[catalog.Name]bool)
	return func(name catalog.Name) {
		if !warned[name] {
			warned[name] = true
			s.feed.src.Log.Warn("rows of the binary log cannot be decoded; a change of the table"+
				" drops all that memory has of it", "table", name.String())
		}
	}
}

// barrier returns the Tx.ID that stands for transactions before the beginning; 0: MySQL
// sends those that it has not executed yet, since it is asked for them by GTID.
func (s *following) barrier(a *attached) uint64 {
	if s.mysql {
		return 0
	}
	a.bar = &barrier{start: a.pos, xa: a.xa}
	return s.feed.settler.add(&visibilityCheck{barrier: a.bar})
}

// HandleEvent takes the next event of the stream.
func (s *following) HandleEvent(e *replication.BinlogEvent) error {
	if s.early == nil {
		<-s.ready
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	s.feed.counts.bytes.Add(uint64(e.Header.EventSize))
	s.adopt()
	err := s.event(e)
	if s.early == nil && s.void {
		err = errVoid
	}
	if err != nil {
		s.failed = err
		return err
	}
	if s.seen.Load() != s.ddls {
		s.seen.Store(s.ddls)
		s.ask()
	}
	if s.group == nil && s.pos > s.handed {
		s.handed = s.pos
		s.points.add(s.resumePoint())
		s.handler.Advance(s.pos)
		s.progress.Advance(s.pos)
		s.feed.counts.position.Store(uint64(s.pos))
	}
	return nil
}

// ask has the definitions read again.
func (s *following) ask() {
	select {
	case s.read <- struct{}{}:
	default:
	}
}

// adopt takes definitions over that have been read, and tells the handler of
// tables that changed while nobody followed.
func (s *following) adopt() {
	found := s.found.Swap(nil)
	if found == nil {
		return
	}
	if found.ddls != s.ddls || found.of != s.tables {
		s.ask()
		return
	}
	if s.holds() && s.pos < found.end {
		// Those that there are say the same until then, and these would make a row before
		// their end a change of its whole table.
		s.found.CompareAndSwap(nil, found)
		return
	}
	s.defs = found
	var changed []string
	print := sha256.New()
	for _, t := range found.tables {
		if t.id == "" {
			continue
		}
		fmt.Fprint(print, t.Cols, t.key, t.Engine, t.Type)
		now := string(print.Sum(nil))
		print.Reset()
		if old, told := s.feed.known[t.id]; told && old != now && found.ddls == 0 {
			changed = append(changed, t.id)
		}
		s.feed.known[t.id] = now
	}
	if len(changed) > 0 {
		s.handler.SchemaChanged(changed)
	}
}

// commit hands a transaction on.
func (s *following) commit(c *commit) error {
	if len(c.changed) > 0 {
		s.handler.SchemaChanged(c.changed)
	}
	if len(c.tx.Changes) > 0 || len(c.tx.Tables) > 0 {
		if !s.mysql {
			c.tx.Mark = markOf(c.gtid)
		}
		if !c.proven {
			p := &visibilityCheck{pos: c.tx.Pos, xid: c.xid, locks: c.locks}
			if s.mysql {
				p.gtid = c.gtid
			} else if len(p.locks) == 0 {
				p.late = c.late
			}
			c.tx.ID = s.feed.settler.add(p)
		}
		s.handler.Apply(c.tx)
		s.feed.counts.transactions.Add(1)
		s.feed.counts.changes.Add(uint64(len(c.tx.Changes) + len(c.tx.Tables)))
	}
	if c.xid {
		s.feed.settler.ended(c.tx.Pos)
	}
	s.progress.Advance(c.tx.Pos)
	if !s.mysql {
		s.gtids.add(c.gtid)
	}
	return nil
}

// begin starts what works beside the stream until ctx ends. The function that it
// returns waits for the end.
func (s *following) begin(ctx context.Context, a *attached) (wait func()) {
	s.ctx = ctx
	s.helpers.Go(func() { s.keepDefinitions(ctx) })
	if a.bar != nil {
		s.helpers.Go(func() { s.watchBarrier(ctx, a) })
	}
	return func() {
		s.work.Lock() // nobody starts anything any more: ctx has ended
		defer s.work.Unlock()
		s.helpers.Wait()
	}
}

// keepDefinitions reads the definitions of tables whenever they may have changed.
func (s *following) keepDefinitions(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.read:
		}
		d, err := s.feed.definitions(ctx, s.feed.tables.Load(), s.seen.Load())
		if err != nil {
			if ctx.Err() == nil {
				s.feed.src.Log.Warn("read the definitions of tables", "err", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(resumeMax):
				s.ask()
			}
			continue
		}
		s.found.Store(d)
	}
}

// definitions reads the definitions of tables, and the end of the log after them: whatever
// changes them later comes after that, and what changed them before has been seen
// or stands between.
func (f *Feed) definitions(
	ctx context.Context, tables *[]source.Watched, ddls uint64,
) (*definitions, error) {
	c, err := f.src.Control(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	v, err := serverOf(c)
	if err != nil {
		return nil, err
	}
	d, err := readDefinitions(ctx, f.src.catalog(c, v), *tables)
	if err != nil {
		return nil, err
	}
	d.of, d.ddls = tables, ddls
	d.end, err = WritePosition(ctx, c)
	return d, err
}

// watchBarrier finds out what the barrier waits for, unless the server is so busy that it
// is passed before. The definitions are those of the beginning only if nothing that
// changes them stands between that and when they were read.
func (s *following) watchBarrier(ctx context.Context, a *attached) {
	if _, err := s.progress.Reach(ctx, a.defs.end); err != nil {
		return
	}
	known := a.defs
	if s.seen.Load() != a.defs.ddls {
		known = nil
	}
	for wait := resumeMin; !s.feed.settler.passed(a.bar); wait = min(2*wait, resumeMax) {
		err := s.feed.scanBacklog(ctx, a, known, a.bar)
		if err == nil || ctx.Err() != nil {
			return
		}
		s.feed.src.Log.Debug("read the log before the beginning", "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// passed reports whether a barrier needs no more looking.
func (s *settler) passed(b *barrier) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.passed(s.visible)
}
