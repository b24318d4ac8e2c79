package wire

import (
	"context"
	"fmt"
	"maps"
)

// Handlers say what is done with what the peer sends, by message id. Fill it in
// before it is used; any number of Conns may share it.
type Handlers struct {
	byID map[uint64]handler
}

// A handler has one of its fields set, or reply and stream.
type handler struct {
	post    func(data []byte)
	inline  func(data, dst []byte) ([]byte, error)
	request func(ctx context.Context, data, dst []byte) ([]byte, error)
	reply   func(ctx context.Context, data []byte, r *Reply) error
	stream  func(ctx context.Context, s *Stream) error
}

// set registers a handler. An id may have one for replies and one for streams.
func (h *Handlers) set(id uint64, one handler) {
	if h.byID == nil {
		h.byID = make(map[uint64]handler)
	}
	switch old := h.byID[id]; {
	case one.reply != nil:
		one.stream = old.stream
	case one.stream != nil:
		one.reply = old.reply
	}
	h.byID[id] = one
}

// Post has f called for each one-way message, by the goroutine that reads: f
// must be quick, and must not wait for this connection. data is valid during
// the call.
func (h *Handlers) Post(id uint64, f func(data []byte)) { h.set(id, handler{post: f}) }

// Inline has requests answered by the goroutine that reads, in the order in
// which they came: for answers that are at hand. The answer is appended to dst.
// As with Post, f must be quick and data is valid during the call.
func (h *Handlers) Inline(id uint64, f func(data, dst []byte) ([]byte, error)) {
	h.set(id, handler{inline: f})
}

// Request has each request answered in a goroutine of its own. ctx ends with the
// caller's deadline, when the caller gives up, and with the connection. The
// answer is appended to dst; data is valid during the call.
func (h *Handlers) Request(
	id uint64, f func(ctx context.Context, data, dst []byte) ([]byte, error),
) {
	h.set(id, handler{request: f})
}

// Stream has each stream that the peer opens served in a goroutine of its own.
// When f returns, the stream is ended: with its error, if it is not nil.
func (h *Handlers) Stream(id uint64, f func(ctx context.Context, s *Stream) error) {
	h.set(id, handler{stream: f})
}

// clone returns a copy that nobody writes to.
func (h *Handlers) clone() map[uint64]handler {
	if h == nil {
		return nil
	}
	return maps.Clone(h.byID)
}

// caught makes an error of a panic: a handler that has a bug ends its exchange
// and nothing else.
func caught(err *error) {
	if v := recover(); v != nil {
		*err = &Error{Code: Internal, Text: fmt.Sprintf("the handler panicked: %.100v", v)}
	}
}

// inlined calls an inline handler.
func (h *handler) inlined(data, dst []byte) (answer []byte, err error) {
	defer caught(&err)
	return h.inline(data, dst)
}

// requested calls the handler of a request.
func (h *handler) requested(ctx context.Context, data []byte) (answer []byte, err error) {
	defer caught(&err)
	return h.request(ctx, data, nil)
}

// streamed calls the handler of a stream.
func (h *handler) streamed(ctx context.Context, s *Stream) (err error) {
	defer caught(&err)
	return h.stream(ctx, s)
}

// posted calls the handler of a post. Nobody is told of its panic.
func (h *handler) posted(data []byte) {
	var err error
	defer caught(&err)
	h.post(data)
}
