package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/testbed"
)

const (
	staleAfter = 250 * time.Millisecond // the defaults that the contract promises
	maxStale   = 10 * time.Second
	rounding   = time.Millisecond // Hotrow-Position states milliseconds
)

// readers ask for the pages of a world and have every answer explained.
type readers struct {
	t         testing.TB
	world     *world
	stand     *stand
	pages     []*page // documents
	lists     []*page
	wireLists []*page                // which the wire keeps apart
	token     atomic.Pointer[string] // of some earlier answer

	// faults says that the database may be away: then an answer may be a clear
	// 503. That the feed is behind, and answers are flagged as stale for it, can
	// happen on any machine that is busy enough.
	faults bool

	// replica says that a standby is read: an answer that comes from there may be as old as
	// it says.
	replica bool

	// hot has half of the reads ask for what is changed the most, three times each: as it is
	// loaded and as it changes. A copy that must not be there is seen at once.
	hot bool

	comes *comings // of a resource that comes and goes; nil: none does

	reads, hits, stale, refused, tokens, direct atomic.Int64
	wire, listed, filtered, wireListed          atomic.Int64 // of the reads, of the hits
	lag, late                                   atomic.Int64 // the largest, in nanoseconds
	sampled                                     atomic.Int64 // how long sample is

	mu         sync.Mutex // guards what follows
	pending    []Read
	violations []string
	explained  int
	sample     []operation // reads of flat that asked for the database itself
}

func newReaders(s *stand, w *world) *readers {
	counted := func(p *page) bool { return p.count }
	return &readers{t: s.T, world: w, stand: s, pages: w.pages(), lists: w.lists(),
		wireLists: slices.DeleteFunc(w.lists(), counted)}
}

