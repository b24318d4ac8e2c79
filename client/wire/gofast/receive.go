package gofast

// Next consumes frames at the front of in until one of them is an event for the
// owner, or none is whole. It returns how many bytes it has consumed and out
// with what the protocol answers by itself appended. When e.Type is EventNone
// call it again with more input, at best with Want bytes.
//
// An error is a ProtocolError: write out, then close the connection.
func (s *Session) Next(in, out []byte, e *Event) (n int, grown []byte, err error) {
	if s.hand.live {
		if s.hand.refuse {
			return 0, out, ErrFlood
		}
		s.park()
	}
	for {
		// For each frame: one that leads to no event may have set some of it.
		e.Type, e.User, e.Err, e.Refuse = EventNone, nil, nil, false
		size, err := s.dec.Next(in[n:], &e.Frame)
		if size == 0 || err != nil {
			return n, out, err
		}
		n += size
		s.heard = true
		s.stats.Rx++
		s.stats.RxByte += uint64(size)
		if out, err = s.receive(out, e); err != nil || e.Type != EventNone {
			return n, out, err
		}
		if s.granting && 2*s.used >= int64(s.cfg.Window) {
			out = s.credit(out, 0, &s.used, &s.grant) // for what nobody will consume
		}
	}
}

// Want returns how many bytes of input, at least, make Next useful: the length
// of the frame that was not whole.
func (s *Session) Want() int { return s.dec.want }

// receive works on one frame.
func (s *Session) receive(out []byte, e *Event) ([]byte, error) {
	switch e.Kind {
	case KindRequest:
		if x := s.locals.get(e.Opaque); x != nil {
			return s.receiveResponse(out, x, e)
		}
		return s.receiveRequest(out, e)
	case KindPost:
		return s.receivePost(out, e)
	case KindMessage:
		if x := s.last; x != nil && x.opaque == e.Opaque && s.takesPlain(x, e) {
			// Fast path: the next message of the same stream.
			return s.deliver(out, x, e), nil
		}
		return s.receiveMessage(out, e)
	case KindFinish:
		return s.receiveFinish(out, e)
	}
	return s.receiveStart(out, e)
}

// takesPlain reports whether a message is whole and an event whatever else is so,
// and then takes it off what the peer may send. All others are for
// receiveMessage.
func (s *Session) takesPlain(x *exchange, e *Event) bool {
	if x.state&^(local|sentEnd|sending|sunk) != stream || e.Flags != 0 || e.ID == IDError ||
		s.granting || x.grant <= 0 {
		return false
	}
	x.grant -= int64(len(e.Data))
	return true
}

// deliver makes an event of a message of a stream.
func (s *Session) deliver(out []byte, x *exchange, e *Event) []byte {
	s.stats.RxStream++
	if x.is(sunk) {
		return s.AppendConsumed(out, e.Opaque, len(e.Data))
	}
	e.Type, e.User = EventMessage, x.user
	return out
}

// receiveRequest is for a request of the peer.
func (s *Session) receiveRequest(out []byte, e *Event) ([]byte, error) {
	if e.Flags&More != 0 || len(s.remotes) > 0 && s.remotes[e.Opaque] != nil {
		// Slow path: fragments, or an opaque that is in use.
		if whole, err := s.assemble(e, 0); !whole || err != nil {
			return out, err
		}
	} else if s.agreed != 0 && s.foreign(e.Opaque) {
		return out, ErrForeign
	}
	s.stats.RxReq++
	if e.ID == IDWhoami || e.ID == IDPing {
		return s.receiveOwn(out, e)
	}
	e.Type = EventRequest
	s.hand = hand{opaque: e.Opaque, id: e.ID, live: true}
	if len(s.remotes) >= s.cfg.Exchanges {
		return s.refuse(out, e, ResourceExhausted, "too many exchanges are open")
	}
	if s.going {
		return s.refuse(out, e, Unavailable, "going away")
	}
	return out, nil
}

// refuse answers a request that is not worked on. An old peer gets its answer
// from the owner.
func (s *Session) refuse(out []byte, e *Event, code Code, text string) ([]byte, error) {
	if s.agreed&FeatureErrors == 0 {
		e.Refuse, s.hand.refuse = true, code == ResourceExhausted
		return out, nil
	}
	s.hand.live = false
	e.Type = EventNone
	s.stats.TxResp++
	return s.putError(out, KindRequest, e.Opaque, code, text), nil
}

