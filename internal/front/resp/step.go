package respfront

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// A turn is one call of Step: where its replies go, and what is next.
type turn struct {
	c           *conn
	s           *scope
	out         []byte    // where replies go: the output of Step or, while there is a batch, its
	batch       *kv.Batch // reads that wait for the database; nil: none
	step        []byte    // the output of Step while there is a batch
	next        eventloop.Next
	within      bool     // the output of Step ends within a transaction
	uncacheable []string // keys whose answers no feed follows
}

// Step answers the commands at the front of in.
func (f *Front) Step(lc *eventloop.Conn, in, out []byte) (int, []byte, eventloop.Next) {
	c, s := lc.Data.(*conn), lc.Scope().(*scope)
	if c.kill.Load() {
		return len(in), out, eventloop.Close
	}
	if now := s.Began.Unix(); c.used.Load() != now {
		c.used.Store(now)
	}
	t := &s.turn
	*t = turn{c: c, s: s, out: out}
	n := 0
	if c.Unfinished() || len(c.exec) > 0 {
		t.goOn()
	} else {
		n = t.run(in)
	}
	if out = t.out; t.batch != nil {
		out = t.launch()
	}
	if t.next != eventloop.Parked && len(c.uncacheable) > 0 {
		t.uncacheable, c.uncacheable = append(t.uncacheable, c.uncacheable...), nil
	}
	c.invalidateUncacheable(t.uncacheable)
	next := t.next
	s.get[1] = nil
	*t = turn{} // what is on the event loop's buffers must not be kept
	clear(s.found)
	s.found = s.found[:0]
	return n, out, next
}

// plain reports whether a GET needs no more than to be read.
func (t *turn) plain() bool {
	c := t.c
	return c.multi == nil && c.reply == replyOn && !c.track.caching && t.batch == nil &&
		(c.v == resp.V3 || c.subs.count() == 0) &&
		(!t.s.live.HasTokens() || !c.MustAuth(t.s.Scope))
}

// gets answers the GETs at the front of in, and returns how many bytes it has consumed.
func (t *turn) gets(in []byte) (n int) {
	if !t.plain() {
		return 0
	}
	for t.next == eventloop.More && t.batch == nil {
		keys, ends := t.s.keys[:0], t.s.ends[:0]
		for at := n; at < len(in) && len(keys) < kv.Together; {
			key, used := resp.Get(in[at:])
			if used == 0 {
				break
			}
			at += used
			keys, ends = append(keys, key), append(ends, at)
		}
		if len(keys) == 0 {
			return n
		}
		n = ends[t.getAll(keys)-1]
		clear(keys)
	}
	return n
}

// getAll answers GETs of keys, and returns how many: at least one. The others are looked at
// again.
func (t *turn) getAll(keys [][]byte) int {
	s, get := t.s, t.c.f.get
	found := s.room(len(keys))
	hits := s.GetAll(t.c.reader(get), keys, found)
	for i := range hits {
		s.commands.Store(s.commands.Load() + 1)
		s.get[1] = keys[i]
		t.reply(get, s.get[:], keys[i:i+1], found[i:i+1])
		if t.next == eventloop.More && len(t.out) >= eventloop.FlushSize {
			t.next = eventloop.Flush
		}
		if t.next != eventloop.More {
			return i + 1
		}
	}
	if hits == len(keys) {
		return hits
	}
	s.commands.Store(s.commands.Load() + 1)
	s.get[1] = keys[hits]
	t.miss(get, s.get[:])
	return hits + 1
}

// Prefetch implements eventloop.Prefetcher: the rows that the first commands of several
// connections ask for are on their way from main memory while those are parsed.
func (f *Front) Prefetch(of eventloop.Scope, inputs [][]byte) {
	s := of.(*scope)
	keys := s.keys[:0]
	for _, in := range inputs[:min(len(inputs), kv.Together)] {
		if key, used := resp.Get(in); used > 0 {
			keys = append(keys, key)
		}
	}
	s.Scope.Prefetch(keys)
	clear(keys)
}