// run reads over n roads until ctx ends, and explains what was read as
// the history grows.
func (rs *readers) run(ctx context.Context, wg *sync.WaitGroup, n int) {
	for i := range n {
		c := rs.stand.road(i)
		wg.Go(func() {
			for testbed.Breathe(ctx) {
				if i%2 == 1 {
					rs.wire.Add(1)
				}
				if err := rs.once(c); err != nil {
					rs.t.Errorf("reader: %v", err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for testbed.Pause(ctx, 100*time.Millisecond) {
			rs.explain()
		}
	})
}

// once makes one read, or three of what is asked for the most.
func (rs *readers) once(c road) error {
	if rs.hot && rand.IntN(2) == 0 {
		p := rs.pages[depts+emps+rand.IntN(hotFlats)]
		return errors.Join(rs.ask(c, p, false), rs.ask(c, p, false), rs.ask(c, p, false))
	}
	p := rs.pages[rand.IntN(len(rs.pages))]
	if rand.IntN(3) == 0 {
		p = rs.pages[rand.IntN(depts)] // the nested ones are few and change the most
	}
	_, wire := c.(*wireRoad)
	list := rand.IntN(3) == 0
	switch {
	case list && wire:
		p = rs.wireLists[rand.IntN(len(rs.wireLists))]
	case list:
		p = rs.lists[rand.IntN(len(rs.lists))]
	}
	return rs.ask(c, p, list && wire)
}

// ask asks for a page; plainly: for no more than the page.
func (rs *readers) ask(c road, p *page, plainly bool) error {
	headers := p.headers()
	var upto uint64
	switch n := rand.IntN(100); {
	case plainly: // QUERY asks for no more
	case n < 8:
		headers = append(headers, "Cache-Control: no-cache")
		rs.direct.Add(1)
	case n < 20:
		if token := rs.token.Load(); token != nil {
			headers = append(headers, "Hotrow-Min-Position: "+*token)
			upto = positionOf(*token)
			rs.tokens.Add(1)
		}
	}
	defer rs.comes.reads(p)()
	begin := rs.world.history.Now()
	a, err := c.get(p.path(), headers...)
	end := rs.world.history.Now()
	if err != nil {
		return err
	}
	return rs.judge(p, a, headers, upto, begin, end)
}

// judge checks an answer and keeps it to be explained later.
func (rs *readers) judge(
	p *page, a *answer, headers []string, upto uint64, begin, end Moment,
) error {
	rs.reads.Add(1)
	status := a.status()
	if a.code == 503 && rs.faults {
		rs.refused.Add(1)
		return rs.clear(a)
	}
	if a.code != 200 && a.code != 404 && (a.code != 206 || p.limit == 0) {
		return fmt.Errorf("GET %s %v: status %d: %s", p.path(), headers, a.code, a.body)
	}
	token, lag := a.position()
	if text := a.header.Get("Hotrow-Position"); text != "" && rand.IntN(4) == 0 {
		rs.token.Store(&text)
	}
	looks, err := rs.world.looks(p, a)
	if err != nil {
		return err
	}
	flagged := status == "fwd=stale"
	if flagged && len(headers) > len(p.headers()) {
		return fmt.Errorf("GET %s %v: flagged as stale", p.path(), headers)
	}
	r := Read{Looks: looks, To: end, Begin: begin, Upto: since(a, token), Token: upto,
		From: begin - Moment(rs.age(status, lag)),
		What: fmt.Sprintf("GET %s %v at %v: %s, lag %v", p.path(), headers,
			time.Duration(begin), status, lag)}
	switch {
	case flagged:
		rs.stale.Add(1)
	case status == hit, status == diskHit:
		if rs.hits.Add(1); p.limit > 0 {
			rs.listed.Add(1)
		}
		if p.least > 0 || p.parent > 0 {
			rs.filtered.Add(1)
		}
		if slices.Contains(rs.wireLists, p) {
			rs.wireListed.Add(1)
		}
		raise(&rs.lag, int64(lag))
		raise(&rs.late, int64(r.Late(begin)))
		if lag > staleAfter+rounding {
			rs.violate(r.What + ": a hit that states more than the bound")
		}
	}
	if !flagged {
		if err := p.seen.check(&r, begin, end); err != nil {
			rs.violate(err.Error())
		}
	}
	rs.keep(p, &r, headers, begin)
	return nil
}

// since returns up to where an answer says that every commit is in it. Over HTTP none does: its
// position is what the answer shows at most.
func since(a *answer, token resource.Token) uint64 {
	if !a.wire {
		return 0
	}
	return uint64(token.Since())
}

// age returns how old an answer may be when the request is sent, from what the
// answer says of itself. One that was read from the database for this request
// is not old at all; one that joined somebody else's read may be older by what
// the contract allows.
func (rs *readers) age(status string, lag time.Duration) time.Duration {
	switch {
	case status == hit, status == diskHit:
		return lag + rounding
	case status == "fwd=stale":
		return maxStale + rounding
	case strings.HasSuffix(status, "collapsed"), status == "fwd=bypass":
		return staleAfter
	case rs.replica && strings.HasPrefix(status, "fwd=uri-miss"):
		return lag + rounding
	}
	return 0
}

// clear checks that a refusal tells the client what to do.
func (rs *readers) clear(a *answer) error {
	if a.header.Get("Retry-After") == "" ||
		a.header.Get("Content-Type") != "application/problem+json" {
		return fmt.Errorf("a 503 that is not a clear problem: %v %s", a.header, a.body)
	}
	return nil
}

func (rs *readers) violate(text string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.violations = append(rs.violations, text)
}

func (rs *readers) keep(p *page, r *Read, headers []string, begin Moment) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.pending = append(rs.pending, *r)
	if p.table == "flat" && p.limit == 0 && slices.Contains(headers, "Cache-Control: no-cache") &&
		len(rs.sample) < 20_000 {
		rs.sample = append(rs.sample, operation{p.key, begin, r.To, r.Looks[0].State.Value})
		rs.sampled.Add(1)
	}
}

// explain explains the reads whose history is complete.
func (rs *readers) explain() {
	settled := rs.world.history.Settled()
	rs.mu.Lock()
	pending := rs.pending
	rs.pending = nil
	rs.mu.Unlock()
	var later []Read
	var bad []string
	for i := range pending {
		if pending[i].To >= settled {
			later = append(later, pending[i])
			continue
		}
		if err := pending[i].Explain(); err != nil {
			bad = append(bad, err.Error())
		}
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.explained += len(pending) - len(later)
	rs.pending = append(rs.pending, later...)
	rs.violations = append(rs.violations, bad...)
}

// finish explains what is left and fails the test for what cannot be explained.
func (rs *readers) finish() {
	rs.t.Helper()
	rs.explain()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if len(rs.pending) > 0 || int64(rs.explained) != rs.reads.Load()-rs.refused.Load() {
		rs.t.Errorf("%d of %d reads explained, %d left", rs.explained, rs.reads.Load(),
			len(rs.pending))
	}
	rs.t.Logf("%d of the hits are lists, %d of them filtered, %d over the wire", rs.listed.Load(),
		rs.filtered.Load(), rs.wireListed.Load())
	for i, v := range rs.violations {
		if i == 5 {
			rs.t.Errorf("and %d more", len(rs.violations)-i)
			break
		}
		rs.t.Error(v)
	}
}

func raise(to *atomic.Int64, v int64) {
	for old := to.Load(); v > old && !to.CompareAndSwap(old, v); old = to.Load() {
	}
}
