package sqlfront

import (
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/sqlcache"
)

// An observer sees which statements a session runs, how long their groups take, and what memory
// would have done. Its track's lock guards it. nil sees nothing: a session for replication runs no
// statements of that sort.
type observer struct {
	shapes *shapes
	count  *counters
	sample *sampler
	cache  *sqlcache.Cache   // nil: memory is not looked into
	of     *sqlcache.Session // nil, too

	serves bool // memory answers what it can

	holds      bool      // what the client sends is a group, and was not passed on yet
	out        []byte    // what memory answers is appended to it
	fromMemory bool      // it has answered the group
	passedAt   time.Time // when a group was passed on last
	uses       bool      // the last group needs a statement without a name that was prepared before

	off     bool // the server does not tell the state of the session
	names   names
	portals map[string]*prepared
	group   group // that the client sends

	part    uint64  // the count of what the client has sent
	clean   bool    // the present part begins a group, and nothing is under way
	groups  []timed // that wait for their end
	untimed int     // more of them, behind those
	ready   time.Time
}

// fewGroups is for how many groups an idle session has memory.
const fewGroups = 4

// newObserver returns that of a session whose process at the server is named by a key.
func (f *Front) newObserver(key []byte) *observer {
	o := &observer{shapes: f.shapes, count: &f.count, sample: f.sample, cache: f.opts.Load().Cache,
		serves: f.opts.Load().Serve}
	o.serves = o.serves && o.cache != nil
	if o.cache != nil {
		o.of = o.cache.NewSession(processOf(key))
	}
	return o
}

// want returns how much of the body of a client's message is of use.
func (o *observer) want(kind byte) uint32 {
	switch kind {
	case msgQuery, msgParse:
		return front.SQLText
	case msgBind:
		if o.cache != nil {
			return front.SQLBind
		}
		return front.SQLNames
	case msgExecute, msgClose, msgDescribe:
		return front.SQLNames
	}
	return 0
}

// message sees a message of a client.
func (o *observer) message(kind byte, body []byte) {
	g := &o.group
	g.sees(kind)
	switch kind {
	case msgQuery:
		one := new(prepared)
		if t, ok := texts(body, 1); ok {
			one.known = o.shapes.of(t[0])
		} else {
			one.known = o.shapes.tooLong()
		}
		g.query(one)
		o.run(one, "")
		o.names.forget("")
	case msgParse:
		o.parse(body)
	case msgBind:
		o.bind(body)
	case msgDescribe:
		g.describe(o.described(body), body)
	case msgExecute:
		t, ok := texts(body, 1)
		if !ok {
			o.run(nil, "")
			break
		}
		one := o.portals[string(t[0])]
		g.execute(one, string(t[0]), body[len(t[0])+1:])
		o.run(one, string(t[0]))
	case msgClose:
		if t, ok := texts(body, 1); ok && len(t[0]) > 0 {
			if name := string(t[0][1:]); t[0][0] == 'S' {
				g.define(name, nil)
			} else {
				delete(o.portals, name)
			}
		}
	case msgSync, msgFlush, msgTerminate:
	default: // functions, and data of a COPY
		g.passes(sqlcache.WhyText)
		if kind == msgFunction && o.of != nil {
			o.of.DoAnything()
		}
	}
}

// described returns the statement that Describe is about; nil: nobody knows which.
func (o *observer) described(body []byte) *prepared {
	t, ok := texts(body, 1)
	switch {
	case !ok || len(t[0]) == 0:
		return nil
	case t[0][0] == 'S':
		return o.group.find(&o.names, string(t[0][1:]))
	}
	return o.portals[string(t[0][1:])]
}

// parse sees a statement that is prepared.
func (o *observer) parse(body []byte) {
	t, ok := texts(body, 2)
	one := &prepared{number: o.group.number}
	if ok {
		one.known = o.shapes.of(t[1])
		one.setTypes(body[len(t[0])+len(t[1])+2:])
	} else if t, ok = texts(body, 1); ok {
		one.known = o.shapes.tooLong()
	} else {
		o.group.passes(sqlcache.WhyName)
		return
	}
	if len(t[0]) > 0 { // the server may have another of that name
		o.group.passes(sqlcache.WhyName)
	}
	o.group.define(string(t[0]), one)
}

