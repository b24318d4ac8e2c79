package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hotrow/hotrow/internal/ops"
)

// topShapes asks for as many shapes as a screen may have.
const topShapes = "/-/sql?sort=-saved&limit=200"

// runSQL shows the statements of SQL until somebody has seen enough.
func (c *topCmd) runSQL(ctx context.Context, p *program) error {
	first, data, err := c.statements(ctx)
	switch {
	case err != nil:
		return err
	case first.Total == nil:
		return errors.New("that hotrow passes no SQL on: sql.listen is not set")
	case c.Once && c.JSON:
		_, err = p.stdout.Write(append(data, '\n'))
		return err
	case c.Once:
		_, err = io.WriteString(p.stdout, renderSQL(first, topView{width: 160}))
		return err
	case !c.JSON && !isTerminal(p.given):
		return usageError{errors.New("the output is no terminal: use --once or --json")}
	case !c.JSON:
		return c.show(ctx, p, func(ctx context.Context, send func(any)) {
			send(topSQL(*first))
			send(topEnd{c.follow(ctx, func(s *ops.Statements, _ []byte) error {
				send(topSQL(*s))
				return nil
			})})
		})
	}
	return c.follow(ctx, func(_ *ops.Statements, data []byte) error {
		_, err := p.stdout.Write(append(data, '\n'))
		return err
	})
}

// follow gives the statements to take once a second until ctx ends. It returns take's error, or the
// server's.
func (c *topCmd) follow(ctx context.Context, take func(*ops.Statements, []byte) error) error {
	each := time.NewTicker(time.Second)
	defer each.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-each.C:
		}
		s, data, err := c.statements(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			err = take(s, data)
		}
		if err != nil {
			return err
		}
	}
}

// statements asks for the statements. data is the same as a line of JSON.
func (c *topCmd) statements(ctx context.Context) (s *ops.Statements, data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	resp, err := c.ask(ctx, topShapes)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	s = new(ops.Statements)
	if err := json.NewDecoder(resp.Body).Decode(s); err != nil {
		return nil, nil, fmt.Errorf("the statements of /-/sql: %w", err)
	}
	data, err = json.Marshal(s)
	return s, data, err
}

// renderSQL returns the text of statements, a line for each shape.
func renderSQL(s *ops.Statements, v topView) string {
	var lines []topLine
	add := func(style, format string, args ...any) {
		lines = append(lines, topLine{fmt.Sprintf(format, args...), style})
	}
	t := s.Total
	if t == nil { // it was configured anew
		t = new(ops.StatementTotal)
	}
	add(topTitle, "statements since the start: %d of %d shapes, %s in the database", t.Count, s.All,
		short(t.Seconds))
	has, hits := "would have", "would-be hits"
	if t.Mode == "serve" {
		has, hits = "has", "hits"
	}
	add(topPlain,
		"eligible %s   memory %s answered %s of those that were looked for   saves %s, %s",
		share(t.Eligible, t.Count), has, share(t.Hits, t.Looks), short(t.Saved),
		percent(t.Saved, t.Seconds))
	style := topGood
	if t.Wrong > 0 {
		style = topBad
	}
	add(style, "looks %d   %s %d   wrong %d", t.Looks, hits, t.Hits, t.Wrong)
	add(topPlain, "")
	add(topTitle, "%9s %9s %9s %9s %9s %6s  %-16s %s", "saved", "database", "count", "looks",
		"hits", "wrong", "why not", "shape")
	for i := range s.Statements {
		one := &s.Statements[i]
		why, shape := one.Passed, one.Shape
		if one.Reason != "eligible" {
			why = one.Reason
		}
		style := topPlain
		if one.Wrong > 0 {
			style = topBad
		}
		if shape == "" {
			shape = "(those beyond the shapes that are told apart)"
		}
		add(style, "%9s %9s %9d %9d %9d %6d  %-16s %s", short(one.Saved), short(one.Seconds),
			one.Count, one.Looks, one.Hits, one.Wrong, why, shape)
	}
	if rest := s.Found - len(s.Statements); rest > 0 {
		add(topPlain, "... and %d more: /-/sql?name=PART", rest)
	}
	return fit(lines, nil, v)
}

// share is a part of a number for people.
func share(part, of uint64) string { return percent(float64(part), float64(of)) }

// percent is a part of an amount for people; "-": of nothing.
func percent(part, of float64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*part/of)
}
