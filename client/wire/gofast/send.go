package gofast

import "math"

// AppendPost appends a message that wants no answer.
func (s *Session) AppendPost(out []byte, m *Message) ([]byte, error) {
	if err := s.mayOpen(m); err != nil {
		return out, err
	}
	if first := s.opaques.First; s.postable(first) {
		grown, ok := s.plain(out, KindPost, first, m)
		if ok {
			s.stats.TxPost++
			return grown, nil
		}
		if inner, ok := s.fits(first, m); ok {
			return s.putSized(out, KindPost, first, m, inner), nil
		}
	}
	x, err := s.open(m.ID, nil, oneWay)
	if err != nil {
		return out, err
	}
	return s.send(out, x, KindPost, m)
}

// AppendRequest appends a request. Its EventResponse comes with user; it comes
// exactly once, unless the request is cancelled or the session ends before.
func (s *Session) AppendRequest(out []byte, m *Message, user any) (
	grown []byte, opaque uint64, err error) {
	return s.appendOpening(out, KindRequest, m, user, 0)
}

// AppendStart opens a stream with its first message. Its events come with user;
// the last is EventFinish.
func (s *Session) AppendStart(out []byte, m *Message, user any) (
	grown []byte, opaque uint64, err error) {
	return s.appendOpening(out, KindStart, m, user, stream)
}

func (s *Session) appendOpening(out []byte, kind Kind, m *Message, user any, st state) (
	[]byte, uint64, error) {
	if err := s.mayOpen(m); err != nil {
		return out, 0, err
	}
	x, err := s.open(m.ID, user, st)
	if err != nil {
		return out, 0, err
	}
	out, err = s.send(out, x, kind, m)
	return out, x.opaque, err
}

// AppendResponse appends the answer to a request of the peer, whose exchange
// ends. ErrTooLarge says that nothing was sent and the request is still open:
// answer it otherwise.
func (s *Session) AppendResponse(out []byte, opaque uint64, m *Message) ([]byte, error) {
	if m.ID == 0 {
		return out, ErrReserved
	}
	if s.hand.live && s.hand.opaque == opaque {
		// Fast path: the request is answered before anything else happens.
		if grown, ok := s.plain(out, KindRequest, opaque, m); ok {
			s.hand.live = false
			s.stats.TxResp++
			return grown, nil
		}
		if inner, ok := s.fits(opaque, m); ok {
			s.hand.live = false
			s.stats.TxResp++
			return s.putSized(out, KindRequest, opaque, m, inner), nil
		}
	}
	// Slow path: it has been waiting, or the answer needs several frames.
	s.park()
	x := s.remotes[opaque]
	if x == nil || x.is(stream|opening|sentEnd) {
		return out, ErrNoExchange
	}
	out, err := s.send(out, x, KindRequest, m)
	if err == nil {
		s.stats.TxResp++
	}
	return s.passBarriers(out), err
}

// AppendMessage appends a message of a stream that either end has opened. With
// ErrNoCredit nothing was sent; EventCredit says when to try again.
func (s *Session) AppendMessage(out []byte, opaque uint64, m *Message) ([]byte, error) {
	if m.ID == 0 {
		return out, ErrReserved
	}
	x := s.find(opaque)
	if x == nil || !x.is(stream) || x.is(sentEnd|abandoned|opening) {
		return out, ErrNoExchange
	}
	if s.agreed&FeatureCredit != 0 && (x.credit <= 0 || s.windowed && s.window <= 0) {
		return out, ErrNoCredit
	}
	out, err := s.send(out, x, KindMessage, m)
	if err == nil && s.agreed&FeatureCredit != 0 {
		x.credit -= int64(m.size())
		s.window -= int64(m.size())
	}
	return out, err
}

// AppendFinish ends our side of a stream. Of one that the peer has opened it is
// called once, whoever finishes first.
func (s *Session) AppendFinish(out []byte, opaque uint64) ([]byte, error) {
	x := s.find(opaque)
	if x == nil || !x.is(stream) || x.is(sentEnd|opening) {
		return out, ErrNoExchange
	}
	x.state |= sentEnd
	if x.is(sending) {
		x.queue = append(x.queue, queued{kind: KindFinish})
		return out, nil
	}
	return s.finish(out, x), nil
}

