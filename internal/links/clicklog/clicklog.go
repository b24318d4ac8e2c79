// Package clicklog keeps a record of every click until a database has it: in
// segments of a fixed size that are memory-mapped and shared with the kernel, so
// that a record is safe from the end of the process as soon as it is stored, at
// the cost of a copy and a checksum.
//
// Each event loop has a Writer of its own, all goroutines share one more; a
// Reader follows them, and what it was told is in the database (Log.Release) is
// written over. Loss of power costs at most what the Sync in use allows.
//
// It knows no link, no database and no HTTP: package clicks says what a record
// means and takes it to its table.
package clicklog

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A Policy says what becomes of a click when the log has no room: the database
// has been away for too long, or the disk is full.
type Policy uint8

// The policies. Drop counts the click and lets the answer go out. Refuse counts
// it and has the request refused.
const (
	Drop Policy = iota
	Refuse
)

// A Sync says when what is in memory goes to the disk. None is needed for a
// process that is killed: the kernel holds what was stored.
type Sync uint8

// SyncSecond bounds what a loss of power takes to the last second; SyncAlways
// makes Writer.Commit wait for the disk; SyncOff leaves it to the kernel.
const (
	SyncSecond Sync = iota
	SyncAlways
	SyncOff
)

// The defaults of Options.
const (
	DefaultSegment = 64 << 20
	DefaultKeep    = 4 << 30
)

// Options say where a log is and how much it may hold. A zero field takes its
// default.
type Options struct {
	Dir     string
	Node    int      // of this process among those that share a database: 0 to 1023
	Loops   int      // how many writers are wanted besides the shared one: at most 62
	Segment int64    // bytes of a segment: DefaultSegment; that of an existing directory stays
	Keep    int64    // bytes of all segments: DefaultKeep
	OnFull  Policy   // Drop
	Sync    Sync     // SyncSecond
	Cursors []Cursor // what the database has: the rows of click_cursor, of all nodes
	Rows    []Cursor // up to where it may have rows, where that is behind Cursors
	Log     *slog.Logger

	tick time.Duration // of the provisioner; 0: provisionTick
	rest time.Duration // of silence before it sleeps; 0: restAfter
}

// ErrLocked is what Open wraps when another process uses the directory.
var ErrLocked = errors.New("another process uses this click log")

// ErrWriters is what Open wraps when no writer's number is left.
var ErrWriters = fmt.Errorf("all %d writer numbers of this node are taken", writers)

// A Log is a directory of segments. Its methods may be called by any goroutine.
type Log struct {
	opts Options
	log  *slog.Logger
	dir  *directory
	id   ID

	writers []*Writer // of the loops; the last one is shared's
	shared  Shared

	quit  chan struct{}
	ended sync.WaitGroup // the provisioner and the syncer
	kick  chan struct{}  // wakes the provisioner

	faults atomic.Uint64 // writes and syncs that failed

	// mu guards what follows. No writer takes it. The provisioner holds it while it
	// creates a segment; else it is not held during I/O.
	mu        sync.Mutex
	streams   []*stream // one for each number that has segments or a writer
	spares    []*segment
	removable []*segment // to be removed by the syncer, which may be reading them
	bytes     int64      // of all segments
	closed    bool
	still     chan struct{} // closed when a writer writes again; nil: one may be writing
	aside     int           // segments that were put aside when the log was opened
}

// A stream is the records of one writer's number, of this process and of those
// before it.
type stream struct {
	node, writer int
	segments     []*segment // by number, ascending
	cursor       uint64     // what is before is in the database
	first        uint64     // where the writer of this process begins
	w            *Writer    // nil: only processes before this one wrote
	next         uint64     // number of the segment that is provided next
	provided     int        // segments to w
	short        error      // why w got no segment when last tried
	nearEnd      bool       // it was told that few segments are left
	synced       uint64     // what w wrote before is on disk; the syncer's
}

// prefix returns the bits of a Seq that name the stream.
func (s *stream) prefix() Seq { return makeSeq(s.node, s.writer, 0) }

// Open opens the directory, or makes it, and finds a number for each writer: one
// that the directory has used before, or a free one. A number that another
// directory has used, or whose cursor is ahead of its segments, is left alone
// and warned of. A writer goes on behind the last record of its number. What processes
// before this one have left is there for Reader.
func Open(o Options) (*Log, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	d, err := openDirectory(&o)
	if err != nil {
		return nil, fmt.Errorf("open the click log %s: %w", o.Dir, err)
	}
	l := &Log{
		opts: o, log: o.Log.With("dir", o.Dir), dir: d, id: d.id,
		quit: make(chan struct{}), kick: make(chan struct{}, 1),
	}
	if err := l.setUp(); err != nil {
		d.close()
		return nil, fmt.Errorf("open the click log %s: %w", o.Dir, err)
	}
	l.ended.Add(2)
	go l.provision()
	go l.syncs()
	return l, nil
}

