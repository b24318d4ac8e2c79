package httpfront

import "github.com/hotrow/hotrow/internal/resource"

// A block is the header lines that hits of one source have in common. It is written again
// when what it says has changed: the second, the position, the milliseconds of the lag.
type block struct {
	at      resource.AsOf
	private bool // with the Cache-Control of a protected answer
	current bool // it says what is so in this wake-up
	text    []byte
}

// block returns the header lines that all hits of a source in one wake-up share. They are
// good until the next wake-up. An answer that shows more than all others has its own, good
// until the next of those.
func (s *loop) block(at *resource.AsOf, private bool) []byte {
	if at.Own {
		return s.own(at, resource.HitMemory, private)
	}
	for i := range s.blocks {
		b := &s.blocks[i]
		if b.private != private || !b.at.SameSource(at) {
			continue
		}
		if !b.current && (b.at.Token != at.Token || millis(b.at.Lag) != millis(at.Lag)) {
			s.write(b, at)
		}
		b.current = true
		return b.text
	}
	if len(s.blocks) < cap(s.blocks) {
		s.blocks = s.blocks[:len(s.blocks)+1] // with its memory
	} else {
		s.blocks = append(s.blocks, block{})
	}
	b := &s.blocks[len(s.blocks)-1]
	b.private, b.current = private, true
	s.write(b, at)
	return b.text
}

// write writes what hits as of at have in common.
func (s *loop) write(b *block, at *resource.AsOf) {
	b.at = *at
	from := provenance{status: cacheStatus(resource.HitMemory), token: at.Token, lag: at.Lag}
	b.text = s.shared(b.text[:0], &from, b.private)
}

// own returns the header lines of one answer that says something of its own.
func (s *loop) own(at *resource.AsOf, origin resource.Origin, private bool) []byte {
	from := provenance{status: cacheStatus(origin), token: at.Token, lag: at.Lag}
	s.head = s.shared(s.head[:0], &from, private)
	return s.head
}

func (s *loop) shared(dst []byte, from *provenance, private bool) []byte {
	return s.live.appendShared(append(dst, s.date...), from, s.live.cacheControl(private))
}
