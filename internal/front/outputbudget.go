package front

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	unknownSize  = 256 << 10 // of a document of a list whose resource has answered nothing yet
	forgetLarger = 16        // of how much larger documents were, this part is forgotten at a time
)

// ErrBusy says that too many answers wait for peers to take them.
var ErrBusy = errors.New("too many answers wait for their clients to read them")

// OutputBudget bounds the memory of answers whose clients do not read them. An answer is
// claimed before it is loaded, as large as it may become, and released when the
// client has taken it. Who finds no room waits, those of one connection in their
// order, connections in turn.
type OutputBudget struct {
	Wait time.Duration // of a request for room, at most: UnsentWait

	peer, all int64
	refused   atomic.Uint64
	sizes     sync.Map // of *atomic.Int64: bytes of a document, by the resource's name

	mu      sync.Mutex // guards what follows, and the shares; innermost
	held    int64
	waiting []*ClientShare // that have claims, in turn
	claims  int
}

// NewOutputBudget returns a budget of so many bytes for a peer and for all of them; 0:
// UnsentPeer and UnsentAll.
func NewOutputBudget(peer, all int64) *OutputBudget {
	if peer <= 0 {
		peer = UnsentPeer
	}
	if all <= 0 {
		all = UnsentAll
	}
	return &OutputBudget{Wait: UnsentWait, peer: peer, all: all}
}

// OutputStats are the numbers of now, but for Refused.
type OutputStats struct {
	Bytes   int64  // of answers that are being made, or that no peer has taken
	Waiting int    // requests that wait for room
	Refused uint64 // requests that have waited in vain
}

// Stats returns the numbers of now.
func (u *OutputBudget) Stats() OutputStats {
	u.mu.Lock()
	defer u.mu.Unlock()
	return OutputStats{Bytes: u.held, Waiting: u.claims, Refused: u.refused.Load()}
}

// Estimate returns how large so many documents of a resource may become, going by
// those before, most at most.
func (u *OutputBudget) Estimate(resource string, documents, most int) int64 {
	each := int64(unknownSize)
	if v, ok := u.sizes.Load(resource); ok {
		each = v.(*atomic.Int64).Load()
	} else if documents == 1 {
		each = UnsentSmall
	}
	return min(int64(documents)*each, int64(most))
}

// Learn notes how large documents of a resource were.
func (u *OutputBudget) Learn(resource string, documents, bytes int) {
	if documents == 0 {
		return
	}
	v, ok := u.sizes.Load(resource)
	if !ok {
		v, _ = u.sizes.LoadOrStore(resource, new(atomic.Int64))
	}
	size, mean := v.(*atomic.Int64), int64(bytes/documents)+1
	if old := size.Load(); mean < old {
		mean = old - (old-mean)/forgetLarger
	}
	size.Store(mean) // of two at once either may count
}

// A ClientShare is one connection's part of the budget: every byte that its peer has not taken,
// whatever front or protocol made it. The event loop counts those (it is an
// eventloop.Meter), and requests claim room for what they will be.
type ClientShare struct {
	u      *OutputBudget
	held   int64
	claims [2][]*Reservation // that wait: for small answers, for large ones
	listed bool              // in u.waiting
	closed bool
}

// waits returns the claims like one for n bytes.
func (p *ClientShare) waits(n int64) *[]*Reservation {
	if n <= UnsentSmall {
		return &p.claims[0]
	}
	return &p.claims[1]
}

// NewShare returns the part of a new connection.
func (u *OutputBudget) NewShare() *ClientShare { return &ClientShare{u: u} }

// A Reservation is a request that waits for room.
type Reservation struct {
	p      *ClientShare
	n      int64
	since  time.Time
	grant  func()
	refuse func()
}

// Reserve takes n bytes and reports true, or has the claim wait: then one of grant and
// refuse is called later by any goroutine, under locks of other connections, unless
// the claim is withdrawn. refuse is called by Expire and Close only.
func (p *ClientShare) Reserve(n int64, grant, refuse func()) (*Reservation, bool) {
	u := p.u
	u.mu.Lock()
	defer u.mu.Unlock()
	waits := p.waits(n)
	if len(*waits) == 0 && u.fits(p, n) {
		u.take(p, n)
		return nil, true
	}
	if p.closed { // nobody waits for the answer
		return nil, true
	}
	c := &Reservation{p: p, n: n, since: time.Now(), grant: grant, refuse: refuse}
	*waits = append(*waits, c)
	u.claims++
	if !p.listed {
		p.listed = true
		u.waiting = append(u.waiting, p)
	}
	return c, false
}

// fits reports whether p may have n bytes more. Who has none gets one answer,
// however large, while there is room for all, and a small one even then: peers that
// do not read must not keep others from what is small, and neither must a large
// answer of the same peer that is being loaded.
func (u *OutputBudget) fits(p *ClientShare, n int64) bool {
	switch {
	case p.closed:
		return false
	case u.held > 0 && u.held+n > u.all:
		return p.held == 0 && n <= UnsentSmall
	}
	most := u.peer
	if n <= UnsentSmall {
		most *= UnsentSmallPeer
	}
	return p.held == 0 || p.held+n <= most
}

