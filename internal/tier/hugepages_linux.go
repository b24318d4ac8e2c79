package tier

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	hugePage   = 2 << 20 // of amd64 and of arm64 with pages of 4 KiB
	smallPage  = 4 << 10
	hugeEvery  = 5 * time.Second       // between two looks at the whole
	hugePause  = 20 * time.Millisecond // between two pages: at most 100 MiB a second
	hugeFrom   = 64 << 20              // bytes held from which it pays
	hugeFilled = hugePage / smallPage / 16 * 15
)

// KeepHuge moves what m holds into huge pages, while that is enough for it to matter, until ctx
// ends. Documents are read at random, and with small pages nearly each read makes the processor
// walk the page tables: 10% of the CPU of a hit over 160 MB (bench/results/memory-tier.md).
//
// It asks for single pages, those of whose parts at least 15/16 are there
// (MADV_COLLAPSE, Linux 6.1), and does not mark all of it for the kernel's own
// daemon (MADV_HUGEPAGE), which would fill up again what was given back. An error says why it
// has stopped before ctx: the system does not do it.
func (m *Memory) KeepHuge(ctx context.Context) error {
	if os.Getpagesize() != smallPage {
		return errors.New("huge pages: not with pages of this size")
	}
	pages, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return fmt.Errorf("huge pages: %w", err)
	}
	defer func() { _ = pages.Close() }()
	h := &huge{pages: pages, done: make(map[uintptr]bool)}
	for {
		if m.Stats().HeldBytes >= hugeFrom {
			if err := h.pass(ctx, m); err != nil {
				return err
			}
		}
		if !pause(ctx, hugeEvery) {
			return nil
		}
	}
}

// pause waits, and reports whether ctx lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// huge is what KeepHuge knows of the arena's memory.
type huge struct {
	pages   *os.File
	done    map[uintptr]bool // made, and whole when last seen
	entries [hugePage / smallPage * 8]byte
}

// pass looks at all that is the arena's once.
func (h *huge) pass(ctx context.Context, m *Memory) error {
	from, to := m.arena.Addresses()
	for at := (from + hugePage - 1) &^ (hugePage - 1); at+hugePage <= to; at += hugePage {
		if !h.due(at) {
			continue
		}
		_, _, e := unix.Syscall(unix.SYS_MADVISE, at, hugePage, unix.MADV_COLLAPSE)
		switch e {
		case 0:
			h.done[at] = true
		case unix.EINVAL, unix.ENOSYS, unix.EPERM:
			return fmt.Errorf("huge pages: this kernel does not make them on demand: %w", e)
		}
		if !pause(ctx, hugePause) {
			return nil
		}
	}
	return nil
}

// due reports whether the huge page at an address should be made: enough of it
// is there, and either it was never made or it has been split since, which
// happens when a part was given back.
func (h *huge) due(at uintptr) bool {
	if _, err := h.pages.ReadAt(h.entries[:], int64(at/smallPage*8)); err != nil {
		return false // unmapped meanwhile
	}
	const present = 1 << 63
	n := 0
	for i := 0; i < len(h.entries); i += 8 {
		if binary.LittleEndian.Uint64(h.entries[i:])&present != 0 {
			n++
		}
	}
	if n < hugePage/smallPage {
		delete(h.done, at)
	}
	return n >= hugeFilled && !h.done[at]
}
