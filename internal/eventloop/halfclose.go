package eventloop

import (
	"context"
	"net/http"
	"time"
)

// firstProbe is how long a handler may take for a peer that has ended its side of
// the stream before the peer is asked whether it is still there. The time doubles
// with each further probe, for clients bound how many interim answers they take.
const firstProbe = time.Second

// interim is the answer that asks. Clients of HTTP/1.1 must pass over it wherever
// an answer may begin (RFC 9110 15.2); the system of one that has closed its
// socket answers it with a reset.
const interim = "HTTP/1.1 100 Continue\r\n\r\n"

// The end of what a peer sends has two meanings which look alike: that it sends
// nothing more and reads on (shutdown, nc -N), or that it has gone (close). net/http
// takes both for the second and cancels the request. So the handler gets a
// context of its own, which ends with the peer and not with its side of the stream.

// detach returns r with a context that is canceled when the peer of v has gone, and
// a function that must be called when r is answered.
func (m *messageConn) detach(r *http.Request) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	mayProbe := r.ProtoAtLeast(1, 1)
	stop := context.AfterFunc(r.Context(), func() {
		defer cancel()
		if m.half.Load() {
			m.present(ctx, mayProbe)
		}
	})
	if g, ok := m.Borrowed.(conversation); ok {
		g.WhenGone(cancel)
	}
	return r.WithContext(ctx), func() { stop(); cancel() }
}

// present waits, after the peer has ended its side, until it is known to have gone,
// or ctx ends. The kernel knows when the peer has sent a reset; a peer that has
// closed its socket sends one when something is sent to it.
func (m *messageConn) present(ctx context.Context, mayProbe bool) {
	wait := firstProbe
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-m.Gone():
			timer.Stop()
			return
		case <-timer.C:
		}
		if mayProbe && !m.probe() {
			return
		}
		wait *= 2
	}
}

// probe sends an interim answer if the answer has not begun. It reports false when
// the peer takes nothing.
func (m *messageConn) probe() bool {
	m.writing.Lock()
	defer m.writing.Unlock()
	if m.answered || m.over.Load() {
		return true
	}
	_, err := m.Borrowed.Write([]byte(interim))
	return err == nil
}

// Write implements net.Conn.
func (m *messageConn) Write(p []byte) (int, error) {
	m.writing.Lock()
	m.answered = true
	m.writing.Unlock()
	return m.Borrowed.Write(p)
}