func (s *Session) putError(out []byte, kind Kind, opaque uint64, code Code, text string) []byte {
	s.scratch = AppendErrorData(s.scratch[:0], &Error{Code: code, Text: text, Retryable: true})
	return s.put(out, kind, opaque, &Message{ID: IDError, Data: s.scratch})
}

// foreign reports whether only we may open exchanges with the opaque.
func (s *Session) foreign(opaque uint64) bool {
	return s.opaques.Contains(opaque) || s.cfg.Opaques.Contains(opaque)
}

// park puts the request that Next has told of last with those that wait.
func (s *Session) park() {
	if !s.hand.live {
		return
	}
	s.hand.live = false
	x := s.adopt(s.hand.opaque, s.hand.id, 0)
	n := len(s.segments)
	if n == 0 || s.segments[n-1].closed {
		s.segments = append(s.segments, &segment{})
		n++
	}
	x.seg = s.segments[n-1]
	x.seg.left++
}

// leave takes a request out of its segment.
func (s *Session) leave(seg *segment) {
	if seg != nil {
		seg.left--
	}
}

// receiveResponse is for the answer to what we have asked.
func (s *Session) receiveResponse(out []byte, x *exchange, e *Event) ([]byte, error) {
	if x.is(stream) {
		// An old peer may answer a stream as if it were a request.
		if !s.Legacy() {
			return out, ErrUnexpected
		}
		return s.streamMessage(out, x, e)
	}
	if e.Flags&More != 0 || x.is(receiving) {
		// Slow path: an error in place of the rest ends the fragments.
		if e.ID == IDError && x.is(receiving) {
			s.forgetPartial(x)
		} else if whole, err := s.collect(x, e); !whole || err != nil {
			return out, err
		}
	}
	s.stats.RxResp++
	id, user, silent := x.id, x.user, x.is(abandoned)
	own := x.opaque == s.whoamiAt
	s.drop(x)
	switch {
	case id == IDWhoami:
		out, err := s.receiveWhoami(out, e, own)
		if own || err != nil {
			return out, err
		}
	case e.ID == IDError && s.agreed&FeatureErrors != 0:
		var err error
		if e.Err, err = ParseError(e.Data); err != nil {
			return out, err
		}
	case id == IDPing:
		echo, _, ok := readSized(e.Data, 2)
		if !ok {
			return out, ErrControl
		}
		e.Data = echo
	}
	if !silent {
		e.Type, e.User = EventResponse, user
	}
	return out, nil
}

// receivePost is for a message that wants no answer.
func (s *Session) receivePost(out []byte, e *Event) ([]byte, error) {
	if e.Flags&More != 0 || len(s.remotes) > 0 && s.continues(e.Opaque, KindPost) {
		if whole, err := s.assemble(e, oneWay); !whole || err != nil {
			return out, err
		}
	}
	s.stats.RxPost++
	if reserved(e.ID) {
		return s.receiveControl(out, e)
	}
	if !s.cfg.NoPosts {
		e.Type = EventPost
	}
	return out, nil
}

// receiveStart is for a stream that the peer opens.
func (s *Session) receiveStart(out []byte, e *Event) ([]byte, error) {
	if s.locals.get(e.Opaque) != nil {
		return out, ErrInUse
	}
	if s.agreed != 0 && s.foreign(e.Opaque) {
		return out, ErrForeign
	}
	x := s.remotes[e.Opaque]
	switch {
	case x != nil || e.Flags&More != 0:
		if whole, err := s.assemble(e, stream); !whole || err != nil {
			return out, err
		}
		x = s.remotes[e.Opaque]
	case len(s.remotes) >= s.cfg.Exchanges:
		return s.refuseStart(out, e, ResourceExhausted, "too many exchanges are open"), nil
	case s.going && s.agreed&FeatureErrors != 0:
		return s.refuseStart(out, e, Unavailable, "going away"), nil
	default:
		x = s.adopt(e.Opaque, e.ID, stream)
	}
	s.last = x
	s.stats.RxStart++
	e.Type = EventStart
	return out, nil
}

