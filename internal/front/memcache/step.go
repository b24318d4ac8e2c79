package memcachefront

import (
	"bytes"
	"slices"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

// A turn is one call of Step: where its replies go, and what is next.
type turn struct {
	c     *conn
	s     *scope
	out   []byte    // where replies go: the output of Step or, while there is a batch, its
	batch *kv.Batch // reads that wait for the database; nil: none
	step  []byte    // the output of Step while there is a batch
	next  eventloop.Next

	classic bool // the batch has a command of isClassic
}

// Step answers the commands at the front of in.
func (f *Front) Step(lc *eventloop.Conn, in, out []byte) (int, []byte, eventloop.Next) {
	c, s := lc.Data.(*conn), lc.Scope().(*scope)
	if c.Unfinished() {
		out, next := c.GoOn(out)
		return 0, out, next
	}
	t := &s.turn
	*t = turn{c: c, s: s, out: out}
	n := t.run(in)
	if out = t.out; t.batch != nil {
		out = t.launch()
	}
	next := t.next
	*t = turn{} // what is on the event loop's buffers must not be kept
	clear(s.found)
	return n, out, next
}

// run goes over the commands and returns how many bytes it has consumed.
func (t *turn) run(in []byte) (n int) {
	c, s := t.c, t.s
	for n < len(in) && t.next == eventloop.More {
		if c.swallow > 0 {
			some := min(c.swallow, len(in)-n)
			c.swallow, n = c.swallow-some, n+some
			continue
		}
		used, want, err := memcache.Next(in[n:], &s.cmd, &c.f.limits)
		switch {
		case err != nil && t.batch != nil:
			return n // its replies come first
		case err != nil:
			t.broken(err)
			return len(in)
		case used == 0:
			c.Conn.Want(want)
			return n
		case !t.command(&s.cmd):
			return n
		}
		n += used
		if c.swallow = s.cmd.Swallow; c.swallow > front.SwallowedBytes && t.next == eventloop.More {
			t.next = eventloop.Close
		}
		switch {
		case t.batch != nil:
			if t.batch.Full() {
				return n
			}
		case t.next == eventloop.More && len(t.out) >= eventloop.FlushSize:
			t.next = eventloop.Flush
		}
	}
	return n
}

// broken ends a connection whose peer does not speak the protocol, without a word.
func (t *turn) broken(err error) {
	f := t.c.f
	t.next = eventloop.Close
	f.stats.broken.Add(1)
	if err == memcache.ErrLine {
		return
	}
	t.c.Foreign(t.s.Began, "the text protocol of memcached", err.Error())
}

// command answers one command, or sees to it that it is answered. It reports false when
// the command must wait until those before it are answered.
func (t *turn) command(cmd *memcache.Command) bool {
	add(&t.s.commands, 1)
	if t.s.Live.HasTokens() {
		if done, ok := t.admit(cmd); !ok || done {
			return ok
		}
	}
	switch {
	case cmd.Fault == memcache.TooLarge && t.dropsOld(cmd):
		return t.write(cmd)
	case cmd.Fault != "":
		if !cmd.Noreply || cmd.Op.Meta() {
			t.line(cmd.Fault)
		}
		return true
	case len(cmd.Keys) > front.CommandKeys:
		t.line("SERVER_ERROR too many keys")
		return true
	}
	switch cmd.Op {
	case memcache.MetaGet:
		if cmd.Has('T') && t.items(cmd) {
			return t.write(cmd)
		}
		return t.read(cmd)
	case memcache.Get, memcache.Gets, memcache.MetaDebug:
		return t.read(cmd)
	case memcache.Gat, memcache.Gats, memcache.Touch:
		if t.items(cmd) {
			return t.write(cmd)
		}
		if t.s.live.RefuseExpiry && cmd.Exptime != 0 {
			t.reply(cmd, noExpiry)
			return true
		}
		return t.read(cmd)
	}
	return t.other(cmd)
}

// items reports whether one of the keys is of an item, which may expire.
func (t *turn) items(cmd *memcache.Command) bool {
	return slices.ContainsFunc(cmd.Keys, t.isItem)
}

// dropsOld reports whether a command, whose value is too large, deletes the item that is
// there, as memcached has it: a client that goes on must not read the value of before.
func (t *turn) dropsOld(cmd *memcache.Command) bool {
	return (cmd.Op == memcache.Set || cmd.Op == memcache.MetaSet) && t.items(cmd)
}

// isItem reports whether a key is of an item.
func (t *turn) isItem(key []byte) bool {
	res, _, _ := t.s.Find(key)
	return res != nil && res.Items()
}

// line replies with a line.
func (t *turn) line(text string) { t.out = memcache.AppendLine(t.out, text) }

// reply replies with a line, if the client wants one.
func (t *turn) reply(cmd *memcache.Command, text string) {
	if !cmd.Noreply {
		t.line(text)
	}
}

// admit takes a token, and turns away who has to send one. It reports whether that was
// all, and false when the command must wait.
//
// A token comes as memcached has it: set of any key, with NAME, a blank and the token as
// the value. Where nobody has to send one, a set of a key that names a resource is a write
// all the same, unless the value is a token that is good.
func (t *turn) admit(cmd *memcache.Command) (done, ok bool) {
	c := t.c
	must := c.MustAuth(t.s.Scope)
	if _, known := c.Who.Principal(t.s.Live, t.s.Issued); known {
		return false, true
	}
	if cmd.Op == memcache.Quit {
		return false, true
	}
	if cmd.Op != memcache.Set || cmd.Fault != "" {
		if must {
			t.line("CLIENT_ERROR unauthenticated")
			t.s.LogRefusal(&c.Session, cmd.Op.String(), cmd.Keys, "unauthorized")
		}
		return must, true
	}
	user, token, _ := bytes.Cut(cmd.Data, []byte(" "))
	res, _, _ := t.s.Find(cmd.Keys[0])
	switch {
	case t.batch != nil:
		return false, false
	case c.Who.Identify(t.s.Live, string(user), string(token)):
		t.line("STORED")
		return true, true
	case !must && res != nil:
		return false, true
	}
	c.f.stats.denied.Add(1)
	if c.failed++; c.failed >= front.WrongTokens {
		t.next = eventloop.Close
	}
	t.line("CLIENT_ERROR authentication failure")
	return true, true
}

// reader says how the keys of a command are read: the reply to mg can say that a value is stale.
func (c *conn) reader(cmd *memcache.Command) kv.Reader {
	return kv.Reader{Who: &c.Who, Flags: cmd.Op == memcache.MetaGet}
}

// read answers a read from memory, or adds it to the batch. It reports false when the command
// must wait until those before it are answered.
func (t *turn) read(cmd *memcache.Command) bool {
	c, s := t.c, t.s
	asks := t.asksForLease(cmd)
	if t.batch != nil {
		if asks {
			return false
		}
		add(&s.keys, len(cmd.Keys))
		t.gather(cmd)
		return true
	}
	add(&s.keys, len(cmd.Keys))
	if cap(s.found) < len(cmd.Keys) {
		s.found = make([]kv.Found, 0, max(len(cmd.Keys), 16))
	}
	found := s.found[:len(cmd.Keys)]
	s.found = found
	inMemory := s.GetAll(c.reader(cmd), cmd.Keys, found) == len(found)
	switch {
	case asks && !inMemory:
		return t.write(cmd)
	case !inMemory:
		// Slow path: the database, for this and for all reads that have come behind it.
		t.begin()
		t.gather(cmd)
		return true
	}
	if cmd.Op == memcache.MetaGet && c.leaseDue(s.Live, cmd, &found[0], s.Began) {
		return t.write(cmd)
	}
	s.Count(found)
	add(&s.absent, absent(found))
	before, at := len(t.out), 0
	switch t.out, at = c.render(t.out, cmd, found, false, 0); at {
	case whole:
	case ends:
		t.next = eventloop.Close
	default:
		r := t.readOf(cmd.Clone(), true)
		r.Found, r.At = slices.Clone(found), at
		if t.next = eventloop.Again; !c.Owe(r) {
			t.next = eventloop.More
			t.out = memcache.AppendLine(t.out[:before], tooMuch)
		}
	}
	if s.Access.On() {
		s.LogHit(&c.Session, cmd.Op.String(), cmd.Keys, found)
	}
	return true
}
