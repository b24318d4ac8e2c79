package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/hotrow/hotrow/internal/source"
)

// errDetached is the error of a fence while no connection follows the database.
var errDetached = errors.New("the feed is not connected")

// A progress is how far a feed has handed its changes on.
type progress struct {
	// mu guards the fields.
	mu      sync.Mutex
	pos     lsn
	ended   bool
	changed chan struct{} // closed at the next change; nil: nobody waits
}

// at returns the position, whether it is final, and a channel that is closed
// when that changes.
func (p *progress) at() (pos lsn, ended bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.pos, p.ended, p.changed
}

// advance moves the position to pos, never back, and wakes who waits.
func (p *progress) advance(pos lsn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pos = max(p.pos, pos)
	p.wake()
}

// end says that there will be no further position.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.wake()
}

func (p *progress) wake() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// fences lets callers that ask for a fence at the same time share one.
//
// A caller may join only a fence that has not read its position yet: one that
// has may miss a change that was visible when the caller asked.
type fences struct {
	// mu guards next.
	mu   sync.Mutex
	next *fence // not begun; nil: nobody waits

	turn chan struct{} // holds a token while a fence is under way
}

// A fence is one position to be reached, for all that asked before it began.
type fence struct {
	done chan struct{} // closed when pos and err are set
	pos  source.Position
	err  error
}

func newFences() *fences { return &fences{turn: make(chan struct{}, 1)} }

// join returns the outcome of a call of reach that begins after join was
// called. Of the callers that wait together one makes the call, with its own
// context; when that ends too early another one takes over.
func (f *fences) join(
	ctx context.Context, reach func(context.Context) (source.Position, error),
) (source.Position, error) {
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
func (f *fences) lead(
	ctx context.Context, mine *fence, reach func(context.Context) (source.Position, error),
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