// refuseStart ends a stream as soon as it begins. What the peer sends on it
// until it learns that is dropped.
func (s *Session) refuseStart(out []byte, e *Event, code Code, text string) []byte {
	s.stats.RxStart++
	if s.agreed&FeatureErrors != 0 {
		out = s.putError(out, KindMessage, e.Opaque, code, text)
	}
	s.stats.Tx++
	s.stats.TxFin++
	before := len(out)
	out = appendFinish(out, e.Opaque)
	s.stats.TxByte += uint64(len(out) - before)
	return out
}

// receiveMessage is for a message of a stream.
func (s *Session) receiveMessage(out []byte, e *Event) ([]byte, error) {
	x := s.find(e.Opaque)
	if x == nil || !x.is(stream) || x.is(opening) {
		// The stream was refused or has ended on our side: that may cross.
		s.stats.MDrops++
		if s.granting && e.ID != IDError {
			s.grant -= int64(len(e.Data))
			s.used += int64(len(e.Data))
		}
		return out, nil
	}
	return s.streamMessage(out, x, e)
}

func (s *Session) streamMessage(out []byte, x *exchange, e *Event) ([]byte, error) {
	if x.is(gotEnd) {
		return out, ErrUnexpected
	}
	if s.agreed&FeatureCredit != 0 && e.ID != IDError {
		if err := s.spend(x, len(e.Data)); err != nil {
			return out, err
		}
	}
	if e.Flags&More != 0 || x.is(receiving) {
		if e.ID == IDError && x.is(receiving) {
			s.forgetPartial(x)
		} else if whole, err := s.collect(x, e); !whole || err != nil {
			return out, err
		}
	}
	if x.is(abandoned) {
		s.stats.RxStream++
		return out, nil
	}
	if e.ID == IDError && s.agreed&FeatureErrors != 0 {
		s.stats.RxStream++
		var err error
		x.err, err = ParseError(e.Data)
		return out, err
	}
	return s.deliver(out, x, e), nil
}

// spend takes data off what the peer may send. It may begin a message as long as
// there is any credit, so that every message can be sent at last. Fragments of
// several streams come in turn, so that of the credit of all streams it is only
// known by how much the last message may exceed it.
func (s *Session) spend(x *exchange, size int) error {
	if size > 0 && x.grant <= 0 && !x.is(receiving|abandoned) {
		return ErrOverrun
	}
	x.grant -= int64(size)
	s.grant -= int64(size)
	if s.granting && s.grant < -int64(s.cfg.MaxMessage) {
		return ErrOverrun
	}
	if x.is(abandoned) {
		s.used += int64(size) // nobody else is done with it
	}
	return nil
}

// receiveFinish is for the peer's end of a stream.
func (s *Session) receiveFinish(out []byte, e *Event) ([]byte, error) {
	x := s.find(e.Opaque)
	switch {
	case x == nil, x.is(opening) && !x.is(stream):
		s.stats.MDrops++
		return out, nil
	case x.is(opening): // the peer has given up before its first message was sent
		return s.endOpening(out, x, Canceled), nil
	}
	if !x.is(stream) {
		return s.finishedRequest(out, x, e)
	}
	if x.is(gotEnd) {
		if s.Legacy() {
			s.stats.MDrops++
			return out, nil
		}
		return out, ErrUnexpected
	}
	if x.is(receiving) {
		return out, ErrFragments
	}
	s.stats.RxFin++
	x.state |= gotEnd
	if !x.is(abandoned) {
		e.Type, e.User, e.Err = EventFinish, x.user, x.err
	}
	s.settle(x)
	return out, nil
}

// finishedRequest is for a finish where a response is due: gofast's own reader
// would take it for an empty one, and crash.
func (s *Session) finishedRequest(out []byte, x *exchange, e *Event) ([]byte, error) {
	if !x.is(local) || !s.Legacy() || x.opaque == s.whoamiAt {
		return out, ErrUnexpected
	}
	s.stats.RxFin++
	if !x.is(abandoned) {
		e.Type, e.User = EventResponse, x.user
		e.Err = &Error{Code: Internal, Text: "the peer has finished the request without an answer"}
	}
	s.drop(x)
	return out, nil
}
