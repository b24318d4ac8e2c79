package gofast

// receiveControl is for the posts of the protocol itself. Those that were not
// agreed upon, and those that nobody knows, are dropped.
func (s *Session) receiveControl(out []byte, e *Event) ([]byte, error) {
	switch {
	case e.ID == IDHeartbeat:
		return out, s.receiveHeartbeat(e)
	case e.ID == IDCancel && s.agreed&FeatureCancel != 0:
		return s.receiveCancel(out, e)
	case e.ID == IDCredit && s.agreed&FeatureCredit != 0:
		return out, s.receiveCredit(e)
	case e.ID == IDGoAway && s.agreed&FeatureGoAway != 0:
		why, text, err := parseGoAway(e.Data)
		if err != nil {
			return out, err
		}
		s.gone = true
		e.Type, e.Err = EventGoAway, &Error{Code: why, Text: text, Retryable: true}
		return out, nil
	case e.ID == IDLimits && s.agreed&FeatureLimits != 0:
		var x Extension
		if len(e.Data) > maxExtension || strict.dec.Unmarshal(e.Data, &x) != nil ||
			x.check() != nil {
			return out, ErrControl
		}
		s.setLimits(&x)
		return out, nil
	case e.ID == IDAuth && s.agreed&FeatureAuth != 0:
		e.Type = EventAuth
		return out, nil
	}
	s.stats.MDrops++
	return out, nil
}

func (s *Session) receiveHeartbeat(e *Event) error {
	if len(e.Data) != 8 {
		return ErrControl
	}
	s.stats.RxBeats++
	return nil
}

// receiveCancel is for an exchange that the peer has opened and wants no more.
// One that has ended meanwhile is none: that may cross.
func (s *Session) receiveCancel(out []byte, e *Event) ([]byte, error) {
	opaque, why, err := parseCancel(e.Data)
	if err != nil {
		return out, err
	}
	x := s.remotes[opaque]
	if x == nil {
		return out, nil
	}
	if x.is(opening) {
		return s.endOpening(out, x, why), nil
	}
	if x.is(receiving) {
		s.forgetPartial(x)
	}
	switch {
	case !x.is(stream) && x.is(sentEnd): // the answer is on its way, in fragments
		s.unqueue(x)
		s.stats.TxResp++
		out = s.putError(out, KindRequest, opaque, Canceled, "")
		s.drop(x)
		return s.passBarriers(out), nil
	case x.is(sentEnd):
		return out, nil
	}
	e.Type, e.Opaque, e.User = EventCancel, opaque, x.user
	e.Err = &Error{Code: why}
	return out, nil
}

// endOpening ends an exchange whose first message has not come completely.
func (s *Session) endOpening(out []byte, x *exchange, why Code) []byte {
	opaque, st := x.opaque, x.state
	s.drop(x)
	switch {
	case st&stream != 0:
		return s.refuseStart(out, &Event{Frame: Frame{Opaque: opaque}}, why, "")
	case st&oneWay == 0:
		s.stats.TxResp++
		out = s.putError(out, KindRequest, opaque, Canceled, "")
	}
	return out
}

func (s *Session) receiveCredit(e *Event) error {
	opaque, bytes, err := parseCredit(e.Data)
	if err != nil {
		return err
	}
	if opaque == 0 {
		s.window += int64(bytes)
		e.Type, e.Opaque = EventCredit, 0
		return nil
	}
	x := s.find(opaque)
	if x == nil || !x.is(stream) {
		return nil // it has ended meanwhile
	}
	x.credit += int64(bytes)
	if !x.is(sentEnd | abandoned) {
		e.Type, e.Opaque, e.User = EventCredit, opaque, x.user
	}
	return nil
}
