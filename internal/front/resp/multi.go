package respfront

import "github.com/hotrow/hotrow/internal/wire/resp"

// maxQueued is how many commands a transaction may have.
const maxQueued = 1000

// A transaction is what MULTI has queued.
type transaction struct {
	list    []queued
	spoiled bool // a command was refused: nothing is done
}

// A queued command has memory of its own.
type queued struct {
	cmd  *command
	args [][]byte
}

// spoil notes that a command was refused. x may be nil.
func (x *transaction) spoil() {
	if x != nil {
		x.spoiled = true
	}
}

func multi(t *turn, args [][]byte) {
	if t.c.multi != nil {
		t.fail("ERR MULTI calls can not be nested")
		return
	}
	t.c.begin(new(transaction), 0)
	ok(t, args)
}

// begin begins or, with nil, ends a transaction.
func (c *conn) begin(x *transaction, count int) {
	c.multi = x
	c.update(func(s *sharedState) { s.multi = count })
}

// queue keeps a command for EXEC. What is no read is refused: a write would not be undone
// with the others.
func (t *turn) queue(cmd *command, args [][]byte) {
	x := t.c.multi
	switch {
	case cmd.render == nil && !cmd.queued:
		x.spoil()
		t.fail("ERR '" + cmd.name + "' is not served inside MULTI: only reads are")
		return
	case len(x.list) >= maxQueued:
		x.spoil()
		t.fail("ERR too many commands in a transaction")
		return
	}
	x.list = append(x.list, queued{cmd, cloned(args)})
	t.c.update(func(s *sharedState) { s.multi = len(x.list) })
	if t.c.replies() {
		t.out = resp.AppendSimple(t.out, "QUEUED")
	}
}

func discard(t *turn, args [][]byte) {
	if t.c.multi == nil {
		t.fail("ERR DISCARD without MULTI")
		return
	}
	t.c.begin(nil, -1)
	ok(t, args)
}

// exec answers what MULTI has queued, as one array: nothing may stand within it, so that
// it is made as a whole.
func exec(t *turn, _ [][]byte) {
	c, x := t.c, t.c.multi
	if x == nil {
		t.fail("ERR EXEC without MULTI")
		return
	}
	c.begin(nil, -1)
	if !c.replies() {
		for _, q := range x.list {
			if q.cmd.render != nil && !x.spoiled {
				t.track(q.cmd, q.args)
			}
		}
		return
	}
	if x.spoiled {
		t.fail("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	alone := t.batch == nil
	if alone {
		t.begin()
	}
	t.out = resp.AppendArray(t.out, len(x.list))
	for _, q := range x.list {
		if q.cmd.render != nil {
			t.gather(q.cmd, q.args)
		} else {
			q.cmd.now(t, q.args)
		}
	}
	if alone && !t.batch.Missing() { // memory has all of it
		t.out = t.known()
		t.step = nil
	}
}
