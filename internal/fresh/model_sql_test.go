package fresh

// The exhaustive check of the SQL front's rules. Sessions of one client pool go through a relay
// that answers SELECTs from copies: each has a session of the database to itself, to which it
// forwards what no copy answers. There are a foreign writer, the feed, the settler, the fence, and
// connections that are lost between a COMMIT and its answer.
//
// The rules stand here, in ask, look, forward, receive and hold, in two designs: this one, and the
// one that is built (model_sql_closed_test.go). One turn is a message, or one look at a copy. How
// version counters are moved and read in single steps is model_words_test.go's business, and here
// one turn.
//
// A COMMIT is forwarded with a hold on what it changes, which ends when its answer has come. If the
// statements do not tell all that it changes, it closes the table: no copy answers until the feed
// has reached a fence that was begun after the answer. In both cases the hold has the counter of
// own writes. Without it a read would join a load that began before the answer: a load looks at
// no rows before it has read them, and what the feed has brought may not be visible yet.

const (
	sqlSessions = 3
	sqlFlights  = 2 // groups of one session that are under way
)

// A sqlKind is what a client sends.
type sqlKind uint8

const (
	sqlRead   sqlKind = iota // an eligible SELECT
	sqlWrite                 // a write in autocommit: transaction tx
	sqlBegin                 // BEGIN
	sqlUpdate                // the write of transaction tx, after BEGIN
	sqlCommit                // its COMMIT
	sqlLock                  // waits in the database for a lock that transaction 0 holds to its end
	sqlHidden                // changes the state of the session, and its text does not say so
)

// A sqlLevel is what a SELECT must show.
type sqlLevel uint8

const (
	sqlBounded sqlLevel = iota // what the feed has brought, and all own writes
	sqlSession                 // what forwarded reads of the session have shown, too
	sqlNow                     // whatever is committed when the client asks
)

// A sqlOp is one message group of a client.
type sqlOp struct {
	kind  sqlKind
	q, tx int
	level sqlLevel
	piped bool // sent before the answer of the group before has come
	lost  bool // the connection is lost when it has been forwarded
	fails bool // the transaction is rolled back
}

type sqlScenario struct {
	name    string
	full    bool // the feed knows old values
	rows    [sqlRows]sqlRow
	queries []sqlQuery
	txs     []sqlTx
	progs   [sqlSessions][]sqlOp
	slow    bool // others take turns within a look at a copy
	closes  bool // writes hold no counters, and close what they may change
}

// A sqlCounter is a version counter: see Versions.
type sqlCounter struct{ stamp, dirty uint8 }

// A sqlFlight is a group that was forwarded and whose answer has not come.
type sqlFlight struct {
	op, run     uint8 // run: 0 not yet, 1 logged, 2 done
	v           uint8 // the transactions that a read shows
	c0          uint8 // of its lease
	records     bool
	fingerprint uint8 // of the lease: unknownState if the session's is asked for with the group
	state       uint8 // the session's when it ran
	status      uint8
	floor       uint8 // what its answer must show
	joined      uint8 // a bit for each session that waits for it, too
	joinFloor   [sqlSessions]uint8
}

const unknownState = 9

// A sqlConn is a client's connection, with its session of the database.
type sqlConn struct {
	pc, answered uint8 // groups sent, groups answered
	flights      [sqlFlights]sqlFlight
	n            uint8

	state, status        uint8 // of the session: another after sqlHidden; 1 in a transaction
	thinks, thinksStatus uint8 // what the relay knows of them
	unsure               bool
	lost, gone           bool
	uncommitted, held    uint8 // transactions
	looking              bool  // between two halves of a look
	floor                uint8 // of the read that looks, waits or has joined
	fenceAt              uint8 // where the feed must be before it looks, and 1
	waits                bool  // has joined another's load
	shown                uint8 // by forwarded reads
	shownAt              uint8 // the fence begun after the last of them, and 1
	asked                bool  // the read of pc is begun
}

// A sqlCopy is an answer that is kept.
type sqlCopy struct {
	kept  bool
	v, c0 uint8
	state uint8 // the session's whose answer it is
}

type sqlState struct {
	logged, visible, aborted, pending uint8
	order                             [3]uint8 // of the log
	nlog, applied                     uint8
	counters                          [sqlWords]sqlCounter
	clock                             uint8
	conns                             [sqlSessions]sqlConn
	copies                            [3][2]sqlCopy // by query and what the relay thinks the state is
	must                              uint8         // what every later read of the pool must show

	closed  uint8 // transactions that close the table
	unfence uint8 // those whose answer has come and no fence has begun since
	fences  [3]uint8
}

type sqlWorld struct {
	sc         *sqlScenario
	broken     sqlRule
	fail       string
	hits, kept int
}

// A sqlTurn is what somebody has done: a transaction, or a session and the place of its group.
type sqlTurn struct {
	what  string
	i, op int
}

func (w *sqlWorld) is(r sqlRule) bool { return w.broken == r }

// move stamps counters and adds to what keeps them.
func (s *sqlState) move(counters []int, dirty int, stamps bool) {
	if stamps {
		s.clock++
	}
	for _, x := range counters {
		c := &s.counters[x]
		if stamps {
			c.stamp = s.clock
		}
		c.dirty = uint8(int(c.dirty) + dirty)
	}
}

