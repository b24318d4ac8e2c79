package fresh

// A position has two sides. AsOf is what an answer includes: every change up to there. What
// it shows may reach further: a load reads the source itself, and that is ahead of the feed.
// Who goes on from the answer, on another node perhaps, must not get anything older, and so
// asks for what the answer shows.
//
// A load says how far that can be: a position which its source gave after the snapshot of the
// read, so that nothing the read has seen is behind it. No copy keeps one. What a copy shows
// was visible when it had been read (row.Stamp.At), and a fence that began later and was
// reached proves that all of this is applied. Until then, 50 ms as a rule, the copy shows at
// most what any load has shown yet.

// Saw notes that what l has read shows nothing behind pos. The leader calls it before it ends
// the lease: a hit that finds the copy must find the position, too.
func (s *Space) Saw(l *Lease, pos Position) {
	l.shows = pos
	s.domain.Saw(l.AsOf, pos)
}

// Shows returns the position that what was read shows nothing behind; 0: nobody has said
// one, or the answer is a copy. Done must have been closed.
func (l *Lease) Shows() Position { return l.shows }

// Saw is Space.Saw for what is read without a lease, p being Applied from before the read. A
// position of another origin than the present one says nothing.
func (d *Domain) Saw(p *Progress, pos Position) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.Origin == d.applied.Load().Origin {
		d.seen.Store(max(d.seen.Load(), uint64(pos)))
	}
}

// Shown returns the position that a valid copy shows nothing behind. at is when it had been
// read, by the caller's clock; fenced is FencedAt, and applied is Applied's position, taken in
// this order. It takes no lock and is called when the copy has been found.
func (d *Domain) Shown(at, fenced int64, applied Position) Position {
	if at < fenced {
		return applied
	}
	return max(applied, Position(d.seen.Load()))
}
