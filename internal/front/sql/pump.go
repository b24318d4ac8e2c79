package sqlfront

import (
	"errors"
	"io"
	"os"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/workers"
)

// Where there are no event loops two goroutines have a session: each reads one side and writes the
// other, and the last that ends closes both.

// pump leaves the session to two goroutines. came is what the server has sent already.
func (s *session) pump(came []byte) {
	s.client.unlimited()
	s.server.unlimited()
	s.pumps.Store(2)
	s.site.open(s)
	go s.pumpClient()
	go s.pumpServer(came)
}

// pumpClient passes on what the client sends, until it sends no more.
func (s *session) pumpClient() {
	defer s.leave()
	var held []byte // of what has come
	for {
		p, err := s.client.receive()
		if err != nil {
			switch {
			case errors.Is(err, io.EOF):
				if len(held) > 0 {
					s.last(s.server, held)
				}
				s.server.closeWrite() // the server ends when it has answered
			case errors.Is(err, os.ErrDeadlineExceeded): // its session has ended
			default:
				_ = s.database.Close() // nobody reads an answer
			}
			return
		}
		if len(held) > 0 {
			p = append(held, p...)
		}
		held = append(held[:0], s.pumped(p)...)
	}
}

// pumped takes bytes of the client, and returns those that wait for more.
func (s *session) pumped(p []byte) []byte {
	for len(p) > 0 {
		s.writing.Lock() // an answer of memory comes between messages of the server
		v, ok := s.track.forward(p, nil)
		if ok && len(v.out) > 0 {
			s.site.f.count.bytesOut.Add(uint64(len(v.out)))
			if s.client.send(v.out) != nil {
				_ = s.conn.Close()
			}
		}
		s.writing.Unlock()
		if !ok {
			return nil
		}
		if v.n == 0 {
			break
		}
		s.pass(s.server, &v, p)
		p = p[v.n:]
	}
	return p
}

// pumpServer passes on what the server sends, until it sends no more. came is the first of it.
func (s *session) pumpServer(came []byte) {
	defer s.leave()
	taken := len(came) == 0 || s.answerPump(came)
	for taken && !s.stops() {
		p, err := s.server.receive()
		switch {
		case err == nil:
			taken = s.answerPump(p)
		case errors.Is(err, os.ErrDeadlineExceeded): // hotrow stops
			s.server.unlimited()
		default:
			s.endPump()
			return
		}
	}
	if !taken {
		_ = s.conn.Close() // the client is gone
	}
	s.endPump()
}

// answerPump is answer where a goroutine has the other side.
func (s *session) answerPump(p []byte) bool {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.answer(s.client, p)
}

// endPump ends the session when its server has.
func (s *session) endPump() {
	_ = s.database.Close()
	s.client.closeWrite()
	s.client.endWithin(front.SQLLinger)
}

// stops ends the session if hotrow stops and nothing is under way in it, and reports whether
// it did. The client hears why.
func (s *session) stops() bool {
	if !s.site.draining.Load() || !s.track.end() {
		return false
	}
	_ = s.client.send(stopping.append(nil))
	_ = s.server.send(terminate)
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