// check fails if an answer is not one that the client may have.
func (w *sqlWorld) check(what string, q int, v, floor, own uint8, s *sqlState) {
	answer, _ := w.sc.answer(q, v)
	wanted, _ := w.sc.answer(q, v|floor)
	switch {
	case w.fail != "":
	case v&^(s.visible|own) != 0:
		w.fail = what + ": shows what is not committed"
	case answer != wanted:
		w.fail = what + ": misses a write"
	}
}

// turns calls emit with the state after each turn that can be taken.
func (w *sqlWorld) turns(s0 *sqlState, emit func(sqlTurn, *sqlState)) {
	w.feedTurns(s0, emit)
	for i := range w.sc.txs {
		if bit := uint8(1) << i; w.sc.txs[i].foreign && s0.visible&bit == 0 {
			s := *s0
			switch {
			case s0.logged&bit != 0:
				s.visible |= bit
				emit(sqlTurn{"foreign visible", i, 0}, &s)
			case w.mayCommit(s0, i):
				s.log(i)
				emit(sqlTurn{"foreign logged", i, 0}, &s)
			}
		}
	}
	for k := range sqlSessions {
		w.clientTurns(s0, k, emit)
		w.serverTurns(s0, k, emit)
	}
}

// feedTurns are those of the feed, the settler and the fences.
func (w *sqlWorld) feedTurns(s0 *sqlState, emit func(sqlTurn, *sqlState)) {
	if s0.applied < s0.nlog {
		s := *s0
		i := int(s.order[s.applied])
		s.applied++
		s.pending |= 1 << i
		s.move(w.fed(i), 1, true)
		emit(sqlTurn{"feed", i, 0}, &s)
	}
	for i := range w.sc.txs {
		bit := uint8(1) << i
		if s0.pending&s0.visible&bit != 0 {
			s := *s0
			s.pending &^= bit
			s.move(w.fed(i), -1, true)
			emit(sqlTurn{"settle", i, 0}, &s)
		}
		if s0.unfence&bit != 0 {
			s := *s0
			s.unfence &^= bit
			s.fences[i] = s.nlog + 1
			emit(sqlTurn{"fence for", i, 0}, &s)
		}
		if at := s0.fences[i]; at > 0 && (s0.applied+1 >= at || w.is(loweredAtFence)) {
			s := *s0
			s.fences[i] = 0
			s.closed &^= bit
			emit(sqlTurn{"open", i, 0}, &s)
		}
	}
}

// mayCommit reports whether the transactions of the same row before i have ended.
func (w *sqlWorld) mayCommit(s *sqlState, i int) bool {
	for j := range i {
		if w.sc.txs[j].row == w.sc.txs[i].row && (s.visible|s.aborted)>>j&1 == 0 {
			return false
		}
	}
	return true
}

func (s *sqlState) log(i int) {
	s.logged |= 1 << i
	s.order[s.nlog] = uint8(i)
	s.nlog++
}

// moved reports whether a counter has moved since the clock was c0, or, with dirty, is kept.
func (s *sqlState) moved(counters []int, c0 uint8, dirty bool) bool {
	for _, x := range counters {
		if c := s.counters[x]; c.stamp > c0 || dirty && c.dirty > 0 {
			return true
		}
	}
	return false
}

// isOpen is the half of a look that asks whether a copy is closed.
func (w *sqlWorld) isOpen(s *sqlState, k, q int) bool {
	c := s.copies[q][s.conns[k].thinks]
	for i := range w.sc.txs {
		if s.closed>>i&1 != 0 && (!w.sc.closes || w.closesCopy(i, q, c.v)) {
			return false
		}
	}
	return true
}

// isGood is the half of a look that walks a copy's counters.
func (w *sqlWorld) isGood(s *sqlState, k, q int) bool {
	c := s.copies[q][s.conns[k].thinks]
	return c.kept && !s.moved(w.deps(q, c.v), c.c0, true)
}

// tidy makes one state of those that differ in nothing that matters: stamps count by their order,
// and a copy whose counters have moved is none.
func (w *sqlWorld) tidy(s *sqlState) {
	for q := range w.sc.queries {
		for f := range s.copies[q] {
			if c := &s.copies[q][f]; c.kept && s.moved(w.deps(q, c.v), c.c0, false) {
				*c = sqlCopy{}
			}
		}
	}
	var rank [256]uint8
	each := func(f func(*uint8)) {
		f(&s.clock)
		for i := range s.counters {
			f(&s.counters[i].stamp)
		}
		for k := range s.conns {
			for i := range s.conns[k].n {
				f(&s.conns[k].flights[i].c0)
			}
		}
		for q := range s.copies {
			for f2 := range s.copies[q] {
				f(&s.copies[q][f2].c0)
			}
		}
	}
	each(func(x *uint8) { rank[*x] = 1 })
	n := uint8(0)
	for i := range rank {
		if rank[i] > 0 {
			rank[i] = n
			n++
		}
	}
	each(func(x *uint8) { *x = rank[*x] })
}