// finish appends the finish of a stream whose messages have been sent.
func (s *Session) finish(out []byte, x *exchange) []byte {
	before := len(out)
	out = appendFinish(out, x.opaque)
	s.stats.Tx++
	s.stats.TxFin++
	s.stats.TxByte += uint64(len(out) - before)
	s.settle(x)
	return out
}

// settle drops a stream that has ended on both sides. An old peer that has
// opened it takes our finish for its end.
func (s *Session) settle(x *exchange) {
	if x.is(sentEnd) && !x.is(sending) && (x.is(gotEnd) || !x.is(local) && s.Legacy()) {
		s.drop(x)
	}
}

// AppendError ends an exchange of the peer with an error: a request by its only
// answer, a stream by the last message and the finish. An old peer's stream is
// just finished; an old peer's request is left open with ErrNotAgreed: answer it
// with a message of the application's.
func (s *Session) AppendError(out []byte, opaque uint64, e *Error) ([]byte, error) {
	s.park()
	x := s.find(opaque)
	if x == nil || x.is(sentEnd|opening) || x.is(local) && !x.is(stream) {
		return out, ErrNoExchange
	}
	can := s.agreed&FeatureErrors != 0
	if !x.is(stream) && !can {
		return out, ErrNotAgreed
	}
	s.scratch = AppendErrorData(s.scratch[:0], s.cut(e))
	m := Message{ID: IDError, Data: s.scratch}
	if !x.is(stream) {
		s.stats.TxResp++
		out = s.put(out, KindRequest, opaque, &m)
		s.drop(x)
		return s.passBarriers(out), nil
	}
	x.state |= abandoned
	if !can {
		return s.AppendFinish(out, opaque)
	}
	s.unqueue(x) // what was not sent yet is of no use
	out = s.put(out, KindMessage, opaque, &m)
	x.state |= sentEnd
	return s.finish(out, x), nil
}

// cut returns e such that it fits into one frame.
func (s *Session) cut(e *Error) *Error {
	most := s.peerBuffer - Overhead - 32
	if len(e.Text)+len(e.Details) <= most {
		return e
	}
	short := *e
	short.Details = nil
	short.Text = e.Text[:min(len(e.Text), max(most, 0))]
	return &short
}

// AppendCancel gives up an exchange of ours. No more of its events come; the
// peer is told if it understands. The opaque is used again only when the peer
// has ended the exchange.
func (s *Session) AppendCancel(out []byte, opaque uint64, why Code) ([]byte, error) {
	x := s.locals.get(opaque)
	if x == nil || x.is(abandoned) {
		return out, ErrNoExchange
	}
	x.user = nil
	owesEnd := x.is(stream) && (!x.is(sentEnd) || x.is(sending))
	ended := x.is(sentEnd)
	x.state |= abandoned
	if s.agreed&FeatureCancel != 0 {
		s.unqueue(x) // the peer forgets the fragments that it has
		s.scratch = appendCancelData(s.scratch[:0], opaque, why)
		out = s.control(out, IDCancel)
	}
	if !owesEnd {
		return out, nil
	}
	x.state |= sentEnd
	switch {
	case !x.is(sending):
		out = s.finish(out, x)
	case !ended: // else the finish is in the queue already
		x.queue = append(x.queue, queued{kind: KindFinish})
	}
	return out, nil
}

// AppendPing asks the peer for an echo. Its EventResponse has the echo as Data.
func (s *Session) AppendPing(out, echo []byte, user any) ([]byte, uint64, error) {
	x, err := s.open(IDPing, user, 0)
	if err != nil {
		return out, 0, err
	}
	most := max(s.peerBuffer-Overhead-2, 0)
	s.scratch = appendPingData(s.scratch[:0], echo[:min(len(echo), most)])
	out, err = s.send(out, x, KindRequest, &Message{ID: IDPing, Data: s.scratch})
	return out, x.opaque, err
}

// AppendWhoami asks the peer once more who it is. Since it answers when all
// requests before are answered, this is a barrier.
func (s *Session) AppendWhoami(out []byte, user any) ([]byte, uint64, error) {
	x, err := s.open(IDWhoami, user, 0)
	if err != nil {
		return out, 0, err
	}
	return s.appendWhoami(out, KindRequest, x.opaque), x.opaque, nil
}

