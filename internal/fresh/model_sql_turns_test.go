package fresh

// clientTurns are those of one client, and of the relay between it and the database.
func (w *sqlWorld) clientTurns(s0 *sqlState, k int, emit func(sqlTurn, *sqlState)) {
	p := &s0.conns[k]
	prog := w.sc.progs[k]
	if int(p.pc) < len(prog) && !p.lost && !p.waits && p.n < sqlFlights {
		if o := &prog[p.pc]; p.answered == p.pc || o.piped {
			s := *s0
			if o.kind == sqlRead {
				w.ask(&s, k, o, emit)
			} else {
				w.forward(&s, k, o)
				emit(sqlTurn{"forward", k, int(p.pc)}, &s)
			}
		}
	}
	if p.n > 0 && !p.lost && prog[p.flights[0].op].lost {
		s := *s0
		s.conns[k].lost = true
		if w.is(releasedAtLoss) {
			w.release(&s, k)
			s.closed, s.unfence = 0, 0
		}
		emit(sqlTurn{"lost", k, 0}, &s)
	}
	if p.lost && !p.gone && p.flights[0].run != 1 { // the session ends before it commits, or after
		s := *s0
		q := &s.conns[k]
		if i := prog[q.flights[0].op].tx; q.flights[0].run == 0 {
			s.aborted |= 1 << i
		}
		q.gone, q.n, q.flights[0] = true, 0, sqlFlight{}
		s.unfence |= q.held & s.closed
		w.release(&s, k) // it is known that the session has ended
		emit(sqlTurn{"gone", k, 0}, &s)
	}
	if p.n > 0 && p.flights[0].run == 2 && !p.lost {
		s := *s0
		w.receive(&s, k)
		emit(sqlTurn{"answer", k, int(p.flights[0].op)}, &s)
	}
}

// floor returns what an answer from a copy must show: what the feed has brought, and own writes.
func (s *sqlState) floor() uint8 {
	floor := s.must
	for i := range s.applied {
		floor |= 1 << s.order[i] & s.visible
	}
	return floor
}

// ask is the begin of a read, and the look when its fence has been reached.
func (w *sqlWorld) ask(s *sqlState, k int, o *sqlOp, emit func(sqlTurn, *sqlState)) {
	p := &s.conns[k]
	if !p.asked {
		p.asked, p.floor, p.fenceAt = true, s.floor(), 0
		switch {
		case o.level == sqlNow && !w.is(nowWithoutFence):
			p.fenceAt = s.nlog + 1
		case o.level == sqlSession && !w.is(sessionWithoutFence):
			p.fenceAt = p.shownAt
		}
		if o.level == sqlNow {
			p.floor |= s.visible
		}
		if o.level == sqlSession {
			p.floor |= p.shown
		}
		if o.level != sqlBounded {
			emit(sqlTurn{"ask", k, int(p.pc)}, s)
			return
		}
	}
	if s.applied+1 >= p.fenceAt || w.is(fenceAfterWalk) {
		w.look(s, k, o, emit)
	}
}

// look answers a read from a copy, has it join another's load, or forwards it.
func (w *sqlWorld) look(s *sqlState, k int, o *sqlOp, emit func(sqlTurn, *sqlState)) {
	p := &s.conns[k]
	turn := func(what string) sqlTurn { return sqlTurn{what, k, int(p.pc)} }
	if (p.n == 0 || w.is(lookAtArrival)) && p.thinksStatus == 0 && (!p.unsure || w.is(stateByText)) {
		open, good := w.isOpen(s, k, o.q), w.isGood(s, k, o.q)
		hit := open && good
		if w.sc.slow {
			first, second := open, good
			switch {
			case w.is(closedAfterWalk):
				first, second = good, open
			case w.is(fenceAfterWalk):
				first, second = open && good, s.applied+1 >= p.fenceAt
			}
			if !p.looking && first {
				p.looking = true
				emit(turn("half a look"), s)
				return
			}
			hit = p.looking && second
			p.looking = false
		}
		switch j, i := w.joinable(s, k, o); {
		case hit:
			w.hit(s, k, o)
			emit(turn("hit"), s)
			return
		case i >= 0:
			f := &s.conns[j].flights[i]
			f.joined |= 1 << k
			f.joinFloor[k] = s.settled() | s.must
			p.waits, p.asked = true, false
			p.pc++
			emit(turn("join"), s)
			return
		}
	}
	w.forward(s, k, o)
	emit(turn("forward"), s)
}

