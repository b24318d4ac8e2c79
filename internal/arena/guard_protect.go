//go:build arena_protect && linux && !race

package arena

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	guardRuns  = true // slots would share pages of the system
	systemPage = 4 << 10

	// mostProtected is how many pages of the system are protected at a time: each may be a
	// mapping of its own, of which a process may have 65,530 (vm.max_map_count).
	mostProtected = 20_000
)

type shield struct{ protected map[*byte]bool } // by the first byte of a page

func (s *shield) freed(slot []byte) {
	if len(s.protected)+len(slot)/systemPage > mostProtected {
		return
	}
	if s.protected == nil {
		s.protected = make(map[*byte]bool)
	}
	for i := 0; i < len(slot); i += systemPage {
		s.protected[&slot[i]] = true
	}
	s.set(slot, unix.PROT_NONE)
}

func (s *shield) taken(slot []byte) {
	for i := 0; i < len(slot); i += systemPage {
		delete(s.protected, &slot[i])
	}
	s.set(slot, unix.PROT_READ|unix.PROT_WRITE)
}

// hides reports whether a slot cannot be looked at.
func (s *shield) hides(slot []byte) bool { return s.protected[&slot[0]] }

func (s *shield) set(slot []byte, how int) {
	if err := unix.Mprotect(slot, how); err != nil {
		panic(fmt.Sprintf("BUG: arena: protect %d bytes: %v", len(slot), err))
	}
}
