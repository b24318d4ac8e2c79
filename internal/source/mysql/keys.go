package mysql

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
	err := s.read(ctx, func(ctx context.Context, c *conn) error {
		keys = nil
		return c.query(ctx, query, nil, func(v []any) (err error) {
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
	ctx, cancel := s.begin(ctx, 1)
	defer cancel()
	err := s.read(ctx, func(ctx context.Context, c *conn) error {
		st, err := c.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		return st.Close()
	})
	if err != nil {
		return fmt.Errorf("query for keys: %w", err)
	}
	return nil
}
