package clicks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/source"
)

// monthOf returns the month of a time in milliseconds.
func monthOf(ms int64) string { return schema.Month(time.UnixMilli(ms)) }

// loadMonths reads which months have a table, and takes note of those that the
// view shows too.
func (d *Drainer) loadMonths(ctx context.Context) ([]string, error) {
	made, err := schema.Months(ctx, d.store)
	if err != nil {
		return nil, err
	}
	viewed, err := schema.Viewed(ctx, d.store)
	if err != nil {
		return nil, err
	}
	d.months = make(map[string]bool, len(made))
	for _, m := range made {
		d.months[m] = slices.Contains(viewed, m)
	}
	return made, nil
}

// ensureMonths makes the tables that the batch needs, and the view over all of
// them. It is not part of the batch's transaction: MariaDB commits at each
// statement that defines a table, so that a kill in between leaves a table that
// the view does not show. The next batch of that month makes the view then.
func (d *Drainer) ensureMonths(ctx context.Context, b *batch) error {
	if d.showsAll(b) {
		return nil
	}
	list, err := d.loadMonths(ctx)
	if err != nil || d.showsAll(b) { // another node has made it
		return err
	}
	var statements []string
	for m := range b.months {
		if !slices.Contains(list, m) {
			statements = append(statements, schema.CreateMonth(d.store.Dialect(), m)...)
			list = append(list, m)
		}
	}
	statements = append(statements, schema.CreateView(d.store.Dialect(), list)...)
	if err := d.define(ctx, statements); err != nil {
		return fmt.Errorf("make the table of a month of clicks: %w", err)
	}
	for _, m := range list {
		d.months[m] = true
	}
	return nil
}

// showsAll reports whether the view shows every month of the batch.
func (d *Drainer) showsAll(b *batch) bool {
	for m := range b.months {
		if !d.months[m] {
			return false
		}
	}
	return true
}

// define runs statements that define tables.
func (d *Drainer) define(ctx context.Context, statements []string) error {
	_, err := d.store.Tx(ctx, func(tx source.StoreTx) error {
		for _, sql := range statements {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// prune drops months of raw clicks that are too old as a whole, and deletes the
// sums of hours that are. Totals and days stay.
func (d *Drainer) prune(ctx context.Context, now time.Time) error {
	if d.opts.KeepRaw > 0 {
		if err := d.dropMonths(ctx, now.Add(-d.opts.KeepRaw)); err != nil {
			return fmt.Errorf("drop months of clicks: %w", err)
		}
	}
	if d.opts.KeepHours <= 0 {
		return nil
	}
	oldest := HourOf(now.Add(-d.opts.KeepHours).UnixMilli())
	_, err := d.store.Tx(ctx, func(tx source.StoreTx) error {
		for _, table := range []string{"click_time", "click_sketches"} {
			_, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE unit = ? AND bucket < ?", UnitHour,
				oldest)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete sums of hours: %w", err)
	}
	return nil
}

// dropMonths drops the tables of months that ended before a time.
func (d *Drainer) dropMonths(ctx context.Context, before time.Time) error {
	list, err := d.loadMonths(ctx)
	if err != nil {
		return err
	}
	oldest := schema.Month(before)
	var keep, drop []string
	for _, m := range list {
		if m < oldest {
			drop = append(drop, m)
		} else {
			keep = append(keep, m)
		}
	}
	if len(drop) == 0 {
		return nil
	}
	statements := schema.CreateView(d.store.Dialect(), keep)
	for _, m := range drop {
		statements = append(statements, "DROP TABLE IF EXISTS "+schema.MonthTable(m))
	}
	if err := d.define(ctx, statements); err != nil {
		return err
	}
	d.log.Info("months of raw clicks were dropped", "months", drop)
	_, err = d.loadMonths(ctx)
	return err
}
