package sqlfront

import (
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// An observer sees which statements a session runs, and how long their groups take. Its track's
// lock guards it. nil sees nothing: a session for replication runs no statements of that sort.
type observer struct {
	shapes *shapes

	prepared map[string]*shape // by name; a name that it does not know is nil
	portals  map[string]*shape
	running  []*shape // that the group which the client sends has run

	groups  []timed // that wait for their end
	untimed int     // more of them, behind those
	ready   time.Time
}

// fewGroups is for how many groups an idle session has memory.
const fewGroups = 4

// A timed is a group on its way.
type timed struct {
	sent time.Time
	one  *shape   // the only statement; nil: there are others, or none
	more []*shape // the statements
}

// want returns how much of the body of a client's message is of use.
func (o *observer) want(kind byte) uint32 {
	switch kind {
	case msgQuery, msgParse:
		return front.SQLText
	case msgBind, msgExecute, msgClose:
		return front.SQLNames
	}
	return 0
}

// message sees a message of a client. within says that the session is in a transaction.
func (o *observer) message(kind byte, body []byte, within bool) {
	switch kind {
	case msgQuery:
		if t, ok := texts(body, 1); ok {
			o.run(o.shapes.of(t[0]), within)
		} else {
			o.run(o.shapes.tooLong(), within)
		}
		delete(o.prepared, "")
	case msgParse:
		o.parse(body)
	case msgBind:
		if t, ok := texts(body, 2); ok {
			note(&o.portals, string(t[0]), o.prepared[string(t[1])])
		}
	case msgExecute:
		if t, ok := texts(body, 1); ok {
			o.run(o.portals[string(t[0])], within)
		}
	case msgClose:
		if t, ok := texts(body, 1); ok && len(t[0]) > 0 {
			if name := string(t[0][1:]); t[0][0] == 'S' {
				delete(o.prepared, name)
			} else {
				delete(o.portals, name)
			}
		}
	}
}

func (o *observer) parse(body []byte) {
	t, ok := texts(body, 2)
	if !ok {
		if t, ok = texts(body, 1); ok {
			note(&o.prepared, string(t[0]), o.shapes.tooLong())
		}
		return
	}
	note(&o.prepared, string(t[0]), o.shapes.of(t[1]))
}

// note has a name stand for a shape. What is beyond the bound stands for nothing.
func note(names *map[string]*shape, name string, one *shape) {
	if *names == nil {
		*names = make(map[string]*shape)
	}
	if _, known := (*names)[name]; known || len(*names) < front.SQLNamesKept {
		(*names)[name] = one
	}
}

// run counts a statement; nil: nobody knows which.
func (o *observer) run(one *shape, within bool) {
	if one == nil {
		return
	}
	one.count.Add(1)
	if within {
		one.within.Add(1)
	}
	if len(o.running) < front.SQLGroups {
		o.running = append(o.running, one)
	}
}

// sent notes that the client has sent a group whole.
func (o *observer) sent() {
	if o.untimed > 0 || len(o.groups) >= front.SQLGroups {
		o.untimed++
	} else {
		g := timed{sent: time.Now()}
		if len(o.running) == 1 {
			g.one = o.running[0]
		} else if len(o.running) > 1 {
			g.more = append(g.more, o.running...)
		}
		o.groups = append(o.groups, g)
	}
	o.running = o.running[:0]
}

// again notes that the last group which was sent goes on: its Sync was for nothing.
func (o *observer) again() {
	if o.untimed > 0 {
		o.untimed--
		return
	}
	if last := len(o.groups) - 1; last >= 0 {
		if g := o.groups[last]; g.one != nil {
			o.running = append(o.running, g.one)
		} else {
			o.running = append(o.running, g.more...)
		}
		o.groups = o.groups[:last]
	}
}

// answered notes the end of the oldest group. The time of those before is not its own, and its
// statements share what is.
func (o *observer) answered(idle bool) {
	if idle {
		clear(o.portals) // they end with their transaction
	}
	if len(o.groups) == 0 {
		o.untimed = max(o.untimed-1, 0)
		return
	}
	g := o.groups[0]
	copy(o.groups, o.groups[1:])
	o.groups[len(o.groups)-1] = timed{}
	if o.groups = o.groups[:len(o.groups)-1]; len(o.groups) == 0 && cap(o.groups) > fewGroups {
		o.groups, o.running = nil, nil // an idle session is small
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
}
