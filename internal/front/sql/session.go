package sqlfront

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/workers"
)

// A session is one client's connection, and the server's that belongs to it. A goroutine has both
// until the client has logged in. Then an event loop has them (see relay), or, where there is
// none, two goroutines (see pump.go).
type session struct {
	site  *Site
	from  netip.Addr // of the client
	track track
	ours  []byte // the key by which the client may cancel
	phase phase  // the site's lock guards it

	*legs // nil when an event loop has the session; the site's lock guards that
}

// legs are the connections of a session that goroutines have.
type legs struct {
	conn           eventloop.Borrowed // of the client, as it was accepted
	client, server *leg
	database       net.Conn     // of server; nil: there is none yet; the site's lock guards it
	pumps          atomic.Int32 // goroutines that pass the session on
	writing        sync.Mutex   // held while one of them writes to the client; before the track's
}

// A phase is how far a session has come.
type phase uint8

const (
	starting  phase = iota // it is not known what the client wants
	loggingIn              // it counts as a session
	linked                 // an event loop has it
	open                   // two goroutines have it
)

// close closes both connections. Any goroutine may call it.
func (s *session) close() {
	_ = s.conn.Close()
	s.site.mu.Lock()
	database := s.database
	s.site.mu.Unlock()
	if database != nil {
		_ = database.Close()
	}
}

// run has the session until the client has logged in.
func (s *session) run() {
	passedOn := false
	defer func() {
		_ = workers.Caught(s.site.f.opts.Load().Log, "log a SQL client in", recover())
		if !passedOn {
			s.close()
			s.site.forget(s)
		}
	}()
	limit, cancel := context.WithTimeout(s.site.ctx, front.SQLLogin)
	defer cancel()
	_ = s.conn.SetDeadline(time.Now().Add(front.SQLLogin))
	result, err := s.begin(limit)
	if passedOn = result == loginOpen; passedOn {
		return
	}
	s.site.f.count.logins[result].Add(1)
	if s.client != nil { // it reads what it was told last
		if f := faultOf(err); f != nil {
			s.site.say(f, s)
			_ = s.client.send(f.append(nil))
		}
		s.client.closeWrite()
		s.client.endWithin(front.SQLLinger)
		_, _ = io.CopyN(io.Discard, s.client, front.SQLStartup)
	}
}

// begin takes the session to its first ReadyForQuery, and leaves it to two goroutines then.
func (s *session) begin(ctx context.Context) (loginResult, error) {
	first, err := s.negotiate(ctx)
	switch {
	case err != nil:
		return resultOf(err, loginBroken), err
	case first.code == codeCancel:
		s.site.cancel(ctx, first.cancelKey())
		return loginCancel, nil
	}
	if !s.site.reserve(s) {
		return loginTooMany, &fault{state: stateTooMany,
			text: "there are as many sessions as sql.max_clients allows"}
	}
	if err := s.site.enter(ctx); err != nil {
		return loginTooMany, err
	}
	defer s.site.leaveLogin()
	up, err := s.site.f.opts.Load().Dial(ctx)
	if err != nil {
		s.site.f.sayAway(err)
		return loginAway, &fault{state: stateAway, text: "the database cannot be reached"}
	}
	if !s.site.attach(s, up.Conn) {
		return loginBroken, net.ErrClosed
	}
	_ = up.Conn.SetDeadline(time.Now().Add(front.SQLLogin))
	s.server = newLeg(up.Conn, eventloop.MeterOf(s.conn))
	return s.logIn(first, up)
}