// complete fills in defaults and refuses what cannot be.
func (o *Options) complete() error {
	if o.Segment == 0 {
		o.Segment = DefaultSegment
	}
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.tick == 0 {
		o.tick = provisionTick
	}
	if o.rest == 0 {
		o.rest = restAfter
	}
	switch {
	case o.Node < 0 || o.Node > maxNode:
		return fmt.Errorf("click log: node %d is not between 0 and %d", o.Node, maxNode)
	case o.Loops < 0 || o.Loops > maxLoops:
		return fmt.Errorf("click log: %d loops, at most %d have a writer", o.Loops, maxLoops)
	case o.Segment < minSegment || o.Segment%pageSize != 0 || o.Segment > maxSegment:
		return fmt.Errorf("click log: a segment of %d bytes: must be a multiple of %d, "+
			"%d to %d", o.Segment, pageSize, minSegment, maxSegment)
	case o.Keep < int64(o.Loops+1)*o.Segment:
		return fmt.Errorf("click log: links.log.max of %d bytes is less than a segment of %d for "+
			"each of %d writers: raise it", o.Keep, o.Segment, o.Loops+1)
	}
	return nil
}

// ID returns the random name of the directory.
func (l *Log) ID() ID { return l.id }

// Writer returns the writer of event loop i. Only one goroutine at a time may
// use it.
func (l *Log) Writer(i int) *Writer { return l.writers[i] }

// Shared returns the writer that any goroutine may use.
func (l *Log) Shared() *Shared { return &l.shared }

// Cursors returns a cursor for each stream: where reading has to begin. The
// caller makes sure that the database has them all before the first click.
func (l *Log) Cursors() []Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Cursor, 0, len(l.streams))
	for _, s := range l.streams {
		list = append(list, Cursor{Node: s.node, Writer: s.writer, Dir: l.id,
			Seq: s.prefix() | Seq(s.cursor>>3)})
	}
	return list
}

// Tips returns where each stream ends at this moment.
func (l *Log) Tips() []Cursor {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Cursor, 0, len(l.streams))
	for _, s := range l.streams {
		end := s.cursor
		if s.w != nil {
			end = max(end, s.w.done.Load())
		}
		list = append(list, Cursor{Node: s.node, Writer: s.writer, Dir: l.id,
			Seq: s.prefix() | Seq(end>>3)})
	}
	return list
}

// Release says that the database has all that is before c: segments that are
// behind it are written over.
func (l *Log) Release(c Cursor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.find(c.Node, c.Writer)
	if s == nil || c.Dir != l.id {
		return
	}
	s.cursor = max(s.cursor, c.Seq.bytes())
	l.free(s)
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// Still returns a channel that is closed when a writer writes again, or nil while one may
// be writing. Who takes it before reading the log, and has read everything, need not look
// again before it is closed.
func (l *Log) Still() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.still
}

// short returns why a writer got no segment when last tried; l.mu is held.
func (l *Log) short() error {
	for _, s := range l.streams {
		if s.short != nil {
			return s.short
		}
	}
	return nil
}

// find returns a stream; l.mu is held.
func (l *Log) find(node, writer int) *stream {
	for _, s := range l.streams {
		if s.node == node && s.writer == writer {
			return s
		}
	}
	return nil
}

// Close syncs what was appended and lets the directory go. Nobody may append
// any more, or the click is dropped.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	close(l.quit)
	l.ended.Wait()
	return l.shut()
}

// shut is the end of Close, when no goroutine of the log runs any more. Mapped
// memory stays for as long as a writer can be reached.
func (l *Log) shut() error {
	var errs []error
	if l.opts.Sync != SyncOff {
		errs = append(errs, l.syncAll(true))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(l.removable)
	l.removable = nil
	for _, s := range l.streams {
		for _, seg := range s.segments {
			errs = append(errs, seg.file.Close())
		}
	}
	for _, seg := range l.spares {
		errs = append(errs, seg.file.Close())
	}
	l.dir.close()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the click log %s: %w", l.opts.Dir, err)
	}
	return nil
}
