package respfront

import (
	"bytes"
	"context"
	"runtime/debug"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// What one batch is for at most.
const (
	batchKeys  = kv.MaxMisses
	batchBytes = 256 << 10
)

// A batch is the reads of one pipeline that wait for the database, and what is replied
// between them. It has memory of its own.
type batch struct {
	units  []*unit
	misses []kv.Miss
	keys   int
	bytes  int
	tail   []byte // replied behind the last unit
}

// A unit is one read, with what is replied before it.
type unit struct {
	before []byte
	cmd    *command
	args   [][]byte
	found  []kv.Found
}

// begin begins a batch: replies go to it from now on.
func (t *turn) begin() {
	t.batch = new(batch)
	t.step, t.out = t.out, nil
}

func (b *batch) full() bool { return b.keys >= batchKeys || b.bytes >= batchBytes }

// gather adds a read to the batch. What memory has is taken now.
func (t *turn) gather(cmd *command, args [][]byte) {
	b, track := t.batch, t.c.tracks()
	t.c.reads(cmd, args)
	u := &unit{before: t.out, cmd: cmd, args: cloned(args)}
	t.out = nil
	u.found = make([]kv.Found, cmd.keys(args))
	for i := range u.found {
		key := args[cmd.first+i*cmd.by]
		if !t.s.Get(&t.c.who, key, track, &u.found[i]) {
			b.misses = append(b.misses, t.s.Miss(key, &u.found[i]))
		} else if d := u.found[i].Doc; d != nil {
			b.bytes += len(d.Body())
		}
	}
	b.keys += len(u.found)
	b.units = append(b.units, u)
}

// cloned returns arguments in memory of their own.
func cloned(args [][]byte) [][]byte {
	size := 0
	for _, a := range args {
		size += len(a)
	}
	room, list := make([]byte, 0, size), make([][]byte, len(args))
	for i, a := range args {
		at := len(room)
		room = append(room, a...)
		list[i] = room[at:len(room):len(room)]
	}
	return list
}

// launch loads what the batch misses, in a goroutine that then resumes the connection,
// and returns the output of Step. Without misses it replies at once.
func (t *turn) launch() []byte {
	b, c, f := t.batch, t.c, t.c.f
	b.tail, t.batch = t.out, nil
	if len(b.misses) == 0 {
		t.next = lane.Flush // there may be more commands
		t.known(b)
		return b.reply(c, t.s.live, t.step)
	}
	live, began := t.s.live, time.Now()
	var loose []string // found before the connection is resumed: then it is its owner's
	c.work(f.store.Size(b.misses), func(ctx context.Context) ([]byte, lane.Next) {
		f.store.Load(ctx, b.misses)
		out := b.reply(c, live, nil)
		b.log(c, began)
		loose = b.loose(c)
		return out, lane.More
	}, func() { c.tellLoose(loose) })
	return t.step
}

// reply appends the replies of a batch whose documents are there.
func (b *batch) reply(c *conn, o *Options, out []byte) []byte {
	for _, u := range b.units {
		out = append(out, u.before...)
		out = c.render(o, out, u.cmd, u.args, u.found)
	}
	return append(out, b.tail...)
}

// known ends the reads of a batch that memory has answered: what is told of them from now
// on lands behind their replies.
func (t *turn) known(b *batch) {
	c := t.c
	if c.track.client == nil {
		return
	}
	c.mu.Lock()
	c.track.under, c.track.underAll = nil, false
	c.mu.Unlock()
	t.loose = append(t.loose, b.loose(c)...)
}

// loose returns the keys of a batch that nobody may keep.
func (b *batch) loose(c *conn) (list []string) {
	for _, u := range b.units {
		list = c.loose(list, u.cmd, u.args, u.found)
	}
	return list
}

// work runs what the connection is parked for as soon as there is room for an answer of
// so many bytes, and resumes it with what that returns.
func (c *conn) work(
	size int64, run func(context.Context) ([]byte, lane.Next), done func(),
) {
	start := func() {
		ok := c.f.store.Go(func(ctx context.Context) {
			out, next := c.guarded(ctx, run)
			c.held += int64(len(out))
			c.peer.Add(int64(len(out)) - size)
			c.resume(out, next)
			done()
		})
		if !ok {
			c.peer.Add(-size)
			c.resume(nil, lane.Close)
		}
	}
	refuse := func() {
		c.resume(resp.AppendError(nil, "UNAVAILABLE too many answers wait for their clients "+
			"to read them"), lane.Close)
	}
	// When it is granted later and the store is closed, so are its connections.
	if _, ok := c.peer.Claim(size, start, refuse); ok {
		start()
	}
}

// guarded runs f, and makes of a panic, a bug that must not take the process with it, the
// end of the connection: nobody knows how many replies were made.
func (c *conn) guarded(
	ctx context.Context, f func(context.Context) ([]byte, lane.Next),
) (out []byte, next lane.Next) {
	defer func() {
		if v := recover(); v != nil {
			c.f.store.Live().Log.Error("command panicked", "panic", v, "stack",
				string(debug.Stack()))
			out, next = resp.AppendError(nil, internalError), lane.Close
		}
	}()
	return f(ctx)
}

// park has a command answered by a goroutine. It reports false when there is a batch that
// comes first.
func (t *turn) park(cmd *command, args [][]byte) bool {
	if t.batch != nil {
		return false
	}
	c, s, own, live := t.c, t.s, cloned(args), t.s.live
	quiet := !c.replies()
	c.last.Store(cmd)
	t.next = lane.Parked
	c.work(s.estimate(cmd), func(ctx context.Context) ([]byte, lane.Next) {
		out, next := cmd.later(ctx, c, live, own)
		if quiet {
			out = nil
		}
		return out, next
	}, func() {})
	return true
}

// estimate returns how large the reply of a command may become that is not a read of
// documents by their keys.
func (s *scope) estimate(cmd *command) int64 { return 64 << 10 }

// log writes the line of a command that was answered from memory.
func (t *turn) log(cmd *command, args [][]byte, found []kv.Found) {
	t.s.path = appendPath(t.s.path[:0], cmd, args)
	line := front.AccessLine{
		Peer: t.c.addr, Method: cmd.upper, Path: alias(t.s.path), Bytes: sizeOf(found),
		Cache: "hit", Resource: resourceOf(found), Principal: t.c.principal(),
	}
	t.s.Log(&line)
}

// log writes the lines of a batch.
func (b *batch) log(c *conn, began time.Time) {
	o := c.f.store.Live()
	if o.Access == nil || !o.Access.On() {
		return
	}
	took := time.Since(began)
	for _, u := range b.units {
		failed := ""
		for i := range u.found {
			if code := kv.CodeOf(u.found[i].Err); code != "" {
				failed = code
			}
		}
		line := front.AccessLine{
			Peer: c.addr, Method: u.cmd.upper, Path: string(appendPath(nil, u.cmd, u.args)),
			Bytes: sizeOf(u.found), Cache: "miss", Resource: resourceOf(u.found),
			Principal: c.principal(),
		}
		if failed != "" {
			line.Cache = failed
		}
		o.Access.Record(began, took, failed != "" || took >= front.Slow, line.Fill)
	}
}

// longestPath is what a line shows of the keys, and is read of many.
const longestPath = 1024

// appendPath appends the keys of a command with blanks between them.
func appendPath(dst []byte, cmd *command, args [][]byte) []byte {
	for i := range cmd.keys(args) {
		if i > 0 {
			dst = append(dst, ' ')
		}
		key := args[cmd.first+i*cmd.by]
		if dst = append(dst, key[:min(len(key), longestPath)]...); len(dst) > longestPath {
			break
		}
	}
	return dst
}

func sizeOf(found []kv.Found) (sum int) {
	for i := range found {
		if d := found[i].Doc; d != nil {
			sum += len(d.Body())
		}
	}
	return sum
}

func resourceOf(found []kv.Found) string {
	if len(found) == 0 || found[0].Res == nil {
		return ""
	}
	return found[0].Res.Name()
}

// lower returns a command's name in lower case, as far as it may be one.
func lower(name []byte) string {
	return string(bytes.ToLower(name[:min(len(name), longestName)]))
}
