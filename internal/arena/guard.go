//go:build arena_poison || arena_protect

package arena

// With the build tag arena_poison freed slots are overwritten, and with arena_protect (Linux)
// they cannot be accessed: a reader that uses what it has kept beyond its Section reads
// nonsense, or ends the program where it does so. What is freed is used again late.
const (
	guarded   = true
	heldShare = 16 // the part (1/n) of an arena that is kept from being used again
)

type guard struct {
	shield
	held  []dead // the oldest first
	bytes int    // of their slots
}

// hold takes entries that no reader has, and returns those that may be used again.
func (g *guard) hold(a *Arena, list []dead) []dead {
	for _, d := range list {
		g.bytes += a.SlotBytes(int(d.n))
	}
	g.held = append(g.held, list...)
	free := 0
	for ; g.bytes > len(a.mem)/heldShare; free++ {
		g.bytes -= a.SlotBytes(int(g.held[free].n))
	}
	list, g.held = g.held[:free:free], g.held[free:]
	return list
}

// drain lets all that is held be used again.
func (g *guard) drain(a *Arena) {
	for _, d := range g.held {
		a.release(d.ref, int(d.n))
	}
	g.held, g.bytes = nil, 0
}
