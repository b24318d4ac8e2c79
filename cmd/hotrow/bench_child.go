package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/hotrow/hotrow/internal/load"
)

// benchTimeout is how long a server may take to begin, and the database to take
// what was recorded.
const benchTimeout = 2 * time.Minute

// errHopeless is wrapped by what a server cannot come to be used after.
var errHopeless = errors.New("it cannot be used")

// A selfChild is this program as a process of its own.
type selfChild struct {
	*os.Process

	ended chan struct{} // closed when it has ended
}

// wait waits until it has ended, however it does.
func (c *selfChild) wait() { <-c.ended }

// kill ends it as kill -9 does.
func (c *selfChild) kill() {
	_ = c.Kill() // it may have ended
	c.wait()
}

// startSelf starts this program as a process of its own that writes to the file said,
// and waits until ready finds in what it has written that it can be used, or wraps
// errHopeless. unready is what the error says when that takes too long.
func startSelf(
	ctx context.Context, env []string, said string, args []string, unready string,
	ready func(text []byte) error,
) (*selfChild, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := os.Create(said)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(self, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start hotrow %s: %w", args[0], err)
	}
	child := &selfChild{Process: cmd.Process, ended: make(chan struct{})}
	go func() {
		defer close(child.ended)
		_ = cmd.Wait() // what it has written says how it ended
	}()
	if err := awaitReady(ctx, child, said, unready, ready); err != nil {
		child.kill()
		text, _ := os.ReadFile(said)
		return nil, fmt.Errorf("%w; its last words:\n%s", err, text[max(0, len(text)-1000):])
	}
	return child, nil
}

// awaitReady is the waiting of startSelf.
func awaitReady(
	ctx context.Context, child *selfChild, said, unready string, ready func(text []byte) error,
) error {
	last := errors.New("no answer")
	for deadline := time.Now().Add(benchTimeout); time.Now().Before(deadline); {
		text, err := os.ReadFile(said)
		if err != nil {
			return err
		}
		if last = ready(text); last == nil {
			return nil
		}
		if errors.Is(last, errHopeless) {
			break
		}
		select {
		case <-child.ended:
			return fmt.Errorf("%s: it has ended", unready)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s: %w", unready, last)
}

// loadErrors joins the errors of runs, each with its name.
func loadErrors(runs []*load.Result) error {
	var errs []error
	for _, r := range runs {
		if err := r.Err(); err != nil {
			errs = append(errs, fmt.Errorf("%s, %d connections: %w", r.Name, r.Connections, err))
		}
	}
	return errors.Join(errs...)
}

// printTable prints a table as text or as Markdown.
func printTable(p *program, format string, t *load.Table) error {
	text := t.Text()
	if format == "markdown" {
		text = t.Markdown()
	}
	_, err := fmt.Fprint(p.stdout, text)
	return err
}
