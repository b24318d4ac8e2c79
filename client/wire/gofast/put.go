package gofast

import "slices"

// fits reports whether the peer accepts m in one frame, and returns the length
// of the frame's inner part.
func (s *Session) fits(opaque uint64, m *Message) (inner int, ok bool) {
	inner = innerSize(m)
	return inner, packetSize(opaque, inner) <= s.peerBuffer && m.size() <= s.peerMessage
}

// put appends one frame.
func (s *Session) put(out []byte, kind Kind, opaque uint64, m *Message) []byte {
	return s.putSized(out, kind, opaque, m, innerSize(m))
}

// putSized is put with the length of the frame's inner part. What the peer does
// not understand is left out.
func (s *Session) putSized(out []byte, kind Kind, opaque uint64, m *Message, inner int) []byte {
	before := len(out)
	switch {
	case m.hasExtras() && s.agreed&FeatureDeadlines == 0:
		plain := Message{ID: m.ID, Data: m.Data, Prefix: m.Prefix}
		if s.agreed != 0 {
			plain.Flags = m.Flags
		}
		out = s.putPacked(out, kind, opaque, &plain)
	case s.zip != 0:
		out = s.putPacked(out, kind, opaque, m)
	default:
		out = appendSized(out, kind, opaque, m, inner)
	}
	s.stats.Tx++
	s.stats.TxByte += uint64(len(out) - before)
	s.stats.count(kind)
	return out
}

// putPacked appends one frame, compressed if that makes it smaller and the peer
// is able to read it.
func (s *Session) putPacked(out []byte, kind Kind, opaque uint64, m *Message) []byte {
	inner := innerSize(m)
	if s.zip == 0 || m.size() < minCompress || s.Legacy() && inner > maxCompressLegacy {
		return appendSized(out, kind, opaque, m, inner)
	}
	// Both parts share one piece of memory: the message, then its packed form.
	s.packed = appendInner(slices.Grow(s.packed[:0], 2*inner), m)
	packed, err := s.cfg.Codecs.compress(s.packed, s.zip, s.packed)
	size := len(packed) - inner
	// What shrinks by more than peers believe is sent as it is.
	if err != nil || size >= inner-16 || inner > smallInflated && inner/defaultRatio >= size {
		return appendSized(out, kind, opaque, m, inner)
	}
	s.packed = packed
	out = appendPacked(out, kind, opaque, s.zipNumber, packed[inner:])
	if cap(s.packed) > keptInflated*2 {
		s.packed = nil
	}
	return out
}

// A queued is a message, or what is left of it, that waits for its turn.
type queued struct {
	kind Kind
	m    Message
}

// send appends a message of an exchange, or its first fragment, and queues the
// rest. An exchange that the message would open is dropped if it is too large.
func (s *Session) send(out []byte, x *exchange, kind Kind, m *Message) ([]byte, error) {
	if !x.is(sending) {
		if grown, ok := s.plain(out, kind, x.opaque, m); ok {
			s.stats.count(kind)
			s.sent(x, kind)
			return grown, nil
		}
	}
	if inner, ok := s.fits(x.opaque, m); ok && !x.is(sending) {
		out = s.putSized(out, kind, x.opaque, m, inner)
		s.sent(x, kind)
		return out, nil
	}
	if err := s.mayQueue(x, m); err != nil {
		if kind == KindPost || x.is(local) && kind != KindMessage {
			s.drop(x)
		}
		return out, err
	}
	if kind == KindRequest && !x.is(local) {
		x.state |= sentEnd // no second answer
	}
	x.queue = append(x.queue, queued{kind: kind, m: *m})
	s.unsent += int64(len(m.Prefix) + len(m.Data))
	if !x.is(sending) {
		x.state |= sending
		s.pending = append(s.pending, x)
		out = s.fragment(out, x)
	}
	return out, nil
}

// mayQueue says why a message cannot be sent in fragments.
func (s *Session) mayQueue(x *exchange, m *Message) error {
	_, small := s.fits(x.opaque, m)
	if m.size() > s.peerMessage || !small && s.agreed&FeatureFragments == 0 ||
		len(m.Meta)+minFragment > s.fragmentSize() {
		return ErrTooLarge
	}
	return nil
}

// minFragment is the least that a fragment carries besides Meta.
const minFragment = 64

// fragmentSize returns how many bytes of data, and of Meta, a fragment may have.
func (s *Session) fragmentSize() int { return s.peerBuffer - Overhead }

// sent does what follows when a message of x has been sent completely.
func (s *Session) sent(x *exchange, kind Kind) {
	switch {
	case kind == KindPost, kind == KindRequest && !x.is(local):
		s.drop(x)
	case kind == KindRequest:
		s.stats.TxReq++
	}
}

// fragment appends the next fragment of x, whose queue is not empty, and drops
// x if that was its end.
func (s *Session) fragment(out []byte, x *exchange) []byte {
	q := &x.queue[0]
	if q.kind == KindFinish {
		s.unqueue(x)
		return s.finish(out, x)
	}
	m := q.m
	room := s.fragmentSize() - len(m.Meta)
	m.Prefix = q.m.Prefix[:min(len(q.m.Prefix), room)]
	m.Data = q.m.Data[:min(len(q.m.Data), room-len(m.Prefix))]
	q.m.Prefix = q.m.Prefix[len(m.Prefix):]
	q.m.Data = q.m.Data[len(m.Data):]
	s.unsent -= int64(len(m.Prefix) + len(m.Data))
	q.m.Meta, q.m.Deadline, q.m.Flags = nil, 0, 0
	last := q.m.size() == 0
	if !last {
		m.Flags |= More
	}
	out = s.put(out, q.kind, x.opaque, &m)
	if !last {
		return out
	}
	kind := q.kind
	if x.queue = slices.Delete(x.queue, 0, 1); len(x.queue) == 0 {
		s.unqueue(x)
	}
	s.sent(x, kind)
	return out
}

// unqueue forgets what of x was not sent.
func (s *Session) unqueue(x *exchange) {
	if !x.is(sending) {
		return
	}
	x.state &^= sending
	for i := range x.queue {
		s.unsent -= int64(len(x.queue[i].m.Prefix) + len(x.queue[i].m.Data))
	}
	x.queue = nil
	if i := slices.Index(s.pending, x); i >= 0 {
		s.pending = slices.Delete(s.pending, i, i+1)
	}
}

// Pending reports whether fragments wait for Pump.
func (s *Session) Pending() bool { return len(s.pending) > 0 }

// Unsent returns how many bytes of messages wait for Pump.
func (s *Session) Unsent() int64 { return s.unsent }

// Pump appends fragments of messages that are too long for one frame, one of
// each exchange in turn, until out has so many bytes or nothing is left. What
// such a message was given as Data and Prefix must not change until Pending is
// false.
func (s *Session) Pump(out []byte, most int) []byte {
	for len(s.pending) > 0 && len(out) < most {
		x := s.pending[0]
		out = s.fragment(out, x)
		if len(s.pending) > 1 && s.pending[0] == x {
			s.pending = append(s.pending[1:], x)
		}
	}
	return s.passBarriers(out)
}