// AppendConsumed says that the owner is done with so many bytes of a stream's
// messages, so that the peer may send as many more.
func (s *Session) AppendConsumed(out []byte, opaque uint64, bytes int) []byte {
	if s.agreed&FeatureCredit == 0 || bytes <= 0 {
		return out
	}
	if x := s.find(opaque); x != nil && x.is(stream) && !x.is(gotEnd) {
		if x.used += int64(bytes); 2*x.used >= s.ourCredit+x.wide {
			if x.is(sunk) && x.wide == 0 {
				x.wide = sinkCredit
				x.used += sinkCredit
			}
			out = s.credit(out, opaque, &x.used, &x.grant)
		}
	}
	if s.granting {
		if s.used += int64(bytes); 2*s.used >= int64(s.cfg.Window) {
			out = s.credit(out, 0, &s.used, &s.grant)
		}
	}
	return out
}

// sinkCredit is what a long stream whose messages are dropped gets besides what
// all streams get: they fill no memory, so that the buffers of the connection
// bound what is on its way, and less would only make the peer wait for us.
const sinkCredit = 8 << 20

// Sink says that the owner drops the messages of a stream: they are counted,
// consumed as they come, and no events.
func (s *Session) Sink(opaque uint64) error {
	x := s.find(opaque)
	if x == nil || !x.is(stream) {
		return ErrNoExchange
	}
	x.state |= sunk
	return nil
}

// credit tells the peer of what was used.
func (s *Session) credit(out []byte, opaque uint64, used, grant *int64) []byte {
	n := uint32(min(*used, math.MaxInt32))
	*used -= int64(n)
	*grant += int64(n)
	s.scratch = appendCreditData(s.scratch[:0], opaque, n)
	return s.control(out, IDCredit)
}

// AppendGoAway says that we accept no new exchanges: those of a negotiated peer
// are refused from now on. Close when Idle, or after a while.
func (s *Session) AppendGoAway(out []byte, why Code, text string) []byte {
	if s.going || s.agreed&FeatureGoAway == 0 {
		s.going = true
		return out
	}
	s.going = true
	text = text[:min(len(text), max(s.peerBuffer-Overhead-2, 0))]
	s.scratch = appendGoAwayData(s.scratch[:0], why, text)
	return s.control(out, IDGoAway)
}

// GoingAway reports whether we, or the peer, have said that no new exchanges are
// accepted.
func (s *Session) GoingAway() (ours, theirs bool) { return s.going, s.gone }

// AppendAuth sends a proof of who we are, or asks for one.
func (s *Session) AppendAuth(out, data []byte) ([]byte, error) {
	if s.agreed&FeatureAuth == 0 {
		return out, ErrNotAgreed
	}
	m := Message{ID: IDAuth, Data: data}
	if _, ok := s.fits(s.opaques.First, &m); !ok {
		return out, ErrTooLarge
	}
	s.scratch = append(s.scratch[:0], data...)
	return s.control(out, IDAuth), nil
}

// control posts the message of ours whose data is in scratch.
func (s *Session) control(out []byte, id uint64) []byte {
	return s.put(out, KindPost, s.opaques.First, &Message{ID: id, Data: s.scratch})
}

// mayOpen says why no new exchange with this message is possible.
func (s *Session) mayOpen(m *Message) error {
	switch {
	case m.ID == 0 || reserved(m.ID):
		return ErrReserved
	case !s.ready:
		return ErrNotReady
	case s.gone || s.going:
		return ErrGoingAway
	}
	return nil
}

// postable reports whether a post may have the opaque: that of a live stream
// would make an old peer deliver it there.
func (s *Session) postable(opaque uint64) bool {
	return len(s.remotes) == 0 || s.remotes[opaque] == nil
}

// open makes an exchange of ours.
func (s *Session) open(id uint64, user any, st state) (*exchange, error) {
	if s.locals.live >= s.ownLimit {
		return nil, ErrNoOpaque
	}
	s.locals.room()
	x := s.take(0, id, st|local)
	x.user = user
	if st&stream != 0 {
		x.credit, x.grant = s.peerCredit, s.ourCredit
	}
	tries := min(s.opaques.size(), uint64(4*len(s.locals.slots)))
	for ; tries > 0; tries-- {
		s.lastOpaque = s.opaques.after(s.lastOpaque)
		if s.lastOpaque == s.opaques.First { // it is for posts
			continue
		}
		if len(s.remotes) > 0 && s.remotes[s.lastOpaque] != nil {
			continue
		}
		x.opaque = s.lastOpaque
		if s.locals.put(x) {
			return x, nil
		}
	}
	*x = exchange{}
	s.free = append(s.free, x)
	return nil, ErrNoOpaque
}