func (u *OutputBudget) take(p *ClientShare, n int64) {
	p.held += n
	u.held += n
}

// Add corrects what p has by n bytes: an answer has another size than was claimed,
// or was taken.
func (p *ClientShare) Add(n int64) {
	if n == 0 {
		return
	}
	u := p.u
	u.mu.Lock()
	var granted []*Reservation
	if !p.closed {
		if u.take(p, n); n < 0 {
			granted = u.grantSome()
		}
	}
	u.mu.Unlock()
	for _, c := range granted {
		c.grant()
	}
}

// Grow takes n bytes more for an answer that is larger than was claimed for it. It reports
// false when there is no room for them now.
func (p *ClientShare) Grow(n int64) bool {
	u := p.u
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case p.closed:
		return true
	case u.held+n > u.all, p.held+n > u.peer:
		return false
	}
	u.take(p, n)
	return true
}

// Untaken implements eventloop.Meter: it is Add. When the peer has taken something of what
// it was sent, its claims wait anew: it reads, and has to be waited for.
func (p *ClientShare) Untaken(change int64) {
	if change < 0 {
		p.waitAnew()
	}
	p.Add(change)
}

func (p *ClientShare) waitAnew() {
	u := p.u
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(p.claims[0])+len(p.claims[1]) == 0 {
		return
	}
	now := time.Now()
	for _, waits := range p.claims {
		for _, c := range waits {
			c.since = now
		}
	}
}

// Close implements eventloop.Meter: the connection has ended. It gives back all that p has,
// and refuses its claims.
func (p *ClientShare) Close() {
	u := p.u
	u.mu.Lock()
	u.held -= p.held
	lost := append(p.claims[0], p.claims[1]...)
	u.claims -= len(lost)
	p.held, p.claims, p.closed = 0, [2][]*Reservation{}, true
	granted := u.grantSome()
	u.mu.Unlock()
	for _, c := range lost {
		c.refuse()
	}
	for _, c := range granted {
		c.grant()
	}
}

// grantSome takes the bytes of the claims for which there is room now, one of each
// peer in turn.
func (u *OutputBudget) grantSome() (granted []*Reservation) {
	for stuck := 0; stuck < len(u.waiting); {
		p := u.waiting[0]
		u.waiting = u.waiting[1:]
		if len(p.claims[0])+len(p.claims[1]) == 0 {
			p.listed = false
			continue
		}
		u.waiting = append(u.waiting, p)
		stuck++
		for i := range p.claims {
			if waits := p.claims[i]; len(waits) > 0 && u.fits(p, waits[0].n) {
				u.take(p, waits[0].n)
				granted = append(granted, waits[0])
				p.claims[i] = waits[1:]
				u.claims--
				stuck = 0
			}
		}
	}
	return granted
}

// Withdraw takes the claim back. It reports false when it was granted already.
func (c *Reservation) Withdraw() bool {
	u := c.p.u
	u.mu.Lock()
	defer u.mu.Unlock()
	waits := c.p.waits(c.n)
	i := slices.Index(*waits, c)
	if i < 0 {
		return false
	}
	*waits = slices.Delete(*waits, i, i+1)
	u.claims--
	return true
}

// Expire refuses the claims of p that have waited too long.
func (p *ClientShare) Expire(now time.Time) {
	u := p.u
	u.mu.Lock()
	var late []*Reservation
	for i, waits := range p.claims {
		n := 0
		for n < len(waits) && now.Sub(waits[n].since) >= u.Wait {
			n++
		}
		late = append(late, waits[:n]...)
		p.claims[i] = waits[n:]
	}
	u.claims -= len(late)
	u.refused.Add(uint64(len(late)))
	u.mu.Unlock()
	for _, c := range late {
		c.refuse()
	}
}

// Acquire waits until p has n bytes more, for OutputBudget.Wait at most: then, or when p
// was closed, the error is ErrBusy.
func (p *ClientShare) Acquire(ctx context.Context, n int64) error {
	granted, closed := make(chan struct{}), make(chan struct{})
	c, ok := p.Reserve(n, func() { close(granted) }, func() { close(closed) })
	if ok {
		return nil
	}
	timer := time.NewTimer(p.u.Wait)
	defer timer.Stop()
	var err error
	select {
	case <-granted:
		return nil
	case <-closed:
		return ErrBusy
	case <-timer.C:
		err = ErrBusy
		p.u.refused.Add(1)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !c.Withdraw() {
		p.Add(-n) // it was granted meanwhile; or p is closed, and nothing is added
	}
	return err
}

type shareKey struct{}

// WithShare returns ctx for the requests of a connection.
func WithShare(ctx context.Context, p *ClientShare) context.Context {
	return context.WithValue(ctx, shareKey{}, p)
}

// ShareOf returns the connection of a request, or nil.
func ShareOf(ctx context.Context) *ClientShare {
	p, _ := ctx.Value(shareKey{}).(*ClientShare)
	return p
}
