package wire

import (
	"context"
	"slices"
)

// A Reply is how a handler answers one request before it returns: what it began
// may go on, in a stream for instance, when the caller has its answer.
type Reply struct {
	c          *Conn
	opaque, id uint64
	sent       bool // guarded by c.mu
}

// Reply has each request answered in a goroutine of its own, as Request does, by
// a function that says itself when the answer is there. It answers once; if it
// returns before, its error is the answer. ctx ends as that of Request does until
// the answer is sent, and with the connection after that; data is valid during
// the call.
func (h *Handlers) Reply(
	id uint64, f func(ctx context.Context, data []byte, r *Reply) error,
) {
	h.set(id, handler{reply: f})
}

// Send sends the answer. What is sent after the first is dropped.
func (r *Reply) Send(answer []byte) { r.send(answer, nil) }

func (r *Reply) send(answer []byte, err error) {
	c := r.c
	c.mu.Lock()
	if !r.sent {
		r.sent = true
		if !c.fits(answer) {
			answer = slices.Clone(answer)
		}
		c.answer(r.opaque, r.id, answer, err)
	}
	c.unlockAndWake()
}

// replied calls the handler, and answers in its place if it has not.
func (h *handler) replied(ctx context.Context, data []byte, r *Reply) {
	err := h.callReply(ctx, data, r)
	if err == nil {
		err = &Error{Code: Internal, Text: "the handler did not answer"}
	}
	r.send(nil, err)
}

func (h *handler) callReply(ctx context.Context, data []byte, r *Reply) (err error) {
	defer caught(&err)
	return h.reply(ctx, data, r)
}
