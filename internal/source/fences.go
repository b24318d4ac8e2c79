package source

import (
	"context"
	"errors"
	"os"
	"sync"
)

// ErrDetached is the error of a fence while no connection follows the database.
var ErrDetached = errors.New("the feed is not connected")

// ErrReopen is the error of Feed.Follow where the feed has to be opened again for that.
var ErrReopen = errors.New("the feed has to be opened again for other tables")

// A Progress is how far a feed has handed its changes on. Its methods may be
// called by many goroutines.
type Progress struct {
	// mu guards the fields.
	mu      sync.Mutex
	pos     Position
	ended   bool
	changed chan struct{} // closed at the next change; nil: nobody waits
}

// NewProgress returns a Progress that begins at pos.
func NewProgress(pos Position) *Progress { return &Progress{pos: pos} }

// At returns the position, whether it is final, and a channel that is closed
// when that changes.
func (p *Progress) At() (pos Position, ended bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.pos, p.ended, p.changed
}

// Advance moves the position to pos, never back, and wakes who waits.
func (p *Progress) Advance(pos Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pos > p.pos {
		p.pos = pos
		p.wake()
	}
}

// End says that there will be no further position.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.wake()
}

func (p *Progress) wake() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Reach waits until the position is target, and returns the one reached. The
// error is ErrDetached when there will be no such position.
func (p *Progress) Reach(ctx context.Context, target Position) (Position, error) {
	for {
		pos, ended, changed := p.At()
		switch {
		case pos >= target:
			return pos, nil
		case ended:
			return 0, ErrDetached
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// Fences lets callers that ask for a fence at the same time share one.
//
// A caller may join only a fence that has not read its position yet: one that
// has may miss a change that was visible when the caller asked.
type Fences struct {
	// mu guards next.
	mu   sync.Mutex
	next *fence // not begun; nil: nobody waits

	turn chan struct{} // holds a token while a fence is under way
}

// A fence is one position to be reached, for all that asked before it began.
type fence struct {
	done chan struct{} // closed when pos and err are set
	pos  Position
	err  error
}

// NewFences returns Fences of which none is under way.
func NewFences() *Fences { return &Fences{turn: make(chan struct{}, 1)} }

// Join returns the outcome of a call of reach that begins after Join was
// called. Of the callers that wait together one makes the call, with its own
// context; when that ends too early another one takes over.
func (f *Fences) Join(
	ctx context.Context, reach func(context.Context) (Position, error),
) (Position, error) {
	for {
		f.mu.Lock()
		mine := f.next
		lead := mine == nil
		if lead {
			mine = &fence{done: make(chan struct{})}
			f.next = mine
		}
		f.mu.Unlock()
		if lead {
			f.lead(ctx, mine, reach)
			return mine.pos, mine.err
		}
		select {
		case <-mine.done:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if mine.err == nil || ctx.Err() != nil || !interrupted(mine.err) {
			return mine.pos, mine.err
		}
	}
}

// lead waits for its turn and makes the call.
func (f *Fences) lead(
	ctx context.Context, mine *fence, reach func(context.Context) (Position, error),
) {
	begun := false
	select {
	case f.turn <- struct{}{}:
		begun = true
	case <-ctx.Done():
		mine.err = ctx.Err()
	}
	// From here on the fence reads its position: nobody may join it any more.
	f.mu.Lock()
	f.next = nil
	f.mu.Unlock()
	if begun {
		mine.pos, mine.err = reach(ctx)
		<-f.turn
	}
	close(mine.done)
}

// interrupted reports whether err is the end of a context or of a deadline,
// which may be the leader's own and says nothing of the database then.
func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, os.ErrDeadlineExceeded)
}
