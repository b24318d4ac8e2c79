package sqlcache

import (
	"slices"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/sqlread"
)

// A Session is what is known of one session of a client at the server. Its owner serves its calls
// one after the other.
type Session struct {
	c   *Cache
	pid uint32

	state  *Fingerprint // nil: it was never read
	number uint64       // of the meaning when it was read
	temps  bool         // it may have temporary tables
	unsure bool         // it may be another by now
	doubts uint64       // how often that was said

	sent, answered uint64  // groups
	open           []write // whose answer has not come
	inside         []write // of a transaction that has not ended
	cursor         bool    // one was declared that does anything
	left           bool    // the group may have left its transaction

	look Look // a hit that is being answered with

	floor   int64 // what the session has been shown may be of then
	listens bool  // it hears notifications, which tell what others have done
}

// NewSession returns that of a session which has begun, of a process of the server.
func (c *Cache) NewSession(pid uint32) *Session { return &Session{c: c, pid: pid, unsure: true} }

// Known returns the state of the session; nil: it has to be read.
func (s *Session) Known() *Fingerprint {
	m := s.c.meaning.Load()
	if s.state == nil || m == nil {
		return nil
	}
	if (s.unsure || s.number != m.number) && s.c.broken != noFingerprint {
		return nil
	}
	return s.state
}

// Number returns that of the definitions at present.
func (s *Session) Number() uint64 {
	if m := s.c.meaning.Load(); m != nil {
		return m.number
	}
	return 0
}

// Last returns the state as it was read last.
func (s *Session) Last() *Fingerprint { return s.state }

// Asked says that the state is being read, in front of what is sent next.
func (s *Session) Asked() {
	s.unsure, s.state = false, nil
	if m := s.c.meaning.Load(); m != nil {
		s.number = m.number
	}
}

// Told is called with the answer to Asked.
func (s *Session) Told(f *Fingerprint) { s.state, s.temps = f, f.temps }

// Doubt says that the state may be another from now on.
func (s *Session) Doubt() {
	s.unsure = true
	s.doubts++
}

// Doubts returns how often that was said.
func (s *Session) Doubts() uint64 { return s.doubts }

// Do says that a text is about to be sent to the server, with the values of a; nil: nobody knows
// them. within says that the session is in a transaction for sure. It returns the names of
// statements that may stand for others afterwards; an empty one is all of them.
func (s *Session) Do(r *Reading, a *Ask, within bool) (names []string) {
	m := s.c.recent()
	within = within && !s.left
	for _, e := range r.Effects() {
		doing := e.Doing
		if m == nil || (doing == sqlread.Reads || doing == sqlread.Writes) && m.runsCode(e.Names) {
			doing = sqlread.Anything
		}
		if doing == sqlread.Fetches && s.cursor {
			doing = sqlread.Anything
		}
		switch doing {
		case sqlread.Writes:
			changes, ok := s.changes(m, &e, a)
			if !ok {
				s.anything(within)
				within = false
				continue
			}
			s.writes(write{changes: changes}, within)
		case sqlread.Sets:
			s.Doubt()
		case sqlread.Names:
			names = append(names, e.Prepared.String())
			s.Doubt()
		case sqlread.Commits:
			for _, w := range s.inside {
				s.writes(w, false)
			}
			within, s.left = false, true
		case sqlread.Undoes:
			within, s.left = false, true
		case sqlread.DeclaresAny:
			s.cursor = true
		case sqlread.Anything:
			if e.Unread {
				names = append(names, "")
			}
			s.anything(within)
			within = false
		}
	}
	return names
}

// DoAnything is Do of what is no statement.
func (s *Session) DoAnything() { s.anything(false) }

// anything notes a statement that may do anything.
func (s *Session) anything(within bool) {
	s.Doubt()
	s.temps = true
	w := write{halts: true}
	if within {
		s.writes(w, true)
	}
	s.writes(w, false)
	s.left = true
}