// bind sees values that are bound to a statement.
func (o *observer) bind(body []byte) {
	t, ok := texts(body, 2)
	if !ok {
		o.group.passes(sqlcache.WhyName)
		return
	}
	one := o.group.find(&o.names, string(t[1]))
	if o.portals == nil {
		o.portals = make(map[string]*prepared)
	}
	if _, known := o.portals[string(t[0])]; known || len(o.portals) < front.SQLNamesKept {
		o.portals[string(t[0])] = one
	}
	if o.group.binds == 0 {
		o.group.part = o.part
	}
	o.group.bind(one, string(t[0]), string(t[1]), body[len(t[0])+len(t[1])+2:])
}

// run counts a statement that is run; nil: nobody knows which.
func (o *observer) run(one *prepared, portal string) {
	if o.of != nil {
		reading := sqlcache.Unknown()
		if one != nil {
			reading = one.reading
		}
		for _, name := range o.of.Do(reading, o.group.asked(portal, o.part), o.group.inside) {
			if name == "" {
				o.names.doubt()
			} else {
				o.group.define(name, nil)
			}
		}
		o.group.asks = o.group.asks || one != nil && asksFor(reading)
	}
	if one == nil {
		return
	}
	one.count.Add(1)
	if o.group.within {
		one.within.Add(1)
	}
	if len(o.group.running) < front.SQLGroups {
		o.group.running = append(o.group.running, one.shape)
	}
}

// sent notes that the client has sent a group whole. It returns what asks for the state of the
// session in front of it; nil: nobody does.
func (o *observer) sent() (before []byte) {
	g := timed{sent: time.Now(), defines: o.group.defines, describing: o.group.describing}
	if o.cache != nil {
		before = o.look(&g)
	}
	if o.names.sent(g.defines); o.group.over {
		o.names.doubt()
	}
	o.uses = o.group.uses
	if o.fromMemory {
		clear(o.portals)
		o.group = group{running: o.group.running[:0], describing: o.group.describing[:0]}
		return nil
	}
	if o.of != nil {
		o.of.Sent()
	}
	switch {
	case o.untimed > 0 || len(o.groups) >= front.SQLGroups:
		o.untimed++
		o.names.failed(g.defines) // nobody will see whether it is so
		for _, one := range g.describing {
			if one != nil {
				one.blind = true
			}
		}
	case len(o.group.running) == 1:
		g.one = o.group.running[0]
		o.groups = append(o.groups, g)
	default:
		g.more = append(g.more, o.group.running...)
		o.groups = append(o.groups, g)
	}
	o.group = group{running: o.group.running[:0]}
	return before
}

// again notes that the last group which was sent goes on: its Sync was for nothing.
func (o *observer) again() {
	o.group.passes(sqlcache.WhyText)
	if o.of != nil {
		o.of.Again()
	}
	if o.untimed > 0 {
		o.untimed--
		return
	}
	last := len(o.groups) - 1
	if last < 0 {
		return
	}
	g := o.groups[last]
	if g.look != nil {
		g.look.Drop()
	}
	o.group.defines = g.defines
	if g.one != nil {
		o.group.running = append(o.group.running, g.one)
	} else {
		o.group.running = append(o.group.running, g.more...)
	}
	o.groups = o.groups[:last]
}

// answered notes the end of the oldest group. The time of those before is not its own, and its
// statements share what is.
func (o *observer) answered(idle bool) {
	if idle {
		clear(o.portals) // they end with their transaction
	}
	if o.of != nil {
		defer o.of.Answered(!idle)
	}
	if len(o.groups) == 0 {
		o.untimed = max(o.untimed-1, 0)
		return
	}
	g := o.groups[0]
	copy(o.groups, o.groups[1:])
	o.groups[len(o.groups)-1] = timed{}
	if o.groups = o.groups[:len(o.groups)-1]; len(o.groups) == 0 && cap(o.groups) > fewGroups {
		o.groups, o.group.running = nil, nil // an idle session is small
	}
	now := time.Now()
	if g.sent.Before(o.ready) {
		g.sent = o.ready
	}
	o.ready = now
	took := now.Sub(g.sent)
	if g.one != nil {
		g.one.took.Add(int64(took))
	}
	for _, one := range g.more {
		one.took.Add(int64(took) / int64(len(g.more)))
	}
	if g.failed {
		o.names.failed(g.defines)
	} else {
		o.names.done(g.defines)
	}
	o.learn(&g, idle, took)
}

// lost notes that the session has ended.
func (o *observer) lost() {
	for i := range o.groups {
		if l := o.groups[i].look; l != nil {
			l.Drop()
		}
	}
	o.groups = nil
	if o.of != nil {
		o.of.Lost()
	}
}
