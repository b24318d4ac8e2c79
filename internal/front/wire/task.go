package wirefront

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/workers"
)

// A task is a request that is not answered at once.
type task struct {
	c          *conn
	opaque, id uint64
	began      time.Time
	until      time.Time // the zero Time: the request has no deadline
	res        *resource.Resource
	options    resource.Options
	key        row.Key
	keys       []row.Key // of a GetMulti
	match      string    // IfNoneMatch of a Get
	isWrite    bool

	// What the access log says of the answer; guarded by c.mu.
	cache string
	bytes int

	claimed int64 // room for its answer; of who works for it

	done   bool // answered, or nobody wants the answer; guarded by c.mu
	cancel context.CancelFunc
	timer  *time.Timer // of the deadline; guarded by c.mu
}

// milliseconds returns a number of milliseconds as a duration.
func milliseconds(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }

// newTask makes a task of a request. c.mu is held.
func (c *conn) newTask(e *gofast.Event, res *resource.Resource) *task {
	t := &task{c: c, opaque: e.Opaque, id: e.ID, began: time.Now(), res: res}
	if e.Deadline > 0 {
		t.until = t.began.Add(e.Deadline)
	}
	c.tasks++
	_ = c.session.SetUser(t.opaque, t) // it is the request that Next has told of
	return t
}

// addKeys counts the keys of tasks, and reads on when there are few again. c.mu is held.
func (c *conn) addKeys(n int) {
	c.keys += n
	if c.full && c.keys <= front.ParkedKeys/2 {
		c.full = false
		c.lc.Resume(nil)
	}
}

// abandon says that nobody wants the answer. c.mu is held.
func (t *task) abandon() {
	if t.done {
		return
	}
	t.done = true
	t.c.tasks--
	t.c.addKeys(-len(t.keys))
	if t.cancel != nil && !t.isWrite {
		t.cancel()
	}
	if t.timer != nil {
		t.timer.Stop()
	}
}

// expire answers a task whose deadline has passed. A write goes on: see
// conn.canceled.
func (t *task) expire() {
	t.fault(&fault{kind: kindDeadline})
}

// run runs a task in a goroutine of its own, until its deadline, as soon as there is
// room for an answer of so many bytes. c.mu is held.
func (c *conn) run(o *Options, t *task, size int64, work func(context.Context)) {
	limit := o.ReadTimeout
	parent := c.f.ctx
	if t.isWrite {
		limit, parent = o.WriteTimeout, context.WithoutCancel(parent)
	}
	ctx, cancel := context.WithTimeout(parent, limit)
	t.cancel = cancel
	c.admit(size, []*task{t}, cancel, func() {
		if !t.over() {
			work(ctx)
		}
	})
}

// admit does the work of tasks, for which it claims room for answers of so many bytes,
// in a goroutine, and then calls end. c.mu is held.
func (c *conn) admit(size int64, list []*task, end context.CancelFunc, work func()) {
	for _, t := range list {
		if !t.until.IsZero() {
			t.timer = time.AfterFunc(time.Until(t.until), t.expire)
		}
	}
	list[0].claimed = size // for all of them
	start := func() bool {
		return c.f.start(func() {
			defer end()
			defer func() { c.peer.Add(-list[0].claimed) }()
			defer c.f.recovered(list...)
			work()
		})
	}
	refuse := func() {
		end()
		for _, t := range list {
			t.fault(&fault{kind: kindUnread, after: time.Second})
		}
	}
	// When it is granted later and the front is closed, so are its connections.
	if _, ok := c.peer.Reserve(size, func() { start() }, refuse); !ok || start() {
		return
	}
	end()
	c.peer.Add(-size)
	for _, t := range list {
		t.abandon()
		c.refuse(t.opaque, t.id, &fault{kind: kindDraining})
	}
}

// over reports whether nobody wants the answer any more.
func (t *task) over() bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return t.done
}

// recovered answers tasks whose work has panicked: a bug of ours that must not
// take the process with it.
func (f *Front) recovered(list ...*task) {
	v := recover()
	if v == nil {
		return
	}
	_ = workers.Caught(f.live.Load().Log, "answer a message", v)
	for _, t := range list {
		t.fault(&fault{kind: kindInternal})
	}
}

// launch loads what the Step could not answer, together what goes together.
// c.mu is held.
func (c *conn) launch(o *Options) {
	for len(c.batch) > 0 {
		first := c.batch[0]
		together, rest := c.batch[:0:0], c.batch[:0]
		for _, t := range c.batch {
			if t.res == first.res && t.options == first.options {
				together = append(together, t)
			} else {
				rest = append(rest, t)
			}
		}
		c.batch = rest
		if len(together) == 1 {
			c.run(o, first, c.f.estimate(o, first.res, 1), first.load)
			continue
		}
		c.runBatch(o, together)
	}
	c.batch = nil
}

// runBatch loads several documents with one read. c.mu is held.
func (c *conn) runBatch(o *Options, list []*task) {
	ctx, cancel := context.WithTimeout(c.f.ctx, o.ReadTimeout)
	c.f.stats.batches.Add(1)
	c.admit(c.f.estimate(o, list[0].res, len(list)), list, cancel, func() { loadBatch(ctx, list) })
}

