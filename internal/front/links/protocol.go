package linksfront

import (
	"bytes"
	"net/netip"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A Protocol redirects on the connection's own loop, and hands over what is no
// redirect.
//
// A hit is: parse, fold the code, look up, record, append. It takes no lock of
// ours, makes no system call and allocates nothing.
type Protocol struct{ f *Front }

// peer is what the event loop remembers of one connection.
type peer struct {
	ip   netip.Addr
	gap  http1.Gap
	host []byte    // the last Host that was allowed
	by   *settings // that allowed it
	addr string    // for the access log; made when it is needed
}

// Open makes the state of a connection; the server speaks second.
func (l *Protocol) Open(c *eventloop.Conn, out []byte) []byte {
	c.Data = &peer{ip: peerAddr(c.RemoteAddr())}
	return out
}

// Tick does nothing: HTTP/1.1 has nothing to say by itself.
func (l *Protocol) Tick(_ *eventloop.Conn, out []byte) ([]byte, eventloop.Next) {
	return out, eventloop.More
}

// Step answers the requests at the front of in.
func (l *Protocol) Step(c *eventloop.Conn, in, out []byte) (int, []byte, eventloop.Next) {
	s := c.Scope().(*scope)
	n, out, next := l.step(c, s, in, out)
	if s.x.writer != nil {
		s.x.writer.Commit() // waits only if answers must not go before the disk has their hits
	}
	return n, out, next
}

// step answers the requests in in.
func (l *Protocol) step(c *eventloop.Conn, s *scope, in, out []byte) (int, []byte, eventloop.Next) {
	p := c.Data.(*peer)
	n := 0
	for n < len(in) {
		skip, gap := p.gap.Skip(in[n:])
		if gap == http1.NeedMore {
			return n, out, eventloop.More
		}
		n += skip
		length, verdict := s.req.Parse(in[n:])
		switch verdict {
		case http1.Complete:
		case http1.NeedMore:
			return n, out, eventloop.More
		case http1.HandOver:
			return n, out, eventloop.HandOver
		default:
			refused := http1.AppendRefusal(out, verdict, s.x.now, "")
			s.logRefusal(c, refused[len(out):])
			return len(in), refused, eventloop.Close
		}
		closing := s.req.Close || c.Draining()
		head := in[n : n+length]
		grown, where := s.answer(c, head, out, closing)
		switch where {
		case withOthers:
			return n, out, eventloop.HandOver
		case inDatabase, inQuestions:
			s.park(c, head)
			return n + length, out, eventloop.Parked
		}
		if s.Access.On() {
			s.logHit(c, grown[len(out):])
		}
		s.Touch(&s.answered)
		out, n = grown, n+length
		switch {
		case closing:
			return n, out, eventloop.Close
		case len(out) >= eventloop.FlushSize:
			return n, out, eventloop.Flush
		}
	}
	return n, out, eventloop.More
}

// A scope is what the connections of one loop share. The loop is its one
// writer; counters are read by others.
type scope struct {
	f      *Front
	x      exchange
	req    http1.Request
	counts counts
	links  *resource.Resource // whose hits tally counts
	tally  *resource.Tally
	second int64
	date   []byte

	front.Turn
	answered front.Timed
}

// newScope makes the state of a loop.
func (f *Front) newScope() eventloop.Scope {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &scope{f: f}
	s.x = exchange{f: f, req: &s.req, counts: &s.counts, writer: f.newWriter()}
	f.scopes = append(f.scopes, s)
	return s
}

// BeginTurn begins a wake-up of the loop: what the gates and the clock say is asked
// once, and before the first look-up.
func (s *scope) BeginTurn(now time.Time) {
	s.x.o = s.f.live.Load()
	if s.links != s.x.o.links {
		s.links = s.x.o.links
		s.tally = s.links.Tally()
	}
	s.x.now = now
	s.Begin(now, s.f.Access)
	if sec := now.Unix(); sec != s.second {
		s.second = sec
		s.date = http1.AppendDate(s.date[:0], now)
	}
	s.x.date = s.date
}

// answer appends the answer to the request that was parsed last, if memory has
// it.
func (s *scope) answer(
	c *eventloop.Conn, head, out []byte, closing bool,
) ([]byte, place) {
	x := &s.x
	if !s.hostAllowed(c) {
		return out, withOthers
	}
	x.asked.parse(s.req.Path, x.o.Fold)
	if x.asked.kind == elsewhere {
		return out, withOthers
	}
	if x.asked.kind == maybe {
		return out, inQuestions
	}
	x.closing = closing
	x.peer = c.Data.(*peer).ip
	x.head = head
	if x.asked.kind == invalid {
		return x.miss(out)
	}
	key := row.Key(row.Alias(x.asked.code))
	s.Snapshot.Reuse()
	// Better stale, and flagged as such, than late.
	doc, state, _ := x.o.links.Lookup(key, row.FormatPrepared, &s.Snapshot)
	switch {
	case state == resource.Miss:
		return out, inDatabase
	case doc.Absent() && x.asked.kind == deeper:
		return out, inQuestions
	}
	s.tally.Answered(state)
	x.stale = state == resource.Stale
	if doc.Absent() {
		return x.miss(out)
	}
	p := prepared(doc.Body())
	if x.asked.kind == deeper && p.flags()&passesPath == 0 {
		return out, inQuestions
	}
	return x.redirect(out, p, x.asked.rest)
}

// hostAllowed reports whether the Host is one that the connection has been
// allowed before, or may be.
func (s *scope) hostAllowed(c *eventloop.Conn) bool {
	p, host := c.Data.(*peer), s.req.Host
	if p.by == s.x.o && bytes.Equal(p.host, host) {
		return true
	}
	if len(host) == 0 || len(host) > front.HostBytes ||
		!s.x.o.hosts.Allow(string(host), c.LocalAddr()) {
		return false // net/http says why
	}
	p.host, p.by = append(p.host[:0], host...), s.x.o
	return true
}
