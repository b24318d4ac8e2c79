package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// A plan is one resource, compiled.
type plan struct {
	*document.Plan
	s *Source
}

var _ source.Plan = (*plan)(nil)

// Load reads the documents of keys. A key that a query would take for the present time is
// none.
func (p *plan) Load(ctx context.Context, keys []row.Key) ([]source.Loaded, error) {
	if p.Query != nil {
		q := p.Query.Native.(*query)
		for _, k := range keys {
			k, err := p.ParseKey(k)
			if err == nil {
				parts, _ := row.SplitKey(k, len(p.Parts))
				err = q.checkKey(parts)
			}
			if err != nil {
				return nil, fmt.Errorf("load %s: %w", p.Name, err)
			}
		}
	}
	return p.Plan.Load(ctx, keys)
}

// A database is a Source as the engine sees it. It implements document.Database.
type database struct{ *Source }

// Writable implements document.Database.
func (d database) Writable() error {
	if d.o.ReadOnly {
		return errReadOnly()
	}
	return nil
}

// Begin implements document.Database. Nothing but the caller bounds the time.
func (d database) Begin(ctx context.Context, _ int) (context.Context, context.CancelFunc) {
	return ctx, func() {}
}

// Read implements document.Database.
func (d database) Read(
	ctx context.Context, snapshot bool, fn func(context.Context, document.Conn) error,
) error {
	err := d.readPool().use(ctx, func(c *conn) error {
		if !snapshot {
			return fn(ctx, engineConn{c})
		}
		return c.snapshot(ctx, func() error { return fn(ctx, engineConn{c}) })
	})
	if seen := source.SeenOf(ctx); seen != nil && err == nil {
		seen.Note(d.writerNow().seen(ctx))
	}
	return err
}

// Transact implements document.Database. Only one connection writes, so that a transaction
// has no need to be repeated.
func (d database) Transact(
	ctx context.Context, t *document.Transaction,
) (document.Committed, bool, error) {
	pos, err := d.writerNow().change(ctx, func(c *conn) error {
		return t.Run(ctx, engineConn{c})
	}, t.Touch)
	return document.Committed{Position: pos, Mark: uint64(pos)}, false, err
}

// Classify implements document.Database.
func (d database) Classify(err error) error {
	if errors.Is(err, row.ErrKey) {
		return err
	}
	return wrap(err)
}
