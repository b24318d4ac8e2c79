package wirebench

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hotrow/hotrow/client/wire"
	"github.com/hotrow/hotrow/client/wire/rows"
)

// A hotrowConn is a connection of hotrow's own protocol, to a server with
// wire.perf on or to gofast's perf program.
type hotrowConn struct {
	conn *wire.Conn
	ctx  context.Context
}

// DialHotrow returns a Dial of hotrow's protocol.
func DialHotrow(address string, o wire.Options) Dial {
	return func(ctx context.Context) (Conn, error) {
		c, err := wire.Dial(ctx, address, o)
		if err != nil {
			return nil, err
		}
		// The calls of a run have no deadline: a run ends its connections.
		return &hotrowConn{c, context.Background()}, nil
	}
}

func (h *hotrowConn) Post(data []byte) error { return h.conn.Post(h.ctx, rows.IDEchoPost, data) }

func (h *hotrowConn) Request(data, dst []byte) ([]byte, error) {
	answer, err := h.conn.Request(h.ctx, rows.IDEchoRequest, data, dst)
	return answer, right(err, len(answer)-len(dst), len(data))
}

// right returns an error for an answer that is not as long as the question.
func right(err error, got, want int) error {
	if err == nil && got != want {
		err = fmt.Errorf("an answer of %d bytes to %d", got, want)
	}
	return err
}

// A getConn asks for a document instead of an echo.
type getConn struct {
	hotrowConn
	question []byte
}

// DialGet returns a Dial whose requests are reads of one document.
func DialGet(address, resource, key string, o wire.Options) Dial {
	dial := DialHotrow(address, o)
	return func(ctx context.Context) (Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		get := rows.Get{Resource: resource, Key: key}
		return &getConn{*c.(*hotrowConn), get.Append(nil)}, nil
	}
}

// Request reads the document, which must be there.
func (g *getConn) Request(_, dst []byte) ([]byte, error) {
	answer, err := g.conn.Request(g.ctx, rows.IDGet, g.question, dst)
	if err != nil {
		return dst, err
	}
	var a rows.Answer
	if err := a.Decode(answer[len(dst):]); err != nil {
		return dst, err
	}
	if a.State != rows.Found {
		return dst, errors.New("there is no such document")
	}
	return answer, nil
}

func (h *hotrowConn) Stream(n int, data []byte, sent func()) error {
	s, err := h.conn.Stream(h.ctx, rows.IDEchoSend, data)
	if err != nil {
		return err
	}
	for range n {
		if err := s.Send(h.ctx, data); err != nil {
			_ = s.Close()
			return err
		}
		sent()
	}
	if err := s.Finish(); err != nil {
		return err
	}
	_, err = s.Recv(h.ctx, nil)
	if errors.Is(err, io.EOF) {
		return nil
	}
	_ = s.Close()
	if err == nil {
		err = errors.New("the server has sent a message where it should finish")
	}
	return err
}

func (h *hotrowConn) Barrier() error { return h.conn.Barrier(h.ctx) }

func (h *hotrowConn) Close() error { return h.conn.Close() }
