package tier

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
)

// shares are what each resource takes in each of its formats. The zero value is ready.
type shares struct {
	byKind sync.Map // of *share, by kind
}

// A kind is what the documents of a share have in common.
type kind struct {
	resource uint32
	format   row.Format
}

type share struct{ entries, bytes atomic.Int64 }

// of returns the share that ref counts in.
func (s *shares) of(ref Ref) *share {
	k := kind{ref.Resource, ref.Format}
	v, ok := s.byKind.Load(k)
	if !ok {
		v, _ = s.byKind.LoadOrStore(k, new(share))
	}
	return v.(*share)
}

func (s *share) add(entries, bytes int64) {
	s.entries.Add(entries)
	s.bytes.Add(bytes)
}

// Shares returns what the documents of each resource take, those that take nothing left
// out.
func (m *Memory) Shares() []Share { return m.shares.list() }

// Sizes returns what entries of each size take, each twice as large as the one before. Those of
// which there are none are left out. It looks at every page, as Stats does.
func (m *Memory) Sizes() (all []SizeShare) {
	for _, c := range m.arena.Classes() {
		if c.Held == 0 {
			continue
		}
		s := SizeShare{Bytes: uint64(c.Held)}
		if c.Bytes > 0 {
			s.Most, s.Free = 1<<bits.Len(uint(c.Bytes-1)), uint64(c.Held-c.Used*c.Bytes)
		}
		if last := len(all) - 1; last >= 0 && all[last].Most == s.Most {
			all[last].Bytes += s.Bytes
			all[last].Free += s.Free
		} else {
			all = append(all, s)
		}
	}
	return all
}

func (s *shares) list() (all []Share) {
	s.byKind.Range(func(key, v any) bool {
		k, of := key.(kind), v.(*share)
		n, bytes := of.entries.Load(), of.bytes.Load()
		if n > 0 {
			all = append(all, Share{Resource: k.resource, Format: k.format,
				Entries: uint64(n), Bytes: uint64(max(bytes, 0))})
		}
		return true
	})
	slices.SortFunc(all, func(a, b Share) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Format, b.Format))
	})
	return all
}
