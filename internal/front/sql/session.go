package sqlfront

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/workers"
)

// A session is one client's connection, and the server's that belongs to it. Until the client
// has logged in one goroutine has it. Then two have: each reads one side and writes the other,
// and the last that ends closes both.
type session struct {
	site  *Site
	from  netip.Addr // of the client, where it is counted
	conn  net.Conn   // of the client, as it was accepted
	share *front.ClientShare

	client, server *leg
	database       net.Conn // of server; nil: there is none yet
	phase          phase    // the site's lock guards it
	track          track
	ours           []byte // the key by which the client may cancel
	pumps          atomic.Int32
}

// A phase is how far a session has come.
type phase uint8

const (
	starting  phase = iota // it is not known what the client wants
	loggingIn              // it counts as a session
	open                   // two goroutines have it
)

// pumpClient passes on what the client sends, until it sends no more.
func (s *session) pumpClient() {
	defer s.leave()
	for taken := true; ; {
		p, c, err := s.client.receive()
		if err != nil {
			switch {
			case errors.Is(err, io.EOF):
				s.server.closeWrite() // the server ends when it has answered
			case errors.Is(err, os.ErrDeadlineExceeded): // its session has ended
			default:
				_ = s.database.Close() // nobody reads an answer
			}
			return
		}
		if taken { // else nobody is there to take it, and what the server has said last comes first
			taken = s.passOn(p) == nil
			s.site.f.count.bytesIn.Add(uint64(len(p)))
		}
		release(c)
	}
}

// passOn passes on bytes of the client.
func (s *session) passOn(p []byte) error {
	before, ok := s.track.forward(p)
	if !ok {
		return net.ErrClosed
	}
	if len(before) > 0 {
		if err := s.server.send(before); err != nil {
			return err
		}
	}
	return s.server.send(p)
}

// pumpServer passes on what the server sends, until it sends no more. first has already come.
func (s *session) pumpServer(first []byte) {
	defer s.leave()
	err := s.pass(first)
	for err == nil && !s.stops() {
		var p []byte
		var c *chunk
		p, c, err = s.server.receive()
		if err == nil {
			err = s.pass(p)
			release(c)
		} else if errors.Is(err, os.ErrDeadlineExceeded) { // hotrow stops
			s.server.unlimited()
			err = nil
		}
	}
	_ = s.database.Close()
	s.client.closeWrite()
	s.client.endWithin(front.SQLLinger)
}

// pass passes on bytes of the server.
func (s *session) pass(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	c := &s.site.f.count
	pieces, ended := s.track.answer(p)
	c.groups.Add(ended)
	for _, piece := range pieces {
		c.bytesOut.Add(uint64(len(piece)))
		if err := s.client.send(piece); err != nil {
			_ = s.conn.Close() // it is gone
			return err
		}
	}
	return nil
}

// stops ends the session if hotrow stops and nothing is under way in it, and reports whether
// it did. The client hears why.
func (s *session) stops() bool {
	if !s.site.draining.Load() || !s.track.end() {
		return false
	}
	_ = s.client.send(stopping.append(nil))
	_ = s.server.send([]byte{msgTerminate, 0, 0, 0, headSize - 1})
	return true
}

// leave ends one half of the session, and both after a panic. It is deferred.
func (s *session) leave() {
	if workers.Caught(s.site.f.opts.Load().Log, "pass a session of SQL on", recover()) != nil {
		s.close()
	}
	if s.pumps.Add(-1) == 0 {
		s.close()
		s.track.lost()
		s.site.forget(s)
	}
}

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
	s.server = newLeg(up.Conn, s.share)
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
		_ = s.server.send([]byte{msgTerminate, 0, 0, 0, headSize - 1})
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
	s.start(first, behind)
	return loginOpen, nil
}

// start leaves the session to two goroutines, whose stacks are small: who has logged the
// client in has used a deep one.
func (s *session) start(first startup, behind []byte) {
	s.site.f.count.logins[loginOpen].Add(1)
	var o *observer
	if first.parameter("replication") == "" {
		o = s.site.f.newObserver(s.ours)
	}
	s.track.begin(o)
	s.client.unlimited()
	s.server.unlimited()
	s.pumps.Store(2)
	s.site.setPhase(s, open)
	go s.pumpClient()
	go s.pumpServer(behind)
}

// isLocal reports whether only a program of this machine can be the client.
func (s *session) isLocal() bool {
	return front.IsLocal(s.site.listener.Addr()) &&
		(!s.from.IsValid() || s.from.IsLoopback())
}

// isReset reports whether the peer has ended a connection without the usual words.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
