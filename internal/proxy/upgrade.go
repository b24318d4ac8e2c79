package proxy

import (
	"io"
	"net/http"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// upgrade relays a 101 answer, and from then on bytes in both directions.
func (c *client) upgrade(x *roundTrip) bool {
	complete := x.passed()
	if !x.req.Upgrade || !x.resp.Upgrade || !complete {
		c.discard()
		return c.fail(x, errResponse{errSwitch})
	}
	out := appendStatus(x.reply[:0], &x.resp)
	for i := range x.resp.Fields {
		f := &x.resp.Fields[i]
		if f.Kind == http1.FieldUpgrade || f.Kind == http1.EndToEnd && !x.resp.Nominated(f) &&
			!isName(x.resp.Name(f), fieldID) {
			out = append(out, x.resp.Line(f)...)
		}
	}
	out = append(append(append(out, "X-Chocon-Id: "...), x.id...), "\r\n"...)
	x.reply = append(out, "Connection: Upgrade\r\n\r\n"...)
	return c.tunnel(x, http.StatusSwitchingProtocols)
}

// errSwitch is a 101 that nobody has asked for.
var errSwitch = &statusError{http.StatusBadGateway, "the upstream switches protocols unasked"}

// connect makes a tunnel to the target of a CONNECT.
func (c *client) connect(x *roundTrip, n int, t *target) bool {
	x.in.consume(n)
	x.whole = true
	up, err := t.acquire(c, true)
	if err != nil {
		return c.fail(x, err)
	}
	x.addr = up.backend.name
	c.attach(up)
	x.back.r, x.back.w = 0, 0
	x.reply = append(x.reply[:0], "HTTP/1.1 200 Connection established\r\n\r\n"...)
	return c.tunnel(x, http.StatusOK)
}

// tunnel sends the reply that has been prepared and moves bytes both ways until
// both sides have ended, or one has failed.
func (c *client) tunnel(x *roundTrip, status int) bool {
	c.srv.count.tunnels.Add(1)
	up := c.up
	x.sent = x.began
	x.reply = append(x.reply, x.back.bytes()...)
	c.due.Store(0)
	c.since.Store(0)
	c.sock.settle()
	early := append([]byte(nil), x.in.bytes()...)
	sent := make(chan int64)
	go func() {
		n := int64(0)
		if len(early) > 0 {
			if _, err := up.write(early); err != nil {
				c.sock.interrupt()
			}
			n = int64(len(early))
		}
		sent <- n + c.copy(up.socket, c.sock)
	}()
	if _, err := c.sock.write(x.reply); err != nil {
		up.interrupt()
	}
	x.down.total = int64(x.back.size()) + c.copy(c.sock, up.socket)
	x.up.total = <-sent
	c.discard()
	c.finish(x, status, nil)
	return false
}

// copy moves bytes until from ends, and tells to. A failure ends both.
func (c *client) copy(to, from *socket) int64 {
	n, err := io.Copy(to.conn, from.conn)
	if err == nil {
		err = to.closeWrite()
	}
	if err != nil {
		to.interrupt()
		from.interrupt()
	}
	return n
}
