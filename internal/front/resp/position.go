package respfront

import (
	"context"
	"errors"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// Commands of hotrow's own: what HTTP says of an answer in headers, and the position that
// answers must include.

// serveOwn says how its commands are answered.
func (all table) serveOwn() {
	all["hotrow.get"].later = ask
	all["hotrow.get"].check = func(args [][]byte) string {
		_, problem := askOptions(args)
		return problem
	}
	all["hotrow.position"].later = position
	all["hotrow.position"].check = func(args [][]byte) string {
		if len(args) > 2 {
			return "ERR wrong number of arguments for 'hotrow.position' command"
		}
		return ""
	}
	all["hotrow.min"].now = least
	all["hotrow.format"].now = format
}

// An asking is what HOTROW.GET may say.
type asking struct {
	resource.Options
	tag string // the entity tag that the client has
}

// askOptions reads the options of HOTROW.GET.
func askOptions(args [][]byte) (a asking, problem string) {
	for rest := args[2:]; len(rest) > 0; rest = rest[1:] {
		switch option := lower(rest[0]); {
		case option == "nocache" && !a.OnlyIfCached:
			a.NoCache = true
		case option == "onlyifcached" && !a.NoCache:
			a.OnlyIfCached = true
		case option == "min" && len(rest) > 1:
			if a.Min, problem = tokenOf(rest[1]); problem != "" {
				return a, problem
			}
			rest = rest[1:]
		case option == "wait" && len(rest) > 1:
			if a.Wait, problem = waitOf(rest[1]); problem != "" {
				return a, problem
			}
			rest = rest[1:]
		case option == "ifnonematch" && len(rest) > 1:
			a.tag, rest = string(rest[1]), rest[1:]
		default:
			return a, syntaxError
		}
	}
	return a, ""
}

// tokenOf reads a position.
func tokenOf(text []byte) (resource.Token, string) {
	t, err := resource.ParseToken(string(text[:min(len(text), 512)]))
	if err != nil {
		return t, "ERR invalid position: want hr1.SOURCE.ORIGIN.POSITION"
	}
	return t, ""
}

// waitOf reads for how many milliseconds an answer may wait.
func waitOf(text []byte) (time.Duration, string) {
	n, ok := resp.ParseInt(text)
	if !ok || n < 0 {
		return 0, notInteger
	}
	return time.Duration(min(n, front.PositionWait.Milliseconds())) * time.Millisecond, ""
}

// origins are where answers come from, in the words of Cache-Status.
var origins = map[resource.Origin]string{
	resource.HitMemory: "memory", resource.HitDisk: "disk", resource.HitStale: "stale",
	resource.Stored: "stored", resource.Unstored: "unstored", resource.Collapsed: "collapsed",
	resource.Requested: "requested", resource.Bypassed: "bypassed",
}

// ask answers HOTROW.GET with a map of what HTTP says in headers, and the document.
func ask(ctx context.Context, c *conn, _ *Options, args [][]byte) ([]byte, eventloop.Next) {
	began := time.Now()
	want, _ := askOptions(args)
	want.Format = c.ReadAs.Document(c.f.store.Live().Format)
	res, a, err := c.f.store.Ask(ctx, &c.Who, args[1], want.Options)
	c.LogAsk(began, "HOTROW.GET", args[1], res, &a, err)
	if err != nil {
		return c.askError(args, res, err), eventloop.More
	}
	state, etag := "absent", ""
	if a.Doc != nil && !a.Doc.Absent() {
		if state, etag = "found", a.Doc.ETag(); row.SameETag(etag, want.tag) {
			state = "unmodified"
		}
	}
	out := c.v.AppendMap(nil, 7)
	text := func(name, value string) {
		out = resp.AppendText(out, name)
		if value == "" {
			out = c.v.AppendNil(out)
			return
		}
		out = resp.AppendText(out, value)
	}
	live := c.f.store.Live()
	text("state", state)
	text("origin", origins[a.Origin])
	text("key", live.NameOf(res.Name(), a.Key).Main)
	text("etag", etag)
	text("position", positionOf(a.Token))
	out = resp.AppendInt(resp.AppendText(out, "lag_ms"), a.Lag.Milliseconds())
	if out = resp.AppendText(out, "body"); state != "found" {
		return c.v.AppendNil(out), eventloop.More
	}
	return resp.AppendBulk(out, a.Doc.Body()), eventloop.More
}

// positionOf returns a position as text; "": there is none.
func positionOf(t resource.Token) string {
	if t.IsZero() {
		return ""
	}
	return t.String()
}

// askError returns the reply to a key that cannot be answered.
func (c *conn) askError(args [][]byte, res *resource.Resource, err error) []byte {
	if errors.Is(err, kv.ErrNoResource) {
		return resp.AppendError(nil, noResource(args[1]))
	}
	name := ""
	if res != nil {
		name = res.Name()
	}
	return resp.AppendError(nil, c.f.errorText(c.f.commands.find(args), name, err))
}

// position answers HOTROW.POSITION: of the last write of the connection or, with a key, of
// what is answered for it now.
func position(ctx context.Context, c *conn, _ *Options, args [][]byte) ([]byte, eventloop.Next) {
	at := c.wrote
	if len(args) > 1 {
		res, a, err := c.f.store.Ask(ctx, &c.Who, args[1], resource.Options{})
		if err != nil {
			return c.askError(args, res, err), eventloop.More
		}
		at = a.Token
	}
	if at.IsZero() {
		return c.v.AppendNil(nil), eventloop.More
	}
	return resp.AppendText(nil, at.String()), eventloop.More
}

// least answers HOTROW.MIN: what is read on the connection from now on includes a position.
func least(t *turn, args [][]byte) {
	token, problem := tokenOf(args[1])
	wait := time.Duration(0)
	if problem == "" && len(args) > 2 {
		wait, problem = waitOf(args[2])
	}
	switch {
	case len(args) > 3:
		t.fail("ERR wrong number of arguments for 'hotrow.min' command")
	case problem != "":
		t.fail(problem)
	default:
		t.c.Who.Least, t.c.Who.Wait = token, wait
		ok(t, args)
	}
}
