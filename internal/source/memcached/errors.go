package memcached

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// retryAfter is when a caller may try again what the server could not do now.
const retryAfter = time.Second

// lost reports whether the connection broke before it gave a whole answer. A
// server that is only slow has not lost it.
func lost(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// classify returns err as a *source.Error, unless it is one or nil.
func (s *Source) classify(ctx context.Context, err error) error {
	var known *source.Error
	var reply *replyError
	var broken *protocolError
	var size *sizeError
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, row.ErrKey):
		return err
	case errors.As(err, &reply):
		return refusal(reply)
	case errors.As(err, &broken):
		return unavailable(err, broken.problem)
	case errors.As(err, &size):
		return &source.Error{Class: source.Internal, Err: err, Message: err.Error()}
	case s.ctx.Err() != nil:
		return unavailable(err, "the source is closed")
	case errors.Is(ctx.Err(), context.Canceled):
		return unavailable(err, "the request was given up")
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
		return unavailable(err, "memcached at "+s.at.String()+" did not answer in time")
	case lost(err):
		return unavailable(err, "the connection to memcached at "+s.at.String()+" was lost")
	}
	return &source.Error{Class: source.Internal, Message: err.Error(), Err: err}
}

func unavailable(err error, message string) error {
	return &source.Error{
		Class: source.Unavailable, After: retryAfter, Err: err, Message: message,
	}
}

// refusal returns what the server itself said.
func refusal(e *replyError) error {
	out := &source.Error{Code: e.kind, Message: e.text, Err: e}
	text := strings.ToLower(e.text)
	switch {
	case strings.Contains(text, "unauthenticated"), strings.Contains(text, "authentication"):
		out.Class, out.After = source.Unavailable, retryAfter
		out.Hint = "the server wants a user and a password: memcached://USER:PASSWORD@HOST"
	case e.kind == "ERROR":
		out.Class, out.Message = source.Internal, "the server does not know the command"
	case e.kind == "CLIENT_ERROR":
		out.Class = source.Internal
	case strings.Contains(text, "too large"):
		out.Class = source.TooLarge
		out.Hint = "the server's largest value is set by memcached -I"
	case strings.Contains(text, "out of memory"):
		out.Class = source.Full
		out.Hint = "the server's memory is set by memcached -m"
	case strings.Contains(text, "read only"):
		out.Class = source.ReadOnly
	default: // of a proxy in between, as a rule
		out.Class, out.After = source.Unavailable, retryAfter
	}
	return out
}

// invalid is the error of a document that cannot be written.
func invalid(message string) error {
	return &source.Error{Class: source.Invalid, Message: message}
}
