package gofast

import "bytes"

// continues reports whether a message of this kind is waited for at the opaque.
func (s *Session) continues(opaque uint64, kind Kind) bool {
	x := s.remotes[opaque]
	return x != nil && x.is(receiving) && (kind != KindPost || x.is(oneWay))
}

// assemble is for a message that opens an exchange of the peer: the first frame
// of several, or one of an opaque that is in use. It reports whether the message
// is whole; then e has it, and its exchange is live if it is a stream.
func (s *Session) assemble(e *Event, st state) (whole bool, err error) {
	x := s.remotes[e.Opaque]
	if x == nil {
		if s.foreign(e.Opaque) {
			return false, ErrForeign
		}
		if len(s.remotes) >= s.cfg.Exchanges {
			return false, ErrFlood
		}
		x = s.adopt(e.Opaque, e.ID, st|opening)
	}
	if !x.is(opening) || x.state&(stream|oneWay) != st {
		return false, ErrInUse
	}
	if whole, err = s.collect(x, e); !whole || err != nil {
		return false, err
	}
	x.state &^= opening
	if st != stream {
		s.drop(x)
	}
	return true, nil
}

// collect adds a frame to a message. When the message is whole e has it.
func (s *Session) collect(x *exchange, e *Event) (whole bool, err error) {
	if s.agreed&FeatureFragments == 0 {
		return false, ErrFragments
	}
	if !x.is(receiving) {
		x.state |= receiving
		x.first = e.Message
		x.first.Data = nil
		x.first.Meta = bytes.Clone(e.Meta)
	}
	more := e.Flags&More != 0
	size := len(x.partial) + len(e.Data)
	switch {
	case e.ID != x.first.ID || more && len(e.Data) < minFragment:
		return false, ErrFragments
	case size > s.cfg.MaxMessage, s.unfinished+len(e.Data) > s.cfg.MaxUnfinished:
		return false, ErrTooMuch
	}
	x.partial = append(x.partial, e.Data...)
	s.unfinished += len(e.Data)
	if more {
		return false, nil
	}
	e.Message = x.first
	e.Data = x.partial
	e.Flags &^= More
	s.endPartial(x)
	return true, nil
}

// forgetPartial drops what has come of a message that will not be finished.
func (s *Session) forgetPartial(x *exchange) {
	s.used += int64(len(x.partial))
	s.endPartial(x)
}

// endPartial ends the collection of a message.
func (s *Session) endPartial(x *exchange) {
	s.unfinished -= len(x.partial)
	x.state &^= receiving
	x.partial, x.first = nil, Message{}
}
