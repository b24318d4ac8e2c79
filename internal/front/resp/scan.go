package respfront

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// serveScan says how its commands are answered.
func (all table) serveScan() {
	all["scan"].later, all["randomkey"].later = scan, randomKey
	all["scan"].check = func(args [][]byte) string {
		_, problem := scanOptions(args)
		return problem
	}
}

// defaultCount is how many rows a step looks at when SCAN does not say.
const defaultCount = 10

// scanOptions reads the arguments of SCAN.
func scanOptions(args [][]byte) (q kv.Scan, problem string) {
	var err error
	if q.Cursor, err = strconv.ParseUint(string(args[1]), 10, 64); err != nil {
		return q, "ERR invalid cursor"
	}
	q.Count = defaultCount
	for rest := args[2:]; len(rest) > 0; rest = rest[2:] {
		name := lower(rest[0])
		if len(rest) < 2 {
			return q, syntaxError
		}
		switch name {
		case "match":
			q.Match = string(rest[1])
		case "type":
			q.None = lower(rest[1]) != "string"
		case "count":
			n, ok := resp.ParseInt(rest[1])
			switch {
			case !ok:
				return q, notInteger
			case n < 1:
				return q, syntaxError
			}
			q.Count = int(min(n, front.AskedRows))
		default:
			return q, syntaxError
		}
	}
	return q, ""
}

// randomKey answers with the key of some row: one of the first.
func randomKey(ctx context.Context, c *conn, _ *Options, _ [][]byte) ([]byte, eventloop.Next) {
	live := c.f.store.Live()
	issued := live.IssuedNow()
	q := kv.Scan{Count: defaultCount}
	q.Owner, _, _ = net.SplitHostPort(c.Addr)
	q.May = func(r *resource.Resource) bool { return c.Who.Passes(live, issued, r.Access().Read) }
	for {
		next, keys, err := c.f.store.Scan(ctx, &q)
		switch {
		case err != nil:
			text := c.f.errorText(c.f.commands["randomkey"], "", err)
			return resp.AppendError(nil, text), eventloop.More
		case len(keys) > 0:
			return resp.AppendText(nil, keys[rand.IntN(len(keys))]), eventloop.More
		case next == 0:
			return c.v.AppendNil(nil), eventloop.More
		}
		q.Cursor = next
	}
}

func scan(ctx context.Context, c *conn, o *Options, args [][]byte) ([]byte, eventloop.Next) {
	q, _ := scanOptions(args)
	live := c.f.store.Live()
	issued := live.IssuedNow()
	q.May = func(r *resource.Resource) bool { return c.Who.Passes(live, issued, r.Access().Read) }
	q.Owner, _, _ = net.SplitHostPort(c.Addr) // "" behind a unix socket
	next, keys, err := c.f.store.Scan(ctx, &q)
	switch {
	case errors.Is(err, kv.ErrCursor):
		return resp.AppendError(nil, "ERR invalid cursor"), eventloop.More
	case err != nil:
		return resp.AppendError(nil, c.f.errorText(c.f.commands["scan"], "", err)), eventloop.More
	}
	out := resp.AppendText(resp.AppendArray(nil, 2), strconv.FormatUint(next, 10))
	out = resp.AppendArray(out, len(keys))
	for _, k := range keys {
		out = resp.AppendText(out, k)
	}
	return out, eventloop.More
}
