package source

import (
	"context"
	"sync/atomic"
)

// A Seen is a position that nothing which a read has seen is behind: of the database, taken
// after the read's snapshot. It may be ahead of what was seen, by what others commit
// meanwhile.
type Seen struct{ pos atomic.Uint64 }

type seenKey struct{}

// Seeing returns a context that asks a Plan's Load, List or Select for the Seen of what it
// reads. Without a feed nobody has a use for one.
func Seeing(ctx context.Context) (context.Context, *Seen) {
	s := new(Seen)
	return context.WithValue(ctx, seenKey{}, s), s
}

// SeenOf returns what ctx asks for; nil: nothing.
func SeenOf(ctx context.Context) *Seen {
	s, _ := ctx.Value(seenKey{}).(*Seen)
	return s
}

// Note notes a position. What a read that was made again had seen before counts no more, and
// does no harm.
func (s *Seen) Note(pos Position) {
	for {
		old := s.pos.Load()
		if uint64(pos) <= old || s.pos.CompareAndSwap(old, uint64(pos)) {
			return
		}
	}
}

// Position returns what was noted; 0: nothing, for the source has no positions.
func (s *Seen) Position() Position { return Position(s.pos.Load()) }
