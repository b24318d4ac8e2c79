package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// How long is waited for the database while somebody wants an answer of it.
const (
	// slowAfter is how long a request runs before anybody doubts that the database
	// answers, and probeEvery how long until it is doubted again.
	slowAfter, probeEvery = 200 * time.Millisecond, time.Second

	// probeTimeout is how long the database may take to answer a question that costs it
	// nothing. Together with slowAfter it is less than a second: how long a person,
	// or a probe, waits for the word that it does not answer.
	probeTimeout = 500 * time.Millisecond

	// pingTimeout bounds such a question, which may hold a connection.
	pingTimeout = 10 * time.Second
)

// errNoAnswer says that the database does not answer.
var errNoAnswer = errors.New("the database does not answer")

// A prober knows whether the database answers. It is asked for nothing but that, one
// question at a time, however many want to know.
type prober struct {
	ask func(context.Context) error

	mu    sync.Mutex // guards what follows
	begun time.Time  // of the question under way
	ended chan struct{}
	err   error // of the last one
}

// check asks whether the database answers, and waits for it as long as probeTimeout
// says. It may be called by many goroutines.
func (p *prober) check() error {
	p.mu.Lock()
	if p.ended == nil {
		p.begun, p.ended = time.Now(), make(chan struct{})
		go p.ping(p.ended)
	}
	wait, ended := probeTimeout-time.Since(p.begun), p.ended
	p.mu.Unlock()
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	select {
	case <-ended:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-timer.C:
		return errNoAnswer
	}
}

// ping asks once.
func (p *prober) ping(ended chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	err := p.ask(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.ended = err, nil
	close(ended)
}

// checkIfInDoubt is check where there is reason to doubt: a question has failed, or waits
// for its answer.
func (p *prober) checkIfInDoubt() error {
	p.mu.Lock()
	doubt := p.err != nil || p.ended != nil
	p.mu.Unlock()
	if !doubt {
		return nil
	}
	return p.check()
}

// away is the problem of a request that the database does not answer.
func (c *call) away(err error) error {
	c.o.Log.Warn("the database does not answer", "path", c.r.URL.EscapedPath(), "err", err)
	return problem{kind: kindUnavailable, after: time.Second,
		detail: "the database does not answer; redirects go on"}
}

// withProbe runs fn, whose context ends when the database turns out not to answer.
// Without it a request would wait for each of its statements as long as that may
// take, and a page for several requests.
func (c *call) withProbe(fn func() error) error {
	p := &c.h.prober
	if err := p.checkIfInDoubt(); err != nil {
		return c.away(err)
	}
	r := c.r
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	var doubt *time.Timer
	armed := make(chan struct{})
	doubt = time.AfterFunc(slowAfter, func() {
		<-armed
		switch {
		case ctx.Err() != nil: // the request has ended
		case p.check() != nil:
			cancel(errNoAnswer)
		default:
			doubt.Reset(probeEvery)
		}
	})
	close(armed)
	defer doubt.Stop()
	c.r = r.WithContext(ctx)
	defer func() { c.r = r }()
	err := fn()
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) && r.Context().Err() == nil {
		return c.away(err)
	}
	return err
}

// serveAt answers a path: reads are watched, and a write, whose outcome nobody would
// know if it were cut off, does not begin while the database is known not to answer.
// What is alive and how all is are answered from memory.
func (c *call) serveAt(path string) error {
	if path == "/api/v1/clicks/live" || path == "/api/v1/health" {
		return c.at(path)
	}
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		return c.withProbe(func() error { return c.at(path) })
	}
	if err := c.h.prober.checkIfInDoubt(); err != nil {
		return c.away(err)
	}
	return c.at(path)
}
