package ops

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const defaultReadyTimeout = time.Second

// readiness answers /readyz from a callback that may be slow or hang: a probe
// waits for limit at most, and probes that come while the callback runs wait
// for the same call, so that a hanging one costs one goroutine.
type readiness struct {
	check func() error
	limit time.Duration
	notes func() []string // nil: none

	strict func() error // more that ?strict asks for; nil: nothing

	mu      sync.Mutex // guards current
	current *readyCall // that runs now; nil for none
}

// A readyCall is one call of the callback. err is set when done is closed.
type readyCall struct {
	done chan struct{}
	err  error
}

func newReadiness(check func() error, limit time.Duration) *readiness {
	if limit <= 0 {
		limit = defaultReadyTimeout
	}
	return &readiness{check: check, limit: limit}
}

// ServeHTTP answers 200, or 503 with the reasons.
func (r *readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	err := r.ask(req.Context())
	if err == nil && r.strict != nil && req.URL.Query().Has("strict") {
		err = r.strict()
	}
	if err != nil {
		writeText(w, http.StatusServiceUnavailable, "not ready\n"+err.Error()+"\n")
		return
	}
	text := "ok\n"
	if r.notes != nil {
		for _, line := range r.notes() {
			text += line + "\n"
		}
	}
	writeText(w, http.StatusOK, text)
}

func (r *readiness) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	call := r.join()
	select {
	case <-call.done:
		return call.err
	case <-ctx.Done():
		return fmt.Errorf("the readiness check has not answered within %v", r.limit)
	}
}

// join returns the call that runs, or starts one.
func (r *readiness) join() *readyCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		r.current = &readyCall{done: make(chan struct{})}
		go r.run(r.current)
	}
	return r.current
}

func (r *readiness) run(call *readyCall) {
	defer func() {
		// A probe must not end the process, as a panic outside of net/http's
		// goroutines would.
		if p := recover(); p != nil {
			call.err = fmt.Errorf("the readiness check panicked: %v", p)
		}
		r.mu.Lock()
		r.current = nil
		r.mu.Unlock()
		close(call.done)
	}()
	call.err = r.check()
}
