package arena

import (
	"fmt"
	"math/bits"
)

// Stats is a snapshot of what an arena holds. HeldBytes is what it costs; of that,
// EntryBytes are of use.
type Stats struct {
	MaxBytes   uint64 // of all pages
	HeldBytes  uint64 // of the pages of slots and of the units that are not free
	LimboBytes uint64 // of HeldBytes, what was freed and waits for readers
	SlotBytes  uint64 // of HeldBytes, what entries take
	EntryBytes uint64 // of SlotBytes, what they have asked for, with their heads
	Entries    uint64
}

// A ClassStats is a snapshot of the entries of one size class.
type ClassStats struct {
	Bytes int // of a slot; 0: runs of units
	Pages int // that hold no other class
	Slots int // that these have; of runs, units
	Used  int // of them, not free
	Held  int // bytes that nobody else can use
}

// Stats returns a snapshot. It looks at every page: it is for scrapes.
func (a *Arena) Stats() Stats {
	s := Stats{}
	for _, c := range a.Classes() {
		s.HeldBytes += uint64(c.Held)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s.MaxBytes = uint64(len(a.mem))
	s.LimboBytes, s.SlotBytes = a.count.LimboBytes, a.count.SlotBytes
	s.EntryBytes, s.Entries = a.count.EntryBytes, a.count.Entries
	return s
}

// Classes returns the size classes that have pages: runs first, then from small to large.
func (a *Arena) Classes() []ClassStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	run := ClassStats{}
	for p := range a.pages {
		if of := &a.pages[p]; of.class == runs && of.taken != 0 {
			run.Pages++
			run.Slots += unitsInPage
			run.Used += bits.OnesCount64(of.taken)
		}
	}
	run.Held = run.Used * a.unit
	all := []ClassStats{run}
	for _, k := range a.classes[1:] {
		if k.pages > 0 {
			all = append(all, ClassStats{k.size, k.pages, k.pages * k.slots, k.used,
				k.pages * a.pageBytes})
		}
	}
	return all
}

// Check compares what the arena says of itself with what is in its pages, and returns what
// is wrong. Nobody may be between Add's beginning and end. It looks at every slot.
func (a *Arena) Check() (wrong []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	say := func(format string, args ...any) {
		wrong = append(wrong, "arena: "+fmt.Sprintf(format, args...))
	}
	found := Stats{LimboBytes: a.count.LimboBytes}
	inUse := 0
	used, pages, listed := make([]int, len(a.classes)), make([]int, len(a.classes)), 0
	for p := range a.pages {
		of := &a.pages[p]
		open := a.open[p/64]>>(p%64)&1 == 1
		if want := of.class == runs && of.taken != ^uint64(0); open != want {
			say("page %d is open: %v", p, open)
		}
		if of.class != runs || of.taken != 0 {
			inUse++
		}
		if of.class == runs {
			a.checkRuns(p, &found)
			continue
		}
		k := &a.classes[of.class]
		pages[of.class]++
		used[of.class] += of.used
		if of.used < k.slots && !of.retired {
			listed++
		}
		if free := a.checkSlots(p, &found); free != of.opened-of.used {
			say("page %d lists %d free slots, and %d of %d are used", p, free, of.used, of.opened)
		}
	}
	for c := range a.classes[1:] {
		k := &a.classes[c+1]
		if k.used != used[c+1] || k.pages != pages[c+1] {
			say("class %d counts %d slots of %d pages, and has %d of %d",
				c+1, k.used, k.pages, used[c+1], pages[c+1])
		}
		for p := k.partial; p != none; p = a.pages[p].next {
			listed--
		}
	}
	if inUse != a.used {
		say("%d pages are counted as not free, and %d are not", a.used, inUse)
	}
	if listed != 0 {
		say("%d pages with a free slot are in no list", listed)
	}
	dead := uint64(0)
	for i := range a.limbo {
		dead += a.limbo[i].bytes
	}
	if found != a.count || dead != a.count.LimboBytes {
		say("counted are %+v, found %+v and %d bytes in limbo", a.count, found, dead)
	}
	return wrong
}

// checkSlots adds up the entries of a page of slots, and returns how many slots its list has.
func (a *Arena) checkSlots(p int, found *Stats) (free int) {
	of := &a.pages[p]
	for slot := range of.opened {
		a.checkEntry(a.refAt(a.slotAt(p, slot)), found)
	}
	for slot := of.free; slot != 0 && free <= of.opened; free++ {
		slot = *next(a.mem[a.slotAt(p, int(slot-1)):])
	}
	return free
}

// checkRuns adds up the entries of which a page has the beginning.
func (a *Arena) checkRuns(p int, found *Stats) {
	for starts := a.pages[p].starts; starts != 0; starts &= starts - 1 {
		a.checkEntry(a.runAt(p, bits.TrailingZeros64(starts)), found)
	}
}

func (a *Arena) checkEntry(ref Ref, found *Stats) {
	if n := a.entry(ref); n != 0 {
		found.Entries++
		found.EntryBytes += uint64(n)
		found.SlotBytes += uint64(a.SlotBytes(int(n)))
	}
}