// logIn passes the log-in on.
func (s *session) logIn(first startup, up Upstream) (loginResult, error) {
	if err := s.server.send(first.packet); err != nil {
		return loginAway, &fault{state: stateAway, text: "the database has hung up"}
	}
	r := readers.Get().(*bufio.Reader)
	r.Reset(s.server)
	defer func() {
		r.Reset(nil)
		readers.Put(r)
	}()
	l := &login{client: s.client, server: s.server, r: r, has: up.Certificate,
		local: s.isLocal(), trusted: s.site.f.opts.Load().TrustUpstream}
	if s.client.secured() {
		l.shown = s.site.shown()
	}
	if err := l.run(); err != nil {
		_ = s.server.send(terminate)
		otherwise := loginBroken
		if l.said {
			otherwise = loginRefused
		}
		return resultOf(err, otherwise), err
	}
	if l.key != nil {
		s.ours = l.ours
		s.site.keys.add(l.ours, target{l.key, up.Again})
	}
	behind := make([]byte, r.Buffered())
	_, _ = io.ReadFull(r, behind) // it is there
	if err := s.start(first, behind); err != nil {
		return loginBroken, err
	}
	return loginOpen, nil
}

// start leaves the session to an event loop, or to two goroutines. came is what the server has
// sent behind the log-in.
func (s *session) start(first startup, came []byte) error {
	s.site.f.count.logins[loginOpen].Add(1)
	var o *observer
	if first.parameter("replication") == "" {
		o = s.site.f.newObserver(s.ours)
	}
	s.track.begin(o)
	err := s.link(came)
	if errors.Is(err, eventloop.ErrNoLoop) {
		s.pump(came)
		err = nil
	}
	return err
}

// link leaves the session to the event loop of its client.
func (s *session) link(came []byte) error {
	link := eventloop.Link{Conn: s.client.Conn, Upstream: s.server.Conn, Came: came, Data: s}
	if plain, ok := s.client.Conn.(*begun); ok {
		link.Conn, link.Unread = plain.Borrowed, plain.came
	}
	legs := s.site.setLegs(s, linked, nil)
	err := link.Join() // the loop may have ended the session already
	if err != nil {
		s.site.setLegs(s, loggingIn, legs)
	}
	return err
}

// A side is where a session passes bytes on to. Pass reports false when the peer has gone.
type side interface{ Pass(p []byte) bool }

// forward takes bytes of the client: all of them, or fewer if more has to come or out is long. What
// memory answers is appended to out.
func (s *session) forward(server side, p, out []byte) (n int, answered []byte) {
	began := len(out)
	for n < len(p) && len(out) < front.SQLChunk {
		v, ok := s.track.forward(p[n:], out)
		if !ok {
			return len(p), out
		}
		if v.n == 0 {
			break
		}
		out = v.out
		s.pass(server, &v, p[n:])
		n += v.n
	}
	s.site.f.count.bytesOut.Add(uint64(len(out) - began))
	return n, out
}

// last passes on what was held back of a client that has ended its side: the server answers some
// messages before their Sync.
func (s *session) last(server side, held []byte) {
	if v, ok := s.track.last(held); ok {
		s.pass(server, &v, held)
	}
}

// pass passes on what a verdict says of bytes that p begins with. What the server does not take is
// lost: what it has said last comes first.
func (s *session) pass(server side, v *verdict, p []byte) {
	s.site.f.count.bytesIn.Add(uint64(v.n))
	if (len(v.before) == 0 || server.Pass(v.before)) && v.passes {
		server.Pass(p[:v.n])
	}
}

// answer passes on bytes of the server. It reports false when the client takes nothing more.
func (s *session) answer(client side, p []byte) bool {
	n := &s.site.f.count
	pieces, ended := s.track.answer(p)
	n.groups.Add(ended)
	for _, piece := range pieces {
		n.bytesOut.Add(uint64(len(piece)))
		if !client.Pass(piece) {
			return false
		}
	}
	return true
}

// isLocal reports whether only a program of this machine can be the client.
func (s *session) isLocal() bool {
	return front.IsLocal(s.site.addr) &&
		(!s.from.IsValid() || s.from.IsLoopback())
}

// isReset reports whether the peer has ended a connection without the usual words.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
