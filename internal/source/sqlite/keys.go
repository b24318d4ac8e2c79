package sqlite

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

var _ source.KeyFinder = (*Source)(nil)

// Keys implements source.KeyFinder.
func (s *Source) Keys(ctx context.Context, query string) ([]row.Key, error) {
	var keys []row.Key
	err := s.readPool().use(ctx, func(c *conn) error {
		return c.queryOnce(ctx, query, nil, func(v []any) (err error) {
			keys, err = source.AppendKey(keys, v)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("query for keys: %w", err)
	}
	return keys, nil
}

// CheckKeys implements source.KeyFinder.
func (s *Source) CheckKeys(ctx context.Context, query string) error {
	err := s.readPool().use(ctx, func(c *conn) error {
		if err := c.learn(ctx); err != nil {
			return err
		}
		_, err := c.c.ColumnInfo(query)
		return wrap(err)
	})
	if err != nil {
		return fmt.Errorf("query for keys: %w", err)
	}
	return nil
}