// run goes over the commands and returns how many bytes it has consumed.
func (t *turn) run(in []byte) (n int) {
	c, s := t.c, t.s
	for n < len(in) && t.next == eventloop.More {
		// Fast path: what most commands are.
		if t.batch == nil {
			if n += t.gets(in[n:]); n == len(in) || t.next != eventloop.More {
				return n
			}
		}
		limits := &c.f.limits
		if !c.Local && c.MustAuth(s.Scope) {
			limits = &c.f.strict
		}
		args, used, want, err := resp.Next(in[n:], s.args[:0], limits)
		if in[n] == 0x16 && n+1 < len(in) && in[n+1] == 0x03 {
			used, err = 0, errTLS
		}
		s.args = args[:0]
		switch {
		case err != nil && t.batch != nil:
			return n // its replies come first
		case err != nil:
			t.broken(err)
			return len(in)
		case used == 0:
			c.Conn.Want(want)
			return n
		}
		switch {
		case len(args) == 0:
		case in[n] != '*' && isAttack(args):
			t.next = eventloop.Close
			t.foreign("an HTTP request")
		case !t.command(args):
			return n
		}
		n += used
		if len(c.exec) > 0 {
			t.execute()
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

// errTLS is what the first bytes of a TLS handshake are.
var errTLS = errors.New("a TLS handshake")

// broken ends a connection whose peer does not speak the protocol.
func (t *turn) broken(err error) {
	t.next = eventloop.Close
	t.c.f.stats.broken.Add(1)
	if err == errTLS {
		t.foreign("a TLS handshake, and the listener does not speak TLS")
		return
	}
	t.out = resp.AppendError(t.out, "ERR "+err.Error())
}

// command answers one command, or sees to it that it is answered. It reports false when
// the command must wait until those before it are answered.
func (t *turn) command(args [][]byte) bool {
	before := t.c.reply
	ok := t.dispatch(args)
	if ok && before == replySkip && t.c.reply == replySkip {
		t.c.reply = replyOn
	}
	c := t.c
	if ok && c.track.caching && c.multi == nil && !bytes.EqualFold(args[0], []byte("client")) {
		c.mu.Lock()
		c.track.caching = false // it was for this command
		c.mu.Unlock()
	}
	return ok
}

// dispatch is command without what CLIENT REPLY SKIP says.
func (t *turn) dispatch(args [][]byte) bool {
	c, s := t.c, t.s
	cmd := c.f.commands.find(args)
	if cmd == nil {
		return t.unknown(args)
	}
	s.commands.Store(s.commands.Load() + 1)
	if problem := t.refuses(cmd, args); problem != "" {
		c.multi.spoil()
		t.fail(problem)
		for _, code := range refusals {
			if strings.HasPrefix(problem, code.text) {
				s.LogRefusal(&c.Session, cmd.upper, nil, code.slug)
			}
		}
		return true
	}
	// Fast path: a read.
	if cmd.reads() && c.multi == nil {
		if c.replies() {
			t.read(cmd, args)
		} else {
			t.track(cmd, args)
		}
		return true
	}
	if t.batch != nil && !cmd.batch && (c.multi == nil || cmd.always) {
		return false
	}
	c.last.Store(cmd)
	if c.multi != nil && !cmd.always {
		t.queue(cmd, args)
		return true
	}
	if !c.replies() && cmd.name != "client|reply" {
		return t.unheard(cmd, args)
	}
	if cmd.later != nil {
		return t.park(cmd, args)
	}
	cmd.now(t, args)
	return true
}

// refusals are what errors of commands are called in the access log, where somebody may not do
// something.
var refusals = []struct{ text, slug string }{
	{"NOAUTH ", "unauthorized"}, {"NOPERM ", "forbidden"},
}

// refuses says why a command is not served now, if so.
func (t *turn) refuses(cmd *command, args [][]byte) string {
	c := t.c
	if cmd.arity > 0 && len(args) != cmd.arity || len(args) < -cmd.arity {
		return "ERR wrong number of arguments for '" + cmd.name + "' command"
	}
	if !cmd.noAuth && t.s.live.HasTokens() && c.MustAuth(t.s.Scope) {
		return "NOAUTH Authentication required."
	}
	if c.v == resp.V2 && c.subs.count() > 0 && !cmd.subscribed {
		return "ERR Can't execute '" + cmd.name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / " +
			"PING / QUIT / RESET are allowed in this context"
	}
	if cmd.refuse != "" {
		return cmd.refuse
	}
	if cmd.check != nil {
		return cmd.check(args)
	}
	return ""
}

// unheard does what a command does whose reply the client does not want. Of what only
// reads nothing is left.
func (t *turn) unheard(cmd *command, args [][]byte) bool {
	if cmd.later != nil && !cmd.writes {
		return true
	}
	if cmd.later != nil {
		return t.park(cmd, args)
	}
	kept := len(t.out)
	cmd.now(t, args)
	t.out = t.out[:kept]
	return true
}

// fail replies with an error.
func (t *turn) fail(text string) {
	if t.c.replies() {
		t.out = resp.AppendError(t.out, text)
	}
}

// unknown answers a command that is not served.
func (t *turn) unknown(args [][]byte) bool {
	c := t.c
	name := string(args[0][:min(len(args[0]), 128)])
	c.multi.spoil()
	if container := c.f.commands[lower(args[0])]; container != nil && container.subs != nil {
		if len(args) == 1 {
			t.fail("ERR wrong number of arguments for '" + container.name + "' command")
		} else {
			sub := string(args[1][:min(len(args[1]), 128)])
			t.fail("ERR unknown subcommand '" + sub + "'. Try " + upper(container.name) + " HELP.")
		}
		return true
	}
	text, list := "ERR unknown command '"+name+"', with args beginning with: ", ""
	for _, a := range args[1:] {
		if len(list) >= 128 {
			break
		}
		list += "'" + string(a[:min(len(a), 128-len(list))]) + "' "
	}
	t.fail(text + list)
	return true
}

// isAttack reports whether a browser has been made to send this.
func isAttack(args [][]byte) bool {
	name := args[0]
	if bytes.EqualFold(name, []byte("post")) || bytes.EqualFold(name, []byte("host:")) {
		return true
	}
	last := args[len(args)-1]
	return len(args) > 1 && bytes.HasPrefix(last, []byte("HTTP/1."))
}

// foreign notes that a connection was closed without a word.
func (t *turn) foreign(what string) {
	t.c.Foreign(t.s.Began, "the protocol of Redis", what)
}

// read answers a command from memory, or adds it to the batch.
func (t *turn) read(cmd *command, args [][]byte) {
	c, s := t.c, t.s
	if t.batch != nil {
		t.gather(cmd, args)
		return
	}
	keys := cmd.keys(args)
	found := s.room(len(keys))
	if s.GetAll(c.reader(cmd), keys, found) < len(keys) {
		t.miss(cmd, args)
		return
	}
	t.reply(cmd, args, keys, found)
}

// reader says how the keys of a command are read.
func (c *conn) reader(cmd *command) kv.Reader {
	r := kv.Reader{Who: &c.Who, Track: c.tracks(), As: c.ReadAs}
	if cmd.hash {
		r.As = kv.AsFields
	}
	return r
}

// track notes the keys of a read whose reply the client does not want: it is told of changes
// all the same.
func (t *turn) track(cmd *command, args [][]byte) {
	t.s.Track(t.c.reader(cmd), cmd.keys(args))
}

// room returns room for what is found under so many keys, until the end of Step.
func (s *scope) room(n int) []kv.Found {
	if cap(s.found) < n {
		s.found = make([]kv.Found, 0, max(n, kv.Together))
	}
	s.found = s.found[:max(n, len(s.found))]
	return s.found[:n]
}

// miss has a read wait for the database, and all reads that come behind it.
func (t *turn) miss(cmd *command, args [][]byte) {
	t.begin()
	t.gather(cmd, args)
}

// reply answers a read from memory.
func (t *turn) reply(cmd *command, args, keys [][]byte, found []kv.Found) {
	c, s := t.c, t.s
	s.Count(found)
	before, at := len(t.out), 0
	if t.out, at = c.render(t.out, cmd, args, found, 0); at != whole {
		r := c.readOf(cmd, cloned(args))
		r.Found, r.At = slices.Clone(found), at
		if t.next = eventloop.Again; !c.Owe(r) {
			t.next = eventloop.More
			t.out = resp.AppendError(t.out[:before], tooMuch)
		}
	}
	if c.track.client != nil {
		t.uncacheable = appendUncacheable(t.uncacheable, keys, found)
	}
	if s.Access.On() {
		s.LogHit(&c.Session, cmd.upper, keys, found)
	}
}
