package eventloop

import (
	"context"
	"net"
	"testing"
	"time"
)

// halfClose ends the client's side of the stream, and leaves the other open.
func (c *client) halfClose() {
	c.t.Helper()
	if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		c.t.Fatal(err)
	}
}

// TestHandOver_HalfClosedPeerGetsItsAnswer: a client that says that it sends
// nothing more still reads. Its handler goes on, and its answer arrives, however
// the end of its message was given.
func TestHandOver_HalfClosedPeerGetsItsAnswer(t *testing.T) {
	for name, request := range map[string]string{
		"framed":   get("/slow"),
		"chunked":  "PUT /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"body":     "PUT /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.0": "GET /slow HTTP/1.0\r\nHost: a\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			eachAtOnce(t, loopForms, Config{}, func(t *testing.T, s *site) {
				c := s.dial(t)
				c.send(request)
				<-s.full.entered
				c.halfClose()
				select {
				case <-s.full.canceled:
					t.Error("the handler was canceled")
				case <-time.After(300 * time.Millisecond):
					s.full.goOn()
				}
				c.want(200, "slow")
				c.wantEnd()
			})
		})
	}
}

// TestHandOver_LongWorkOfAHalfClosedPeer: it gets its answer, and nothing before it.
func TestHandOver_LongWorkOfAHalfClosedPeer(t *testing.T) {
	for _, proto := range []string{"1.0", "1.1"} {
		eachAtOnce(t, loopForms, Config{}, func(t *testing.T, s *site) {
			c := s.dial(t)
			c.send("GET /slow HTTP/" + proto + "\r\nHost: a\r\n\r\n")
			<-s.full.entered
			c.halfClose()
			<-time.After(1500 * time.Millisecond) // a question came after a second
			s.full.goOn()
			c.want(200, "slow")
			c.wantEnd()
		})
	}
}

// TestHandOver_ClosedPeerLooksHalfClosed: its handler goes on, for nobody knows better, and the
// connection ends with it. Of unix sockets the system does know.
func TestHandOver_ClosedPeerLooksHalfClosed(t *testing.T) {
	eachAtOnce(t, []string{"epoll", "goroutine", "tls", "tlsloop"}, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send(get("/slow"))
		<-s.full.entered
		_ = c.Close()
		select {
		case <-s.full.canceled:
			t.Error("the handler was canceled")
		case <-time.After(300 * time.Millisecond):
			s.full.goOn()
		}
		eventually(t, "the connection has ended", func() bool { return s.server.Stats().Open == 0 })
	})
}

// TestHandOver_ClosedPeerIsCanceled: nobody works for a client whose system has said by a reset
// that it has gone, behind a half-close too where the system tells.
func TestHandOver_ClosedPeerIsCanceled(t *testing.T) {
	for name, leave := range map[string]func(c *client){
		"reset":  func(c *client) { c.reset() },
		"closed": func(c *client) { _ = c.Close() },
		"half, then reset": func(c *client) {
			c.halfClose()
			<-time.After(50 * time.Millisecond)
			c.reset()
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := loopForms
			switch name {
			case "half, then reset": // a goroutine reads no more behind the end of the stream
				told = []string{"epoll", "unix", "tlsloop"}
			case "closed":
				told = []string{"unix"}
			}
			eachAtOnce(t, told, Config{}, func(t *testing.T, s *site) {
				c := s.dial(t)
				c.send(get("/slow"))
				<-s.full.entered
				leave(c)
				select {
				case <-s.full.canceled:
				case <-time.After(timeLimit):
					t.Error("the handler was not canceled")
					s.full.goOn()
				}
			})
		})
	}
}

// reset closes the connection with a reset, where the network has that.
func (c *client) reset() {
	nc := c.Conn
	if secure, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = secure.NetConn()
	}
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = nc.Close()
}

// TestVisits_NoAnswerIsNo200: net/http answers 200 with an empty body for a
// handler that writes nothing. That would be a document that is not there.
func TestVisits_NoAnswerIsNo200(t *testing.T) {
	eachAtOnce(t, loopForms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send(get("/silent"))
		c.wantEnd()
	})
}

// TestVisits_ShutdownEndsHalfClosed: a handler that works for a half-closed peer
// ends with the server, also when the peer cannot be asked.
func TestVisits_ShutdownEndsHalfClosed(t *testing.T) {
	eachAtOnce(t, loopForms, Config{}, func(t *testing.T, s *site) {
		c := s.dial(t)
		c.send("GET /slow HTTP/1.0\r\nHost: a\r\n\r\n")
		<-s.full.entered
		c.halfClose()
		<-time.After(50 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_ = s.stop(ctx) // it says that time has run out
		select {
		case <-s.full.canceled:
		case <-time.After(timeLimit):
			t.Error("the handler was not canceled")
			s.full.goOn()
		}
	})
}

// goOn lets the slow handler answer, if it is still there.
func (f *full) goOn() {
	select {
	case f.release <- struct{}{}:
	case <-time.After(time.Second):
	}
}
