// Package accesslog writes one line for each request, or for a sample of them,
// without ever making a request wait: what has no room is dropped and counted.
//
// Every producer has a ring of its own, into which it copies what a line will
// say; one goroutine makes the lines, JSON or LTSV, and writes many of them at
// once. What the lines are about is the caller's: it names the columns. The
// package knows no protocol, reads no configuration and keeps no files: others
// rename them and have them opened again.
package accesslog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A Mode says which requests are logged.
type Mode string

// The modes. Sampled logs one request in Settings.Every, and each that its
// producer asks to be logged always.
const (
	Off     Mode = "off"
	Sampled Mode = "sampled"
	All     Mode = "all"
)

// A Format is what a line looks like.
type Format string

// The formats. LTSV is http://ltsv.org/.
const (
	JSON Format = "json"
	LTSV Format = "ltsv"
)

// Settings are what may change while a Log is in use.
type Settings struct {
	Mode   Mode
	Format Format
	Every  int    // in mode Sampled: one request in so many
	File   string // appended to; "": Config.Stdout
}

// Config is what a Log is made of. A zero field takes its default.
type Config struct {
	Columns []Column  // of every line, in this order
	Stdout  io.Writer // where lines go without a file; nil: nowhere
	Public  bool      // everybody on the machine may read a file that is made
	Buffer  int       // bytes of each ring: 1 MiB, and room for two lines at least
	Log     *slog.Logger
}

// Pause is how long the writer waits between looking into the rings: lines are
// written at most so much later. A producer never wakes it, which would be a
// system call.
const Pause = 20 * time.Millisecond

// sinkTimeout is how long Configure and Close wait for a sink that takes nothing,
// at least.
const sinkTimeout = 2 * time.Second

// A Log takes records from any number of rings and writes them as lines. Its
// methods may be called by any goroutine.
type Log struct {
	cfg    Config
	values []Column // those of cfg.Columns that are in each record
	every  atomic.Int64
	log    *slog.Logger

	mu    sync.Mutex // guards rings
	rings []*Ring

	sharing sync.Mutex // guards shared, as its one producer
	shared  *Ring      // of those who have none of their own

	settling sync.Mutex // one Configure or Close at a time
	closed   bool       // guarded by settling
	changes  chan change
	quit     chan struct{}
	done     chan struct{} // closed when the writer has ended

	lines atomic.Uint64 // written
	lost  atomic.Uint64 // not taken by the sink
}

// A change is new settings for the writer.
type change struct {
	format Format
	sink   *sink // nil: nothing is to be logged
	done   chan struct{}
}

// ErrSlow is what Configure and Close wrap when the sink has taken nothing for
// so long that they do not wait any more.
var ErrSlow = errors.New("the access log's file or pipe takes nothing")

// Open starts a Log. Close ends it.
func Open(c Config, s Settings) (*Log, error) {
	if c.Buffer <= 0 {
		c.Buffer = 1 << 20
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Stdout == nil {
		c.Stdout = io.Discard
	}
	l := &Log{
		cfg: c, log: c.Log, changes: make(chan change, 1),
		quit: make(chan struct{}), done: make(chan struct{}),
	}
	for _, column := range c.Columns {
		column.Max = min(max(column.Max, 0), maxText)
		if column.Kind.inRecord() {
			l.values = append(l.values, column)
		}
	}
	l.shared = l.Ring()
	go (&writer{l: l}).run()
	if err := l.Configure(s); err != nil {
		_ = l.Close() // nothing has been written
		return nil, err
	}
	return l, nil
}

// Configure makes s the settings and opens its file, also when it is the one
// that is open already: so a file that was renamed is let go. Every line is in
// the one file or the other as a whole. When the file cannot be opened nothing
// changes. It wraps ErrSlow when the old file does not take what is left for it;
// the change is then made as soon as it does.
func (l *Log) Configure(s Settings) error {
	l.settling.Lock()
	defer l.settling.Unlock()
	if l.closed {
		return nil
	}
	c := change{format: s.Format, done: make(chan struct{})}
	if s.Mode != Off {
		var err error
		if c.sink, err = openSink(s.File, l.cfg); err != nil {
			return err
		}
	}
	if s.Mode == Off {
		l.every.Store(0)
	}
	select {
	case l.changes <- c:
	default: // the change before this one is still to be made
		_ = c.sink.close() // nothing was written to it
		return fmt.Errorf("change the access log: %w, the settings stay", ErrSlow)
	}
	switch s.Mode {
	case All:
		l.every.Store(1)
	case Sampled:
		l.every.Store(int64(max(s.Every, 1)))
	}
	if !l.wait(c.done) {
		return fmt.Errorf("change the access log: %w", ErrSlow)
	}
	return nil
}

// wait waits until done is closed, and gives up when the sink takes nothing. It
// reports whether done was closed.
func (l *Log) wait(done <-chan struct{}) bool {
	again := time.NewTicker(sinkTimeout)
	defer again.Stop()
	for was := l.tried(); ; {
		select {
		case <-done:
			return true
		case <-again.C:
			now := l.tried()
			if now == was {
				return false
			}
			was = now
		}
	}
}

// tried returns how many lines have been written, or could not.
func (l *Log) tried() uint64 { return l.lines.Load() + l.lost.Load() }

// Close writes what is left and closes the file. Records that come later are
// dropped. It wraps ErrSlow when the file does not take what is left; that is
// lost then.
func (l *Log) Close() error {
	l.settling.Lock()
	defer l.settling.Unlock()
	if !l.closed {
		l.closed = true
		l.every.Store(0)
		close(l.quit)
	}
	if !l.wait(l.done) {
		return fmt.Errorf("close the access log: %w", ErrSlow)
	}
	return nil
}

// On reports whether anything is logged at present.
func (l *Log) On() bool { return l.every.Load() != 0 }

// Ring returns a new ring for one producer. It is the Log's for ever: a
// producer that goes leaves its ring to another.
func (l *Log) Ring() *Ring {
	r := newRing(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rings = append(l.rings, r)
	return r
}

// Record logs one request that began at at and took so long, for callers that
// have no ring of their own; it takes a lock. fill adds the values of the
// columns and gets the weight of the line (see Ring.Pick). always is for what
// must not be missed in a sample.
func (l *Log) Record(at time.Time, took time.Duration, always bool,
	fill func(r *Ring, weight int64),
) {
	if !l.On() {
		return
	}
	l.sharing.Lock()
	defer l.sharing.Unlock()
	weight, picked := int64(0), true
	if !always {
		weight, picked = l.shared.Pick()
	}
	if picked && l.shared.Start(at) {
		fill(l.shared, weight)
		l.shared.End()
	}
	l.shared.Publish(took)
}

// Stats are counts since the start.
type Stats struct {
	Lines   uint64 // written
	Dropped uint64 // not written: the rings were full, or the sink failed
}

// Stats returns the counts up to now.
func (l *Log) Stats() Stats {
	s := Stats{Lines: l.lines.Load(), Dropped: l.lost.Load()}
	for _, r := range l.all() {
		s.Dropped += r.dropped.Load()
	}
	return s
}

// all returns the rings that there are.
func (l *Log) all() []*Ring {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rings[:len(l.rings):len(l.rings)]
}
