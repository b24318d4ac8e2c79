package mysql

import (
	"context"
	"fmt"
	"strings"
)

// Exec runs statements in one transaction, without the limit on the time of a
// statement, on a connection that is not used again. Statements that define
// tables commit what is before them: the server knows no other way.
func (s *Source) Exec(ctx context.Context, statements ...string) error {
	c, err := s.controlConn(ctx)
	if err != nil {
		return err
	}
	defer c.discard()
	v, err := c.server()
	if err != nil {
		return err
	}
	before := []string{"SET SESSION " + v.timeLimit(0), "SET SESSION innodb_lock_wait_timeout = 50"}
	for _, sql := range append(before, "START TRANSACTION") {
		if err := c.exec(ctx, sql); err != nil {
			return classify(err)
		}
	}
	for _, sql := range statements {
		if err := c.exec(ctx, sql); err != nil {
			return fmt.Errorf("run %q: %w", firstLine(sql), classify(err))
		}
	}
	return classify(c.commit(ctx))
}

// firstLine shortens a statement for an error.
func firstLine(sql string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(sql), "\n")
	if len(line) > 200 {
		line = line[:200] + "..."
	}
	return line
}
