package arena

import "math/bits"

const (
	unitsInPage  = 64 // as many as a word has bits
	largestPage  = 128 << 10
	smallestPage = 16 << 10

	// pagesAtLeast is how many pages a small arena is cut into: each size class that is in
	// use has one of its own at least.
	pagesAtLeast = 256

	none = -1 // no page
)

// A page is free, or cut into slots of one class, or into units that runs take. A free page
// is one of runs without any.
type page struct {
	class   uint8 // runs: it is not one of slots
	touched bool  // used since Trim has given it back
	retired bool  // gives out no slots any more: see Evacuate

	// Of a page of runs: which units are taken, and in which of them a run begins.
	taken, starts uint64

	// Of a page of slots. Those that have been used are a list through their own memory:
	// the four bytes behind the head are the next one's number and 1. Those behind opened
	// never were, and may not even be resident.
	opened     int
	free       uint32 // the first of the list, and 1
	used       int    // slots that are not free
	next, prev int    // neighbours in the list of a class's pages with a free slot
}

// pageSize returns the size of the pages of an arena of max bytes.
func pageSize(max int64) int {
	if guardRuns {
		return unitsInPage * systemPage
	}
	n := smallestPage
	for n < largestPage && int64(2*n)*pagesAtLeast <= max {
		n *= 2
	}
	return n
}

func (a *Arena) pageOf(ref Ref) int { return a.at(ref) / a.pageBytes }

// freePage takes a page that nothing is in. Pages of slots come from the end of the memory
// and runs from its beginning, so that free pages stay together for long runs.
func (a *Arena) freePage() (p int, ok bool) {
	for w := len(a.open) - 1; w >= 0; w-- {
		for left := a.open[w]; left != 0; {
			i := bits.Len64(left) - 1
			if p = 64*w + i; a.pages[p].taken == 0 {
				return p, true
			}
			left &^= 1 << i
		}
	}
	return 0, false
}

// takeSlot takes a slot of class c.
func (a *Arena) takeSlot(c int) (Ref, bool) {
	k := &a.classes[c]
	if k.partial == none {
		p, ok := a.freePage()
		if !ok || a.used >= a.most {
			return 0, false
		}
		a.used++
		a.open[p/64] &^= 1 << (p % 64)
		a.pages[p] = page{class: uint8(c), touched: true}
		k.pages++
		a.link(p)
	}
	p := k.partial
	of := &a.pages[p]
	slot := of.opened
	if of.free != 0 {
		slot = int(of.free - 1)
		of.free = *next(a.mem[a.slotAt(p, slot):])
	} else {
		of.opened++
	}
	of.used++
	k.used++
	if of.used == k.slots {
		a.unlink(p)
	}
	return a.refAt(a.slotAt(p, slot)), true
}

// slotAt returns where a slot begins.
func (a *Arena) slotAt(p, slot int) int {
	return p*a.pageBytes + slot*a.classes[a.pages[p].class].size
}

// releaseSlot makes a slot free, and its page, if it was the last.
func (a *Arena) releaseSlot(c int, ref Ref) {
	p, k := a.pageOf(ref), &a.classes[c]
	of := &a.pages[p]
	listed := of.used < k.slots && !of.retired
	of.used--
	k.used--
	if of.used == 0 {
		if listed {
			a.unlink(p)
		}
		a.pages[p] = page{touched: true}
		a.open[p/64] |= 1 << (p % 64)
		a.used--
		k.pages--
		return
	}
	*next(a.mem[a.at(ref):]) = of.free
	of.free = uint32(a.at(ref)%a.pageBytes/k.size) + 1
	if !listed && !of.retired {
		a.link(p)
	}
}

// link puts page p first in the list of its class's pages with a free slot.
func (a *Arena) link(p int) {
	of := &a.pages[p]
	k := &a.classes[of.class]
	of.prev, of.next = none, k.partial
	if k.partial != none {
		a.pages[k.partial].prev = p
	}
	k.partial = p
}

// unlink takes page p out of that list.
func (a *Arena) unlink(p int) {
	of := &a.pages[p]
	if of.prev == none {
		a.classes[of.class].partial = of.next
	} else {
		a.pages[of.prev].next = of.next
	}
	if of.next != none {
		a.pages[of.next].prev = of.prev
	}
}

// Trim gives the memory of free pages back to the system, and returns how many bytes that
// are. The arena takes it anew when it needs it.
func (a *Arena) Trim() (bytes int) {
	a.mu.Lock()
	for range a.limbo { // unless somebody reads
		a.reclaim()
	}
	a.mu.Unlock()
	for p := 0; ; p++ {
		a.mu.Lock() // for one page at a time: others wait for microseconds
		if p >= len(a.pages) {
			a.mu.Unlock()
			return bytes
		}
		of := &a.pages[p]
		if of.class == runs && of.taken == 0 && of.touched {
			if giveBack(a.mem[p*a.pageBytes:][:a.pageBytes]) {
				of.touched = false
				bytes += a.pageBytes
			}
		}
		a.mu.Unlock()
	}
}
