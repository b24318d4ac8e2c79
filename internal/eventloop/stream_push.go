package eventloop

// send is Conn.Send.
func (s *stream) send(b []byte) bool {
	defer s.meterUntaken()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.hijacked {
		return !s.closed
	}
	if len(s.pushed)+len(b) > 2*s.srv.cfg.MaxOutput {
		s.closed = true
		s.srv.count.cut.Add(1)
		s.cut()
		return false
	}
	s.pushed = append(s.pushed, b...)
	s.startPushed()
	return true
}

// startPushed has what was pushed written, unless answers are to be written before it.
// s.mu is held.
func (s *stream) startPushed() {
	if len(s.pushed) > 0 && !s.flushing && !s.atWork && !s.answered && !s.closed {
		s.flushing = true
		go s.flushPushed()
	}
}

// backlog is Conn.Backlog.
func (s *stream) backlog() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pushed) + s.taken
}

// flushPushed writes what was given to Send until nothing is left.
func (s *stream) flushPushed() {
	for {
		s.writing.Lock() // first, so that handOver can wait for what is under way
		s.mu.Lock()
		var b []byte
		if !s.atWork && !s.answered {
			b, s.pushed = s.pushed, nil
		}
		s.taken = len(b)
		s.flushing = len(b) > 0 && !s.closed
		goOn := s.flushing
		s.mu.Unlock()
		ok := goOn && s.write(b)
		release(b)
		if ok {
			s.mu.Lock()
			s.taken = 0
			s.mu.Unlock()
		}
		s.writing.Unlock()
		s.meterUntaken()
		switch {
		case !goOn:
			return
		case !ok:
			s.cut() // ends the stream's Read
			return
		}
		s.drained()
	}
}

// setHijacked says whether the connection is handed over. When it has become so, nothing
// that was pushed is written any more.
func (s *stream) setHijacked(hijacked bool) {
	s.mu.Lock()
	s.hijacked, s.pushed = hijacked, nil
	s.mu.Unlock()
	if hijacked {
		s.writing.Lock()
		//lint:ignore SA2001 to have had it is what counts
		s.writing.Unlock()
	}
}
