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

// startSelf starts this program as a process of its own that writes to the file said,
// and waits until ready finds in what it has written that it can be used. unready is
// what the error says when that takes too long.
func startSelf(
	ctx context.Context, env []string, said string, args []string, unready string,
	ready func(text []byte) error,
) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := os.Create(said)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	child := exec.Command(self, args...)
	child.Env, child.Stdout, child.Stderr = env, out, out
	if err := child.Start(); err != nil {
		return nil, fmt.Errorf("start hotrow %s: %w", args[0], err)
	}
	if err := awaitReady(ctx, said, unready, ready); err != nil {
		text, _ := os.ReadFile(said)
		_ = child.Process.Kill()
		_ = child.Wait() // it was killed
		return nil, fmt.Errorf("%w; its last words:\n%s", err, text[max(0, len(text)-1000):])
	}
	return child, nil
}

// awaitReady is the waiting of startSelf.
func awaitReady(
	ctx context.Context, said, unready string, ready func(text []byte) error,
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
		select {
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
