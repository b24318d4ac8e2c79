package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

// sweepEvery is how often items are deleted that have expired.
const sweepEvery = time.Minute

// storeSpec returns the resource of the items of kv.store, nil when there are none.
func storeSpec(cfg *config.Config) *resource.Spec {
	if !cfg.StoresItems() {
		return nil
	}
	spec := kv.StoreSpec(config.StoreSource, resource.Access{
		Read: resource.Rule(cfg.KV.Access.Read), Write: resource.Rule(cfg.KV.Access.Write)})
	return &spec
}

// makeStore makes the table of items, and has those deleted that expire until ctx ends.
func (s *server) makeStore(ctx context.Context) error {
	if !s.cfg().StoresItems() {
		return nil
	}
	store, ok := s.sources[config.StoreSource].(source.Store)
	if !ok {
		return fmt.Errorf("kv.store: source %s keeps no tables", config.StoreSource)
	}
	if _, err := storeExec(ctx, store, kv.StoreTable); err != nil {
		return fmt.Errorf("kv.store: make the table of items: %w", err)
	}
	go func() {
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := sweep(ctx, store, time.Now().Unix()); err != nil {
				s.log.Warn("expired items are not deleted", "err", err)
			}
		}
	}()
	return nil
}

// sweep deletes all items that expired before a time, some in a transaction.
func sweep(ctx context.Context, store source.Store, now int64) error {
	for some := int64(1); some > 0; {
		var err error
		if some, err = storeExec(ctx, store, kv.StoreSweep, now); err != nil {
			return err
		}
	}
	return nil
}

// storeExec runs a statement in a transaction, and returns how many rows it has changed.
func storeExec(
	ctx context.Context, store source.Store, sql string, args ...any,
) (changed int64, err error) {
	_, err = store.Tx(ctx, func(tx source.StoreTx) (err error) {
		changed, err = tx.Exec(ctx, sql, args...)
		return err
	})
	return changed, err
}
