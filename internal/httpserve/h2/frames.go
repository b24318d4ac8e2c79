package h2

import (
	"errors"
	"slices"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/wire/http2"
)

// inOrder refuses a frame that cannot come now.
func (c *conn) inOrder(f *http2.Frame) error {
	switch {
	case !c.settled && (f.Type != http2.Settings || f.Has(http2.FlagAck)):
		return wrong("the first frame is not of settings")
	case c.block.stream != 0 && (f.Type != http2.Continuation || f.Stream != c.block.stream):
		return wrong("a header block is not continued")
	case c.block.stream == 0 && f.Type == http2.Continuation:
		return wrong("there is no header block to continue")
	}
	switch f.Type {
	case http2.Headers:
		if f.Stream%2 == 0 {
			return wrong("a client's stream has an even number")
		}
	case http2.Data, http2.ResetStream, http2.WindowUpdate:
		if f.Stream%2 == 0 && f.Stream > 0 || f.Stream > c.last {
			return wrong("a frame is of a stream that was not begun")
		}
	}
	return nil
}

func wrong(reason string) error {
	return &http2.Error{Code: http2.ProtocolError, Reason: reason}
}

// takeFrame takes a whole frame.
func (c *conn) takeFrame(f *http2.Frame, payload, out []byte) ([]byte, error) {
	var err error
	switch f.Type {
	case http2.Data:
		d, e := frame{Frame: *f}, error(nil)
		if payload, e = f.Content(payload); e != nil {
			return out, e
		}
		out, err = c.takeBody(&d, payload, f.Length, out)
	case http2.Headers:
		out, err = c.takeHeaders(f, payload, out)
	case http2.Continuation:
		out, err = c.takeBlock(payload, f.Has(http2.FlagEndHeaders), out)
	case http2.Priority:
		err = f.CheckPriority(payload)
	case http2.ResetStream:
		if c.streams[f.Stream] != nil {
			c.of.count.canceled.Add(1)
		}
		c.drop(f.Stream)
		c.cut.remove(f.Stream)
	case http2.Settings:
		out, err = c.takeSettings(f, payload, out)
	case http2.Ping:
		if !f.Has(http2.FlagAck) {
			out = http2.AppendPong(out, payload)
		}
	case http2.WindowUpdate:
		err = c.takeWindow(f, http2.WindowGrowth(payload))
	}
	return c.streamError(out, err)
}

// streamError ends a stream that an error is of. It returns the error of a connection.
func (c *conn) streamError(out []byte, err error) ([]byte, error) {
	var e *http2.Error
	if !errors.As(err, &e) || e.Stream == 0 {
		return out, err
	}
	return c.resetStream(out, e.Stream, e.Code), nil
}

// resetStream ends a stream and says so.
func (c *conn) resetStream(out []byte, id uint32, code http2.Code) []byte {
	if s := c.streams[id]; s != nil && !s.ended {
		c.cut.add(id)
	}
	c.drop(id)
	return http2.AppendReset(out, id, code)
}

// A cut is the latest streams that were ended here before the peer had ended them: what it
// has sent may still be on its way (RFC 9113 5.1).
type cut struct {
	ids [front.HTTP2Streams]uint32
	n   int
}

func (c *cut) add(id uint32) {
	c.ids[c.n%len(c.ids)] = id
	c.n++
}

func (c *cut) has(id uint32) bool { return slices.Contains(c.ids[:], id) }

// remove notes that the peer has ended a stream, too: nothing of it may come now.
func (c *cut) remove(id uint32) {
	if i := slices.Index(c.ids[:], id); i >= 0 {
		c.ids[i] = 0
	}
}

// drop forgets a stream for whose answer nobody waits.
func (c *conn) drop(id uint32) {
	s := c.streams[id]
	if s == nil {
		return
	}
	s.reset = true
	c.unseat(s)
	c.unsent -= len(s.out) - s.sent
	s.out, s.sent = nil, 0
	if s.waits {
		c.owed += c.endWait(s)
	}
	if i := slices.Index(c.blocked, s); i >= 0 {
		c.blocked = slices.Delete(c.blocked, i, i+1)
	}
	if s.pipe != nil {
		s.pipe.abort()
	}
	delete(c.streams, id)
}

// takeSettings takes what the peer wants.
func (c *conn) takeSettings(f *http2.Frame, payload, out []byte) ([]byte, error) {
	if f.Has(http2.FlagAck) {
		return out, nil
	}
	c.settled = true
	err := http2.EachSetting(payload, func(name uint16, value uint32) error {
		if name != http2.SettingInitialWindowSize {
			return nil // what we send is within all others
		}
		more := int64(value) - c.initial
		c.initial = int64(value)
		for _, s := range c.streams {
			if s.window += more; s.window > http2.MaxWindow {
				return &http2.Error{Code: http2.FlowControlError, Reason: "a window is too large"}
			}
		}
		return nil
	})
	return http2.AppendSettingsAck(out), err
}

// takeWindow takes that n bytes more may be sent.
func (c *conn) takeWindow(f *http2.Frame, n int64) error {
	window, s := &c.window, c.streams[f.Stream]
	if s != nil {
		window = &s.window
	}
	switch {
	case n == 0:
		return &http2.Error{Stream: f.Stream, Code: http2.ProtocolError,
			Reason: "a window grows by 0"}
	case f.Stream != 0 && s == nil: // it has ended
		return nil
	case *window+n > http2.MaxWindow:
		return &http2.Error{Stream: f.Stream, Code: http2.FlowControlError,
			Reason: "a window is too large"}
	}
	*window += n
	return nil
}
