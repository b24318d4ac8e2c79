package clicks

import (
	"sync"

	"github.com/hotrow/hotrow/internal/links/clicklog"
)

// A Count is clicks of one link.
type Count struct {
	Clicks int64 // of humans
	Bots   int64
	LastAt int64 // Unix time in milliseconds of the last human's; 0: none
}

// A tail counts the clicks that are in the log and not in the database yet.
type tail struct {
	mu     sync.Mutex // guards what follows
	counts map[int64]Count
	total  int64
	commit uint64 // raised before and after each commit: odd while one is under way
}

// add counts a click of the log, for its link and for All.
func (t *tail) add(c *click) {
	t.total++
	t.addTo(c.link, c)
	if c.link != Orphans {
		t.addTo(All, c)
	}
}

func (t *tail) addTo(link int64, c *click) {
	n := t.counts[link]
	switch c.kind {
	case Human:
		n.Clicks++
		n.LastAt = max(n.LastAt, c.at)
	case Bot:
		n.Bots++
	default:
		return
	}
	t.counts[link] = n
}

// remove takes clicks out that the database has counted from now on.
func (t *tail) remove(s *sums) {
	t.total -= int64(s.total)
	for link, sum := range s.links {
		t.take(link, sum.clicks, sum.bots)
	}
}

// removeClick takes one click out that was counted before, or never will be.
func (t *tail) removeClick(c *click) {
	t.total--
	for _, link := range [2]int64{c.link, All} {
		switch {
		case link == All && c.link == Orphans:
		case c.kind == Human:
			t.take(link, 1, 0)
		case c.kind == Bot:
			t.take(link, 0, 1)
		}
	}
}

// take subtracts from the counts of a link.
func (t *tail) take(link, clicks, bots int64) {
	n, ok := t.counts[link]
	if !ok {
		return
	}
	n.Clicks, n.Bots = n.Clicks-clicks, n.Bots-bots
	if n.Clicks <= 0 && n.Bots <= 0 {
		delete(t.counts, link)
		return
	}
	t.counts[link] = n
}

// Tail returns what the log has of a link beyond the database: what is shown is
// the sum of both. The version is the same before and after reading the database
// when nothing was committed meanwhile; else the two are read again, so that no
// click is counted twice or not at all.
func (d *Drainer) Tail(link int64) (c Count, version uint64) {
	d.tail.mu.Lock()
	defer d.tail.mu.Unlock()
	return d.tail.counts[link], d.tail.commit
}

// fronts are how far each stream has been counted.
type fronts map[[2]int]clicklog.Seq

// at returns the front of the stream that a seq belongs to.
func (f fronts) at(s clicklog.Seq) clicklog.Seq { return f[[2]int{s.Node(), s.Writer()}] }

// move moves the front of a stream on.
func (f fronts) move(c clicklog.Cursor) {
	k := [2]int{c.Node, c.Writer}
	f[k] = max(f[k], c.Seq)
}