// settled returns the transactions of which every load shows that has begun since.
func (s *sqlState) settled() (list uint8) {
	for i := range s.applied {
		list |= 1 << s.order[i] &^ s.pending
	}
	return list
}

// joinable returns a load in flight that a read may join: of the same question and state, of which
// nothing has moved that its answer may depend on. What the feed has brought and nobody has seen
// settled is no reason not to. An own write under way is: who asks may know that it has ended.
func (w *sqlWorld) joinable(s *sqlState, k int, o *sqlOp) (conn, flight int) {
	if o.level != sqlBounded || w.sc.closes || s.counters[sqlOwn].dirty > 0 && !w.is(joinsWithoutOwn) {
		return -1, -1
	}
	deps := w.unread(o.q)
	if !w.sc.full {
		deps = append(deps, sqlTable) // the rows that are read tell more
	}
	if !w.is(joinsWithoutOwn) {
		deps = append(deps, sqlOwn)
	}
	for j := range s.conns {
		for i := range s.conns[j].n {
			f := &s.conns[j].flights[i]
			of := &w.sc.progs[j][f.op]
			if j != k && of.kind == sqlRead && of.q == o.q && f.records &&
				f.fingerprint == s.conns[k].thinks && !s.moved(deps, f.c0, false) {
				return j, int(i)
			}
		}
	}
	return -1, -1
}

// hit answers from a copy.
func (w *sqlWorld) hit(s *sqlState, k int, o *sqlOp) {
	p := &s.conns[k]
	c := s.copies[o.q][p.thinks]
	w.hits++
	status, state := p.status, p.state // when all has run that was sent before
	for i := range p.n {
		if f := &p.flights[i]; f.run < 2 {
			switch w.sc.progs[k][f.op].kind {
			case sqlBegin:
				status = 1
			case sqlHidden:
				state = 1
			}
		}
	}
	switch {
	case c.state != state:
		w.fail = "hit: another session's answer"
	case status != 0:
		w.fail = "hit: within a transaction"
	}
	w.check("hit", o.q, c.v, p.floor, p.uncommitted, s)
	p.asked, p.looking = false, false
	p.pc++
	p.answered++
}

// forward sends a group to the session of the database.
func (w *sqlWorld) forward(s *sqlState, k int, o *sqlOp) {
	p := &s.conns[k]
	f := sqlFlight{op: p.pc}
	switch o.kind {
	case sqlRead:
		w.lease(s, k, &f, p.floor)
	case sqlWrite, sqlCommit:
		if !w.is(heldAtAnswer) && !w.is(openedWithinTransaction) {
			w.take(s, k, o.tx)
		}
	case sqlUpdate:
		if w.is(openedWithinTransaction) {
			w.take(s, k, o.tx)
		}
	case sqlHidden:
		if !w.is(unsureAtAnswer) {
			p.unsure = true
		}
	}
	p.flights[p.n] = f
	p.n++
	p.pc++
	p.asked, p.looking = false, false
}

// lease begins the load of a read.
func (w *sqlWorld) lease(s *sqlState, k int, f *sqlFlight, floor uint8) {
	p := &s.conns[k]
	f.floor, f.c0 = floor, s.clock
	f.records = p.thinksStatus == 0 || w.is(recordsInTransaction)
	if f.fingerprint = p.thinks; p.unsure && !w.is(stateByText) {
		f.fingerprint = unknownState
	}
}

// take holds what a transaction changes.
func (w *sqlWorld) take(s *sqlState, k, i int) {
	if w.is(nothingHeld) {
		return
	}
	moves, closes := w.hold(i)
	s.move(moves, 1, true)
	s.conns[k].held |= 1 << i
	if closes {
		s.closed |= 1 << i
		if w.is(fenceBeforeAnswer) {
			s.fences[i] = s.nlog + 1
		}
	}
}

// release ends the holds of a session.
func (w *sqlWorld) release(s *sqlState, k int) {
	p := &s.conns[k]
	for i := range w.sc.txs {
		if p.held>>i&1 != 0 {
			moves, _ := w.hold(i)
			s.move(moves, -1, !w.is(releasedWithoutStamp))
		}
	}
	p.held = 0
}

