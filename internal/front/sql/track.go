package sqlfront

import "sync"

// A group is what a client sends from one rest of the session to the next: one Query, or
// messages up to a Sync. The server ends its answer to each with ReadyForQuery.

// A track follows the groups of a session, from both sides. What it cannot follow it says to be
// busy. It holds no byte up but where memory answers (see serve.go).
type track struct {
	mu       sync.Mutex // guards what follows; innermost
	sent     framer     // of the client
	answers  framer     // of the server
	size     uint32     // of the body of its message
	opened   bool       // the client is within a group
	bySync   bool       // its last group has ended with a Sync
	waiting  int        // groups whose answer has not ended
	idle     bool       // the server is in no transaction, by its last ReadyForQuery
	failed   bool       // it is in one that has failed
	closes   bool       // the client sends no more
	ended    bool       // hotrow has ended the session
	groups   uint64     // that have been answered
	pieces   [][]byte   // of what has come last; its memory belongs to the server's side
	observer *observer  // nil: nobody looks
	before   []byte     // what goes to the server in front of what the client has sent
	asked    swallower  // takes out what answers a question of hotrow's own
}

// A verdict is what becomes of bytes of a client.
type verdict struct {
	n      int    // so many are done with; 0: more has to come
	out    []byte // what the client gets
	before []byte // what goes to the server first
	passes bool   // and then the bytes
}

// forward notes what the client has sent, and says what becomes of it, or of the beginning of it.
// Answers are appended to out. ok is false when the session has ended, so that nothing must go to
// the server.
func (t *track) forward(p, out []byte) (v verdict, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v = verdict{n: len(p), out: out, passes: true}
	if t.ended {
		return v, false
	}
	n, waits := t.held(p)
	switch {
	case n > 0:
		v.n = n
		t.whole(p[:n], &v)
		return v, true
	case waits:
		v.n, v.passes = 0, false
		return v, true
	}
	if v.before = t.shows(p); v.before != nil {
		v.passes = false
		return v, true
	}
	if o := t.observer; o != nil {
		o.part++
		o.clean = t.idle && t.rests()
	}
	t.before = nil
	t.sent.feed(p, (*sentSide)(t))
	if v.before = t.before; v.before != nil {
		t.asked = swallower{active: true, state: true}
	} else if t.observer != nil && t.observer.names.behind {
		t.catchUp(&v, p, true)
	}
	return v, true
}

// last is forward of what was held back, when the client sends no more.
func (t *track) last(held []byte) (v verdict, ok bool) {
	t.mu.Lock()
	t.closes = true
	t.mu.Unlock()
	return t.forward(held, nil)
}

// answer notes what the server has sent. It returns the pieces of p that go to the client, which
// are valid until the next call, and how many answers have ended with it.
func (t *track) answer(p []byte) (pieces [][]byte, ended uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.groups
	t.pieces = t.pieces[:0]
	if t.asked.active {
		p = t.told(p)
	}
	if len(p) > 0 {
		t.pieces = append(t.pieces, p)
		t.answers.feed(p, (*answeredSide)(t))
	}
	return t.pieces, t.groups - before
}

// told takes the answer to a question out of p, and returns what is behind it.
func (t *track) told(p []byte) (rest []byte) {
	a, o := &t.asked, t.observer
	rest, t.pieces = a.take(p, t.pieces)
	for _, piece := range t.pieces {
		o.aside(piece[0]) // in the worst case once too often: it may be the middle of a message
	}
	if a.ended {
		switch {
		case a.shows:
			t.shown()
		case a.state:
			if f := o.cache.Fingerprint(a.row); f != nil {
				o.of.Told(f)
			} else {
				o.off = true
			}
		}
		t.asked = swallower{}
	}
	return rest
}

// lost notes that the session has ended.
func (t *track) lost() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.observer != nil {
		t.observer.lost()
	}
}

// end ends the session if nothing is under way in it, and reports whether it did.
func (t *track) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = t.idle && t.rests()
	return t.ended
}

// rests reports whether nothing is under way, from either side.
func (t *track) rests() bool {
	return !t.opened && t.waiting == 0 && !t.sent.within() && !t.answers.within() &&
		!t.asked.active
}

// begin notes that the server is ready for the first group. o sees the groups; it may be nil.
func (t *track) begin(o *observer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle, t.observer = true, o
}

// A sentSide is a track that hears the client.
type sentSide track

func (t *sentSide) want(kind byte, _ uint32) uint32 {
	if t.observer == nil {
		return 0
	}
	return t.observer.want(kind)
}

func (t *sentSide) message(kind byte, body []byte) {
	if o := t.observer; o != nil && kind != msgTerminate {
		if !t.opened {
			o.begins(t.waiting, t.idle)
		}
		o.message(kind, body)
	}
	switch kind {
	case msgQuery, msgFunction:
		t.opened, t.bySync = false, false
		t.whole()
	case msgSync:
		t.opened, t.bySync = false, true
		t.whole()
	case msgCopyData, msgCopyDone, msgCopyFail:
		// A Sync in front of it was for nothing: the server passes over it while it waits for
		// data, and another follows.
		if !t.opened && t.bySync && t.waiting > 0 {
			t.waiting--
			t.opened = true
			if t.observer != nil {
				t.observer.again()
			}
		}
	case msgTerminate:
	default:
		t.opened = true
	}
}

// whole notes that the client has sent a group.
func (t *sentSide) whole() {
	if o := t.observer; o != nil {
		if before := o.sent(); before != nil {
			t.before = before
		}
		if o.fromMemory {
			return
		}
	}
	t.waiting++
}

// An answeredSide is a track that hears the server.
type answeredSide track

func (t *answeredSide) want(kind byte, size uint32) uint32 {
	if t.size = size; kind == msgReady {
		return 1
	}
	if t.observer != nil {
		return t.observer.wants(kind, size)
	}
	return 0
}

func (t *answeredSide) message(kind byte, body []byte) {
	if kind != msgReady || len(body) == 0 {
		if t.observer != nil {
			t.observer.hears(kind, body, t.size)
		}
		return
	}
	t.idle, t.failed = body[0] == 'I', body[0] == 'E'
	t.waiting = max(t.waiting-1, 0)
	if t.observer != nil {
		t.observer.answered(t.idle)
	}
	t.groups++
}
