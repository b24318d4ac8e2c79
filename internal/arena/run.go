package arena

import "math/bits"

// takeRun takes n units in a row, the first that are free: they may begin in one page and
// end in another.
func (a *Arena) takeRun(n int) (Ref, bool) {
	free := 0 // units in a row that end before the one looked at
	for p := 0; p < len(a.pages); p++ {
		if a.open[p/64] == 0 { // no page of these has any
			free, p = 0, p|63
			continue
		}
		if a.open[p/64]>>(p%64)&1 == 0 {
			free = 0
			continue
		}
		for taken, u := a.pages[p].taken, 0; u < unitsInPage; {
			gap := min(bits.TrailingZeros64(taken>>u), unitsInPage-u)
			if free += gap; free >= n {
				first := p*unitsInPage + u + gap - free
				if a.used+a.freePages(first, n) > a.most {
					return 0, false
				}
				a.mark(first, n, true)
				return a.runAt(0, first), true
			}
			if u += gap; u < unitsInPage {
				u += bits.TrailingZeros64(^(taken >> u))
				free = 0
			}
		}
	}
	return 0, false
}

// freePages returns how many of the pages that a run would begin or go on in are free.
func (a *Arena) freePages(first, n int) (free int) {
	for p := first / unitsInPage; p <= (first+n-1)/unitsInPage; p++ {
		if a.pages[p].taken == 0 {
			free++
		}
	}
	return free
}

// releaseRun makes a run of n units free.
func (a *Arena) releaseRun(ref Ref, n int) { a.mark(a.at(ref)/a.unit, n, false) }

// mark marks n units as taken by a run, or as free.
func (a *Arena) mark(first, n int, taken bool) {
	of, begin := &a.pages[first/unitsInPage], uint64(1)<<(first%unitsInPage)
	if taken {
		of.starts |= begin
	} else {
		of.starts &^= begin
	}
	for n > 0 {
		p, u := first/unitsInPage, first%unitsInPage
		here := min(n, unitsInPage-u)
		mask := ^uint64(0) >> (unitsInPage - here) << u
		switch of := &a.pages[p]; {
		case !taken:
			if of.taken &^= mask; of.taken == 0 {
				a.used--
			}
		case of.taken == 0:
			a.used++
			fallthrough
		default:
			of.taken |= mask
			of.touched = true
		}
		if a.pages[p].taken == ^uint64(0) {
			a.open[p/64] &^= 1 << (p % 64)
		} else {
			a.open[p/64] |= 1 << (p % 64)
		}
		first, n = first+here, n-here
	}
}

// Evacuate appends the entries that stand where an entry of size bytes could go, about where
// near is. They stay their owners', who may free them: s keeps their Refs good meanwhile.
// Once they are free, there is room for any class, and for size bytes in one run. Until then
// these pages give out no slots; others may be faster to take the room.
func (s Section) Evacuate(dst []Ref, near Ref, size int) []Ref {
	a := s.a
	a.mu.Lock()
	defer a.mu.Unlock()
	n := (HeadBytes + size + a.pageBytes - 1) / a.pageBytes
	// A part of the first page is never free.
	first := max(0, min(max(1, a.pageOf(near)), len(a.pages)-n))
	if ref := a.runInto(first); ref != 0 {
		dst = a.appendEntry(dst, ref)
	}
	for p := first; p < min(first+n, len(a.pages)); p++ {
		dst = a.evacuate(dst, p)
	}
	return dst
}

// evacuate appends the entries that begin in page p.
func (a *Arena) evacuate(dst []Ref, p int) []Ref {
	of := &a.pages[p]
	if of.class == runs {
		for starts := of.starts; starts != 0; starts &= starts - 1 {
			dst = a.appendEntry(dst, a.runAt(p, bits.TrailingZeros64(starts)))
		}
		return dst
	}
	if !of.retired && of.used < a.classes[of.class].slots {
		a.unlink(p)
	}
	of.retired = true
	for slot := range of.opened {
		dst = a.appendEntry(dst, a.refAt(a.slotAt(p, slot)))
	}
	return dst
}

// runAt returns the run that begins in a unit of page p.
func (a *Arena) runAt(p, unit int) Ref {
	return a.refAt(p*a.pageBytes + unit*a.unit)
}

// runInto returns the run that begins before page p and ends in it, 0: there is none.
func (a *Arena) runInto(p int) Ref {
	of := &a.pages[p]
	if p == 0 || of.class != runs || of.taken&^of.starts&1 == 0 {
		return 0
	}
	for p--; a.pages[p].starts == 0; p-- {
	}
	return a.runAt(p, bits.Len64(a.pages[p].starts)-1)
}

// appendEntry appends ref if it is an entry that its owner has not freed.
func (a *Arena) appendEntry(dst []Ref, ref Ref) []Ref {
	if a.entry(ref) == 0 {
		return dst
	}
	return append(dst, ref)
}

// entry returns how many bytes the entry has that is in a slot or at the beginning of a run,
// 0: there is none, or it has been freed.
func (a *Arena) entry(ref Ref) uint32 {
	slot := a.mem[a.at(ref):]
	if a.guard.hides(slot) {
		return 0
	}
	n := head(slot).Load()
	if n&dying != 0 {
		return 0
	}
	return n
}
