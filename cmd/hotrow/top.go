package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/ops"
)

type topCmd struct {
	Ops, Sort, Token string
	Once, JSON, SQL  bool

	trustFlags
}

// topCommand returns hotrow top.
func topCommand(p *program) *cobra.Command {
	c := new(topCmd)
	cmd := p.command("top", "Show what a running hotrow does: a frame a second.", c.Run,
		argument{"[<ops>]", "The port of ops (127.0.0.1:8081) ($HOTROW_OPS).",
			newAddress(&c.Ops, "")})
	f := cmd.Flags()
	f.BoolVar(&c.Once, "once", false, "Print the state once, after a second, and end.")
	f.BoolVar(&c.JSON, "json", false, "Print each frame as a line of JSON, as /-/live has it.")
	f.BoolVar(&c.SQL, "sql", false,
		"Show the statements of SQL by shape, as /-/sql has them, that save most time first.")
	f.Var(newOneOf(&c.Sort, "rate", "rate", "name", "hits", "changes"), "sort",
		"Sort resources by `COLUMN`: rate, name, hits or changes.")
	tokenFlag(f, &c.Token, "A `TOKEN` with the role operator.")
	c.trustFlags.add(f)
	return cmd
}

// Run shows a running hotrow until somebody has seen enough.
func (c *topCmd) Run(p *program) error {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	if c.Ops == "" {
		at := cmp.Or(p.getenv("HOTROW_OPS"), defaultOps)
		if err := newAddress(&c.Ops, "").Set(at); err != nil {
			return usageError{fmt.Errorf("HOTROW_OPS %q: %w", at, err)}
		}
	}
	if c.SQL {
		return c.runSQL(ctx, p)
	}
	resp, err := c.ask(ctx, "/-/live")
	if err != nil {
		return err
	}
	body := resp.Body
	defer func() { _ = body.Close() }()
	switch {
	case c.JSON, c.Once:
		return c.print(p, body)
	case !isTerminal(p.given):
		return usageError{errors.New("the output is no terminal: use --once or --json")}
	}
	return c.show(ctx, p, func(_ context.Context, send func(any)) { readFrames(body, send) })
}

// ask asks for a path of the operator's port.
func (c *topCmd) ask(ctx context.Context, path string) (*http.Response, error) {
	address := strings.TrimRight(c.Ops, "/") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, usageError{err}
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	client.Timeout = 0 // a stream has no end
	return askOperator(client, req, c.Token)
}

// print prints frames as lines of JSON, or one as text.
func (c *topCmd) print(p *program, body io.Reader) error {
	done := errors.New("done")
	err := readLive(body, func(event string, data []byte) error {
		if event != "frame" {
			return nil
		}
		var f ops.Frame
		if err := json.Unmarshal(data, &f); err != nil {
			return fmt.Errorf("a frame of /-/live: %w", err)
		}
		if c.Once && f.Interval == 0 {
			return nil // it has no rates yet
		}
		var err error
		if c.JSON {
			_, err = fmt.Fprintf(p.stdout, "%s\n", data)
		} else {
			_, err = io.WriteString(p.stdout, renderTop(&f, nil, topView{width: 100, sort: c.Sort}))
		}
		if err == nil && c.Once {
			err = done
		}
		return err
	})
	if errors.Is(err, done) || p.ctx.Err() != nil {
		return nil
	}
	return err
}

// maxEvent is the longest event of /-/live: the last records of the log.
const maxEvent = 4 << 20

// readLive reads server-sent events and gives each to take, whose data is good until it
// returns. It returns take's error, or that of the stream; the end of it is one too.
func readLive(r io.Reader, take func(event string, data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxEvent)
	event := ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			event = value
		case "data":
			if err := take(event, []byte(value)); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read /-/live: %w", err)
	}
	return errors.New("the server has ended the stream")
}