// estimate returns how large the answer with so many documents may become.
func (f *Front) estimate(o *Options, res *resource.Resource, documents int) int64 {
	return f.unsent.Estimate(res.Name(), documents, o.MaxList)
}

// learn notes how large documents of the task's resource are.
func (t *task) learn(documents, bytes int) {
	t.c.f.unsent.Learn(t.resourceName(), documents, bytes)
}

// loadBatch answers tasks that ask the same of one resource.
func loadBatch(ctx context.Context, list []*task) {
	keys := make([]row.Key, len(list))
	for i, t := range list {
		keys[i] = t.key
	}
	answers := list[0].res.Load(ctx, keys, list[0].options)
	for i, t := range list {
		t.found(&answers[i])
	}
}

// load answers a Get.
func (t *task) load(ctx context.Context) {
	a, _ := t.res.Get(ctx, t.key, t.options)
	t.found(&a)
}

// found answers a Get with what was found, or why nothing was.
func (t *task) found(a *resource.Answer) {
	if a.Err != nil {
		t.fault(t.logged(a.Err))
		return
	}
	out := answerOf(a, string(t.key))
	if out.State == rows.Found && t.match == out.ETag {
		out.State, out.Body = rows.NotModified, nil
	}
	payload := out.Append(nil)
	t.learn(1, len(payload))
	t.answer(statusOf(out.State), payload, cacheWords[out.Origin])
}

// answerOf returns an answer as it travels. asked is the key of the request.
func answerOf(a *resource.Answer, asked string) rows.Answer {
	out := rows.Answer{Origin: origins[a.Origin], Lag: millis(a.Lag)}
	if string(a.Key) != asked {
		out.Key = string(a.Key)
	}
	if !a.Token.IsZero() {
		out.Position = string(a.Token.AppendSince(nil))
	}
	if a.Doc.Absent() {
		out.State = rows.Absent
		return out
	}
	out.ETag, out.Body = a.Doc.ETag(), a.Doc.Body()
	return out
}

// origins are the origins of answers as they travel.
var origins = [...]rows.Origin{
	resource.HitMemory: rows.HitMemory, resource.Stored: rows.Stored,
	resource.Unstored: rows.Unstored, resource.Collapsed: rows.Collapsed,
	resource.Requested: rows.Requested, resource.HitStale: rows.Stale,
	resource.Bypassed: rows.Bypassed, resource.HitDisk: rows.HitDisk,
}

// answerHead is what an answer has besides its body, about: position, entity tag.
const answerHead = 96

// loadMany answers a GetMulti.
func (t *task) loadMany(ctx context.Context) {
	answers := t.res.Load(ctx, t.keys, t.options)
	size := 0
	for i := range answers {
		if err := answers[i].Err; err != nil {
			t.fault(t.logged(err))
			return
		}
		if d := answers[i].Doc; !d.Absent() {
			size += len(d.Body())
		}
	}
	t.learn(len(answers), size)
	if size > t.c.f.live.Load().MaxList {
		t.fault(fail(kindTooLarge, "the documents together are too large"))
		return
	}
	b := make([]byte, 0, size+len(answers)*answerHead)
	b = rows.AppendAnswersHead(b, len(answers))
	for i := range answers {
		a := answerOf(&answers[i], string(t.keys[i]))
		b = a.Append(b)
	}
	t.answer(rows.OK, b, "")
}

// logged returns what the peer is told of err. What it is not told is logged, at
// most ten times a second: an outage must not become an outage of the log.
func (t *task) logged(err error) *fault {
	f := faultOf(err)
	if f.logged && t.c.f.logLimit.Allow(time.Now()) {
		t.c.f.live.Load().Log.Error("request failed", "proto", "wire", "id", t.id,
			"resource", t.res.Name(), "err", err)
	}
	return f
}

// answer ends the task with a payload, which came from where cache says. It is called
// by those who work for the task: the room that they have claimed becomes the answer's.
func (t *task) answer(status rows.Status, payload []byte, cache string) {
	t.end(gofast.OK, func(c *conn) {
		t.bytes, t.cache = len(payload), cache
		var prefix []byte
		if c.session.Legacy() {
			prefix = rows.AppendStatus(nil, status)
		}
		c.respond(t.opaque, t.id, prefix, payload)
	})
	t.c.peer.Add(-t.claimed) // the connection counts it from now on
	t.claimed = 0
}

// fault ends the task with a failure.
func (t *task) fault(f *fault) {
	t.end(f.kind.code, func(c *conn) { c.refuse(t.opaque, t.id, f) })
}

// end ends the task, unless it has ended.
func (t *task) end(code gofast.Code, say func(*conn)) {
	c := t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.done || c.ended {
		return
	}
	t.abandon()
	say(c)
	c.flush()
	c.f.stats.Observe(t.resourceName(), code, time.Since(t.began))
	t.log(code)
}

// resourceName returns the name under which the task is counted.
func (t *task) resourceName() string {
	if t.res == nil {
		return ""
	}
	return t.res.Name()
}
