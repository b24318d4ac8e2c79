package sqlfront

import "sync"

// A group is what a client sends from one rest of the session to the next: one Query, or
// messages up to a Sync. The server ends its answer to each with ReadyForQuery.

// A track follows the groups of a session, from both sides. It never holds a byte up, and what
// it cannot follow it says to be busy.
type track struct {
	mu       sync.Mutex // guards what follows; innermost
	sent     framer     // of the client
	answered framer     // of the server
	size     uint32     // of the body of its message
	opened   bool       // the client is within a group
	bySync   bool       // its last group has ended with a Sync
	waiting  int        // groups whose answer has not ended
	idle     bool       // the server is in no transaction, by its last ReadyForQuery
	failed   bool       // it is in one that has failed
	ended    bool       // hotrow has ended the session
	groups   uint64     // that have been answered
	pieces   [][]byte   // of what has come last; its memory belongs to the server's side
	observer *observer  // nil: nobody looks
	before   []byte     // what goes to the server in front of what the client has sent
	asked    swallower  // takes out what answers a question of hotrow's own
}

// forward notes what the client has sent. It returns what goes to the server in front of p, p or
// nothing of it, and false when the session has ended, so that nothing must go there.
func (t *track) forward(p []byte) (before, rest []byte, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil, nil, false
	}
	if instead := t.shows(p); instead != nil {
		return instead, nil, true
	}
	if o := t.observer; o != nil {
		o.part++
		o.clean = t.idle && t.rests()
	}
	t.before = nil
	t.sent.feed(p, (*sentSide)(t))
	if t.before != nil {
		t.asked = swallower{active: true}
	}
	return t.before, p, true
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
		t.answered.feed(p, (*answeredSide)(t))
	}
	return t.pieces, t.groups - before
}

// told takes the answer to a question out of p, and returns what is behind it.
func (t *track) told(p []byte) (rest []byte) {
	a, o := &t.asked, t.observer
	rest, t.pieces = a.take(p, t.pieces)
	for _, piece := range t.pieces {
		if piece[0] == msgStatus && o.of != nil {
			o.of.Doubt() // in the worst case once too often: it may be the middle of a message
		}
	}
	if a.ended {
		if a.shows {
			t.shown()
		} else if f := o.cache.Fingerprint(a.row); f != nil {
			o.of.Told(f)
		} else {
			o.off = true
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
	return !t.opened && t.waiting == 0 && !t.sent.within() && !t.answered.within() &&
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
	t.waiting++
	if t.observer != nil {
		if before := t.observer.sent(); before != nil {
			t.before = before
		}
	}
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
