package respfront

import (
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

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
	case !cmd.reads() && !cmd.queued:
		x.spoil()
		t.fail("ERR '" + cmd.name + "' is not served inside MULTI: only reads are")
		return
	case len(x.list) >= front.QueuedCommands:
		x.spoil()
		t.fail("ERR too many commands in a transaction")
		return
	case !t.c.keepQueued(args):
		x.spoil()
		t.fail("ERR the commands of transactions are too large together: send fewer")
		return
	}
	x.list = append(x.list, queued{cmd, cloned(args)})
	t.c.update(func(s *sharedState) { s.multi = len(x.list) })
	if t.c.replies() {
		t.out = resp.AppendSimple(t.out, "QUEUED")
	}
}

// keepQueued counts the bytes of a queued command. It reports false when there is no room.
func (c *conn) keepQueued(args [][]byte) bool {
	const head = 24 // of a slice
	n := int64(head)
	for _, a := range args {
		n += int64(len(a)) + head
	}
	if c.queued+n > front.QueuedBytes {
		return false
	}
	if c.f.queued.Add(n) > front.QueuedAll {
		c.f.queued.Add(-n)
		return false
	}
	c.queued += n
	return true
}

// dropQueued gives back what keepQueued has counted.
func (c *conn) dropQueued() {
	c.f.queued.Add(-c.queued)
	c.queued = 0
}

func discard(t *turn, args [][]byte) {
	if t.c.multi == nil {
		t.fail("ERR DISCARD without MULTI")
		return
	}
	t.c.begin(nil, -1)
	t.c.dropQueued()
	ok(t, args)
}

// exec begins to answer what MULTI has queued, as one array.
func exec(t *turn, _ [][]byte) {
	c, x := t.c, t.c.multi
	if x == nil {
		t.fail("ERR EXEC without MULTI")
		return
	}
	c.begin(nil, -1)
	switch {
	case !c.replies():
		for _, q := range x.list {
			if q.cmd.reads() && !x.spoiled {
				t.track(q.cmd, q.args)
			}
		}
	case x.spoiled:
		t.fail("EXECABORT Transaction discarded because of previous errors.")
	default:
		t.out = resp.AppendArray(t.out, len(x.list))
		c.exec, c.cached = x.list, c.track.caching
		t.within = t.batch == nil
	}
	if len(c.exec) == 0 {
		c.executed()
	}
}

// executed ends a transaction.
func (c *conn) executed() {
	c.cached = false
	c.dropQueued()
}

// execute answers commands of a transaction: as many as fill a piece, or a batch.
func (t *turn) execute() {
	c := t.c
	for keys := 0; len(c.exec) > 0 && t.next == eventloop.More; {
		switch {
		case t.batch != nil && t.batch.Full():
			return
		case t.batch == nil && (len(t.out) >= kv.PieceSize || keys >= front.BatchKeys):
			t.next = eventloop.Again
			return
		}
		q := c.exec[0]
		c.exec[0] = queued{}
		c.exec = c.exec[1:]
		if q.cmd.reads() {
			keys += len(q.args)
			t.read(q.cmd, q.args)
		} else {
			q.cmd.now(t, q.args)
		}
	}
	if len(c.exec) == 0 {
		c.executed()
	}
}

// goOn makes more of an answer that is not whole yet.
func (t *turn) goOn() {
	c := t.c
	if c.Unfinished() {
		if t.out, t.next = c.GoOn(t.out); t.next == eventloop.Again && c.Unfinished() {
			return
		}
	}
	if len(c.exec) > 0 {
		t.next, t.within = eventloop.More, true
		t.execute()
	}
	if t.next == eventloop.More && t.batch == nil {
		t.next = eventloop.Flush // the answer is whole
	}
}