// changes returns what a statement may change, if it runs no code of users. While the state of the
// session is not known a name may be that of a table in any schema.
func (s *Session) changes(m *meaning, e *effect, a *Ask) (list []change, ok bool) {
	f := s.Known()
	if e.Schema.IsEmpty() && s.temps || f != nil && f.Database != m.Database {
		return nil, false
	}
	if f != nil || !e.Schema.IsEmpty() {
		rel := m.find(e.Schema, e.Table, f)
		if rel == nil || !rel.proved {
			return nil, false
		}
		if e.Adds {
			return []change{{table: rel.id, adds: true}}, true
		}
		list = rel.changes()
		if f != nil {
			list[0].keys = s.c.keysOf(m, f, e, a)
		}
		return list, true
	}
	name := e.Table.String()
	for _, byName := range m.bySchema {
		if rel := byName[name]; rel != nil {
			if !rel.proved {
				return nil, false
			}
			list = append(list, rel.changes()...)
		}
	}
	return list, len(list) > 0
}

// changes returns what a change of a row changes along foreign keys, its own table first.
func (r *relation) changes() (list []change) {
	for _, table := range r.writes {
		list = append(list, change{table: table})
	}
	return list
}

// keysOf returns the keys of all rows that a statement changes or removes; nil: nobody knows them,
// or it changes keys.
func (c *Cache) keysOf(m *meaning, f *Fingerprint, e *effect, a *Ask) []string {
	of := c.fresh.Now()
	if e.rows == nil || a == nil || of == nil {
		return nil
	}
	rows := *a
	rows.Reading, rows.Rows, rows.Results = e.rows, 0, nil
	p, why := c.plan(m, f, &rows)
	if why != Looked {
		return nil
	}
	keys, columns := of.Keys(p.rel.id, c.conditions(of, p, f, e.rows.st))
	for _, set := range e.Sets {
		if slices.ContainsFunc(columns, set.Is) {
			return nil
		}
	}
	return keys
}

// writes closes what a statement writes, or notes it until the transaction ends.
func (s *Session) writes(w write, within bool) {
	w.seq, w.since = s.sent+1, resource.Clock()
	if within {
		s.note(w)
		return
	}
	for i := range s.open {
		if s.open[i].covers(&w) {
			return
		}
	}
	s.c.count(&w, 1)
	s.open = append(s.open, w)
}

// note notes what a transaction writes.
func (s *Session) note(w write) {
	for i := range s.inside {
		o := s.inside[i]
		if o.seq = w.seq; o.covers(&w) {
			return
		}
	}
	s.inside = append(s.inside, w)
}

// Sent says that a group has been sent whole.
func (s *Session) Sent() {
	s.sent++
	s.left = false
}

// Again says that the last group goes on.
func (s *Session) Again() { s.sent-- }

// Answered says that the answer to the oldest group has come, and whether the session is in a
// transaction now.
func (s *Session) Answered(within bool) {
	s.answered++
	now := resource.Clock()
	s.floor = now
	left := s.open[:0]
	for _, w := range s.open {
		if w.seq > s.answered {
			left = append(left, w)
			continue
		}
		if within { // it may not have committed yet
			noted := w
			noted.seq = s.answered
			s.note(noted)
		}
		if within && s.answered < s.sent { // what commits it may be on its way
			w.seq = s.sent
			left = append(left, w)
			continue
		}
		w.ended = now
		s.c.lower(w)
	}
	if s.open = left; within {
		return
	}
	s.cursor = false
	still := s.inside[:0]
	for _, w := range s.inside {
		if w.seq > s.answered {
			still = append(still, w)
		}
	}
	s.inside = still
}

// Notified says that the session has been told of a notification.
func (s *Session) Notified() { s.floor, s.listens = resource.Clock(), true }

// Lost says that the session has ended. What it has sent may go on at the server.
func (s *Session) Lost() {
	for _, w := range s.open {
		if w.ended, w.pid = resource.Clock(), s.pid; w.pid != 0 {
			s.c.counts.orphans.Add(1)
		}
		s.c.lower(w)
	}
	s.open, s.inside = nil, nil
}
