package postgres

import (
	"context"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// alone matches the statements that PostgreSQL does not run in a transaction.
var alone = regexp.MustCompile(`(?is)^\s*(VACUUM\b|ALTER\s+SYSTEM\b|(CREATE|DROP)\s+DATABASE\b|` +
	`(CREATE|DROP)\s+TABLESPACE\b|(CREATE|DROP)\s+SUBSCRIPTION\b|` +
	`(CREATE\s+(UNIQUE\s+)?|DROP\s+)INDEX\s+CONCURRENTLY\b|REINDEX\b.*\bCONCURRENTLY\b)`)

// Exec runs statements in one transaction, without the limit on the time of a
// statement. One that cannot run in a transaction, such as CREATE INDEX
// CONCURRENTLY, runs by itself: those before it are committed first.
func (s *Source) Exec(ctx context.Context, statements ...string) error {
	for len(statements) > 0 {
		n := 0
		for n < len(statements) && !alone.MatchString(statements[n]) {
			n++
		}
		var err error
		if n > 0 {
			err = s.execTogether(ctx, statements[:n])
		} else {
			n, err = 1, s.execAlone(ctx, statements[0])
		}
		s.wrote(0)
		if err != nil {
			return err
		}
		statements = statements[n:]
	}
	return nil
}

// execTogether runs statements in one transaction.
func (s *Source) execTogether(ctx context.Context, statements []string) error {
	pooled, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer pooled.Release()
	tx, err := pooled.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadWrite})
	if err != nil {
		return classify(err)
	}
	// After a commit there is nothing to roll back; without one, a connection
	// that cannot is closed when it is released.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, "SET LOCAL statement_timeout = 0"); err != nil {
		return classify(err)
	}
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("run %q: %w", sql, classify(err))
		}
	}
	return classify(commitTx(ctx, tx))
}

// execAlone runs one statement outside a transaction, on a connection of its
// own: what it sets there is gone with it.
func (s *Source) execAlone(ctx context.Context, sql string) error {
	cfg := s.cfg.ConnConfig.Copy()
	cfg.RuntimeParams["statement_timeout"] = "0"
	delete(cfg.RuntimeParams, "default_transaction_read_only")
	conn, err := feed.Connect(ctx, cfg)
	if err != nil {
		return classify(err)
	}
	_, err = conn.Exec(ctx, sql)
	if e := conn.Close(ctx); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("run %q: %w", sql, classify(err))
	}
	return nil
}
