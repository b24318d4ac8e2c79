package httpfront

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/hotrow/hotrow/internal/fallback"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// relayedNames are the headers of requests that the fallback gets. No cookie is among them: one
// of another service of this machine would go along, for cookies know no ports.
var relayedNames = [...]string{"Accept", "Accept-Profile", "Content-Profile", "Content-Type",
	"Content-Encoding", "Prefer", "Range", "Range-Unit", "If-Match", "If-None-Match",
	"If-Modified-Since", "If-Unmodified-Since", "If-Range", "Authorization", "Apikey",
	"Traceparent", "X-Client-Info"}

// relay asks the fallback what t names. schema is that of its table; "": it is a function.
func (c *call) relay(t *target, schema string) (*answer, error) {
	f := c.o.Fallback
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	least, err := c.leastOf(f.Source)
	if err != nil {
		return nil, err
	}
	if err := c.claimBytes(front.UnsentSmall); err != nil {
		return nil, err
	}
	if !least.IsZero() { // all that the client knows of is to be seen there
		c.catchUp(f)
	}
	reads := c.r.Method == http.MethodGet || c.r.Method == http.MethodHead
	ctx := c.ctx
	if !reads { // one that is cut off has an outcome that nobody knows
		ctx = context.WithoutCancel(ctx)
	}
	got, err := f.Server.Ask(ctx, &fallback.Request{Method: c.r.Method, Path: t.relayed(),
		Query: string(c.r.Query), Header: c.relayedHeader(f, schema), Body: body})
	if err != nil {
		return nil, c.unrelayed(err, reads)
	}
	if !c.fits(len(got.Body)) {
		if err := c.claimBytes(int64(len(got.Body))); err != nil {
			return nil, err
		}
	}
	c.private = len(c.r.credentials()) > 0
	c.from = &provenance{status: "hotrow; fwd=bypass; detail=fallback", varies: c.variesWith(got)}
	if changes := !reads && c.r.Method != http.MethodOptions; changes || f.Monotonic ||
		!least.IsZero() {
		c.from.token, c.from.lag = c.catchUp(f)
	}
	return c.relayedAnswer(got), nil
}

// leastOf returns the position that the answer must include.
func (c *call) leastOf(source string) (t resource.Token, err error) {
	if c.r.MinPosition != nil {
		t, err = minPosition(source, row.Alias(c.r.MinPosition))
	}
	return t, err
}

// catchUp waits until what is committed by now shows in every answer, and returns the position
// of that; the zero Token: it took too long. Memory answers nobody then, for its last fence is
// as old.
func (c *call) catchUp(f *Fallback) (resource.Token, time.Duration) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.ctx))
	defer cancel()
	defer time.AfterFunc(front.RelayFence, cancel).Stop()
	t, lag, _ := c.o.Resources.CatchUp(ctx, f.Source)
	return t, lag
}

// relayed is the path of t below that of the fallback.
func (t *target) relayed() string {
	if t.kind == pathFunction {
		return "/rpc/" + url.PathEscape(t.name)
	}
	return "/" + url.PathEscape(t.name)
}

// unrelayed is the problem of a request that the fallback has not answered. The log has the
// cause, at most ten times a second.
func (c *call) unrelayed(err error, reads bool) error {
	p := problem{kind: kindFallback, after: time.Second}
	if c.h.logLimit.Allow(c.o.Now()) {
		c.o.Log.Warn("the fallback has not answered", "method", c.r.Method, "path",
			front.Clip(string(c.r.Path), front.LogPath), "err", err)
	}
	switch {
	case errors.Is(err, fallback.ErrAway), errors.Is(err, fallback.ErrBusy):
		p.kind = kindFallbackAway
		return p
	case errors.Is(err, fallback.ErrTimeout):
		p.kind = kindFallbackLate
	case errors.Is(err, fallback.ErrTooLarge):
		p.hint = "ask for fewer rows: limit="
		if p.detail = "the answer of the fallback is too large"; !reads {
			p.detail += ", and what was asked is done"
			p.hint = "send Prefer: return=minimal"
		}
		return p
	case !errors.Is(err, fallback.ErrLost):
		return err // the client has gone
	}
	if !reads {
		p.detail = p.kind.Means + ": it is not known whether what was asked is done"
	}
	return p
}

// relayedHeader returns the header that the fallback gets.
func (c *call) relayedHeader(f *Fallback, schema string) http.Header {
	all := c.r.headers()
	h := make(http.Header, len(relayedNames))
	for _, names := range [...][]string{relayedNames[:], f.Headers} {
		for _, name := range names {
			name = http.CanonicalHeaderKey(name)
			if values := all[name]; len(values) > 0 {
				h[name] = values
			}
		}
	}
	if schema == "" {
		return h
	}
	h.Del("Accept-Profile")
	h.Del("Content-Profile")
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		h.Set("Accept-Profile", schema)
	} else {
		h.Set("Content-Profile", schema)
	}
	return h
}

// headers returns all headers of the request, whoever has read it.
func (r *request) headers() http.Header {
	if r.http != nil {
		return r.http.Header
	}
	h := make(http.Header)
	_, rest, _ := bytes.Cut(r.head, []byte("\n"))
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue // the end
		}
		key := http.CanonicalHeaderKey(string(name))
		h[key] = append(h[key], string(bytes.Trim(value, " \t\r")))
	}
	return h
}
