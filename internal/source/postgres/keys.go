package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

var _ source.KeyFinder = (*Source)(nil)

// Keys implements source.KeyFinder. The simple protocol gives every value as
// text, which is how keys are spelled.
func (s *Source) Keys(ctx context.Context, query string) ([]row.Key, error) {
	var keys []row.Key
	err := s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		keys = nil
		results := conn.PgConn().Exec(ctx, query)
		for results.NextResult() {
			rows := results.ResultReader()
			for rows.NextRow() {
				var values []any
				for _, v := range rows.Values() {
					if v == nil {
						values = append(values, nil)
						continue
					}
					values = append(values, string(v))
				}
				var err error
				if keys, err = source.AppendKey(keys, values); err != nil {
					_ = results.Close() // the error that counts is the row's
					return err
				}
			}
		}
		return results.Close()
	})
	if err != nil {
		return nil, fmt.Errorf("query for keys: %w", err)
	}
	return keys, nil
}

// CheckKeys implements source.KeyFinder.
func (s *Source) CheckKeys(ctx context.Context, query string) error {
	ctx, cancel := s.begin(ctx, 1)
	defer cancel()
	err := s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		d, err := conn.PgConn().Prepare(ctx, "", query, nil)
		if err == nil && len(d.Fields) == 0 {
			err = source.ErrNoColumns
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("query for keys: %w", err)
	}
	return nil
}