// serverTurns run the first group of a session that has not run.
func (w *sqlWorld) serverTurns(s0 *sqlState, k int, emit func(sqlTurn, *sqlState)) {
	i := 0
	for i < int(s0.conns[k].n) && s0.conns[k].flights[i].run == 2 {
		i++
	}
	if i == int(s0.conns[k].n) {
		return
	}
	s := *s0
	p := &s.conns[k]
	f := &p.flights[i]
	o := &w.sc.progs[k][f.op]
	switch o.kind {
	case sqlRead:
		f.v = s.visible | p.uncommitted
	case sqlBegin:
		p.status = 1
	case sqlHidden:
		p.state = 1
	case sqlUpdate:
		if !w.mayCommit(&s, o.tx) {
			return
		}
		p.uncommitted |= 1 << o.tx
	case sqlLock:
		if (s.visible|s.aborted)&1 == 0 {
			return
		}
	default:
		if !w.commit(&s, k, f, o) {
			emit(sqlTurn{"run", k, int(f.op)}, &s)
			return
		}
		if s.visible == s0.visible && s.aborted == s0.aborted {
			return // it waits for a lock
		}
	}
	f.run, f.state, f.status = 2, p.state, p.status
	emit(sqlTurn{"run", k, int(f.op)}, &s)
}

// commit takes a step of a COMMIT, or of a write in autocommit. It reports whether that was the
// last, or none.
func (w *sqlWorld) commit(s *sqlState, k int, f *sqlFlight, o *sqlOp) bool {
	p := &s.conns[k]
	switch {
	case !w.mayCommit(s, o.tx):
		return true
	case o.fails:
		s.aborted |= 1 << o.tx
	case f.run == 0:
		s.log(o.tx)
		f.run = 1
		return false
	default:
		s.visible |= 1 << o.tx
	}
	p.uncommitted, p.status = 0, 0
	return true
}

// receive passes the answer of the first group under way to its client.
func (w *sqlWorld) receive(s *sqlState, k int) {
	p := &s.conns[k]
	f := p.flights[0]
	o := &w.sc.progs[k][f.op]
	p.flights[0], p.flights[1] = p.flights[1], sqlFlight{}
	p.n--
	p.answered++
	p.thinksStatus = f.status
	switch o.kind {
	case sqlRead:
		w.receiveRead(s, k, &f, o)
	case sqlWrite, sqlCommit:
		w.receiveCommit(s, k, o)
	case sqlUpdate:
		if w.is(openedWithinTransaction) {
			s.unfence |= 1 << o.tx & s.closed
		}
	case sqlHidden:
		p.unsure = p.unsure || !w.is(stateByText)
	case sqlLock:
		s.must |= s.visible & 1
	}
}

// receiveRead keeps an answer, and gives it to those who have joined its load.
func (w *sqlWorld) receiveRead(s *sqlState, k int, f *sqlFlight, o *sqlOp) {
	p := &s.conns[k]
	w.check("forwarded", o.q, f.v, f.floor, f.v, s)
	p.shown, p.shownAt = p.shown|f.v&s.visible, s.nlog+1
	if p.unsure && f.fingerprint == unknownState {
		f.fingerprint = f.state
		p.thinks, p.unsure = f.state, false
	}
	keeps := f.records && f.fingerprint != unknownState && (f.status == 0 || w.is(recordsInTransaction))
	if keeps {
		w.kept++
		c0 := f.c0
		if w.is(leaseAtAnswer) {
			c0 = s.clock
		}
		s.copies[o.q][f.fingerprint] = sqlCopy{true, f.v, c0, f.state}
	}
	for j := range s.conns {
		if f.joined>>j&1 == 0 {
			continue
		}
		q := &s.conns[j]
		q.waits = false
		if keeps {
			w.hits++
			w.check("join", o.q, f.v, f.joinFloor[j], 0, s)
			q.answered++
			continue
		}
		own := sqlFlight{op: q.pc - 1}
		w.lease(s, j, &own, f.joinFloor[j])
		q.flights[q.n] = own
		q.n++
	}
}

// receiveCommit ends what a write holds, before its client has the answer.
func (w *sqlWorld) receiveCommit(s *sqlState, k int, o *sqlOp) {
	bit := uint8(1) << o.tx
	if w.is(heldAtAnswer) {
		w.take(s, k, o.tx)
	}
	if !o.fails {
		s.must |= bit
	}
	if !w.is(releasedAtFence) {
		w.release(s, k)
	}
	switch {
	case s.closed&bit == 0:
	case o.fails, w.is(openedAtAnswer):
		s.closed &^= bit
	case !w.is(fenceBeforeAnswer):
		s.unfence |= bit
	}
}
