package linksfront

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// rates bound how many misses a client may have in a minute. A client is an
// address, and of IPv6 a /64, for that is what one customer has.
type rates struct {
	seed  maphash.Seed
	slots [front.MissSlots]atomic.Uint64 // the minute and how many, 32 bits each
}

func newRates() *rates { return &rates{seed: maphash.MakeSeed()} }

// allow counts a miss of client, and reports whether it is among the first most
// in this minute.
func (r *rates) allow(client netip.Addr, now time.Time, most int) bool {
	if most <= 0 {
		return true
	}
	if client.Is6() && !client.Is4In6() {
		p, err := client.Prefix(64)
		if err == nil {
			client = p.Addr()
		}
	}
	bytes := client.As16()
	slot := &r.slots[maphash.Bytes(r.seed, bytes[:])%front.MissSlots]
	minute := uint64(now.Unix()/60) << 32
	for {
		old := slot.Load()
		n := old&(1<<32-1) + 1
		if old&^(1<<32-1) != minute {
			n = 1
		}
		if n > uint64(most) {
			return false
		}
		if slot.CompareAndSwap(old, minute|n) {
			return true
		}
	}
}

// untilNextMinute is when a client may miss again, in seconds.
func untilNextMinute(now time.Time) int { return 60 - int(now.Unix()%60) }

// otherOrphans stands for the rest of them.
const otherOrphans = "(other)"

// orphans bound the paths that are recorded although there is no link: who asks
// for everything must not make the statistics as long as his list.
type orphans struct {
	seed maphash.Seed
	mu   sync.Mutex // guards what follows
	day  int64
	seen map[uint64]struct{}
}

func newOrphans() *orphans { return &orphans{seed: maphash.MakeSeed()} }

// name returns the path as it is recorded.
func (o *orphans) name(path []byte, now time.Time) []byte {
	h := maphash.Bytes(o.seed, path)
	o.mu.Lock()
	defer o.mu.Unlock()
	if day := now.Unix() / 86400; day != o.day || o.seen == nil {
		o.day, o.seen = day, make(map[uint64]struct{})
	}
	if _, ok := o.seen[h]; ok {
		return path
	}
	if len(o.seen) >= front.OrphanPaths {
		return []byte(otherOrphans)
	}
	o.seen[h] = struct{}{}
	return path
}
