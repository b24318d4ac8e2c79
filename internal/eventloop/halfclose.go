package eventloop

import (
	"context"
	"net/http"
)

// The end of what a peer sends has two meanings which look alike: that it sends nothing more
// and reads on (shutdown, nc -N), or that it has gone (close). Only what is sent to it tells
// them apart, and nothing may be sent that nobody has asked for. net/http takes both for the
// second and cancels the request. So the handler gets a context of its own, which a reset
// ends and the end of the stream does not: its work ends by the bounds that all work has.

// detach returns r with a context that is canceled when the peer of v is known to have gone,
// and a function that must be called when r is answered.
func (m *messageConn) detach(r *http.Request) (*http.Request, context.CancelFunc) {
	m.handled = true
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	stop := context.AfterFunc(r.Context(), func() {
		defer cancel()
		if !m.half.Load() {
			return
		}
		select {
		case <-ctx.Done():
		case <-m.Gone():
		}
	})
	if g, ok := m.Borrowed.(conversation); ok {
		g.WhenGone(cancel)
	}
	return r.WithContext(ctx), func() { stop(); cancel() }
}

// Write implements net.Conn. What net/http answers without its handler it writes at one go.
func (m *messageConn) Write(p []byte) (int, error) {
	if m.handled || m.amend == nil {
		return m.Borrowed.Write(p)
	}
	if _, err := m.Borrowed.Write(m.amend(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
