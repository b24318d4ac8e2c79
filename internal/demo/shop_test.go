package demo

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
)

// shop makes a demo and opens its database to write.
func shop(t *testing.T) source.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo.db")
	if err := Create(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	src, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

// number returns the one number that a query gives.
func number(t *testing.T, db source.Store, sql string) (n int64) {
	t.Helper()
	err := db.Query(t.Context(), sql, nil, func(r source.StoreRow) error { n = r.Int(0); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestShop_HasTenThousandRowsThatBelongTogether(t *testing.T) {
	db := shop(t)
	all := int64(0)
	for _, table := range []string{"products", "customers", "orders", "order_lines", "reviews"} {
		n := number(t, db, "SELECT count(*) FROM "+table)
		t.Logf("%s: %d", table, n)
		all += n
	}
	if all < 9_000 || all > 11_000 {
		t.Errorf("the shop has %d rows, want some 10,000", all)
	}
	for what, sql := range map[string]string{
		"names of products that are there twice": "SELECT count(*) - count(DISTINCT name) FROM products",
		"prices that are none":                   "SELECT count(*) FROM products WHERE price < 1 OR price > 200",
		"orders without a line": "SELECT count(*) FROM orders " +
			"WHERE id NOT IN (SELECT order_id FROM order_lines)",
		"broken references": "SELECT count(*) FROM pragma_foreign_key_check",
	} {
		if n := number(t, db, sql); n != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
}

// TestStory_ChangesFewRowsAtEachStep runs the story twice: a demo is started again.
func TestStory_ChangesFewRowsAtEachStep(t *testing.T) {
	db := shop(t)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	before := number(t, db, "SELECT count(*) FROM reviews")
	var changed [2]int64
	for again := range changed {
		for step := range 860 {
			if diff := cmp.Diff(Story(step, now), Story(step, now)); diff != "" {
				t.Fatalf("step %d differs:\n%s", step, diff)
			}
			_, err := db.Tx(t.Context(), func(tx source.StoreTx) error {
				for _, sql := range Story(step, now) {
					n, err := tx.Exec(t.Context(), sql)
					if err != nil || n > 1 {
						t.Errorf("step %d: %d rows, %v: %s", step, n, err, sql)
					}
					changed[again] += n
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, n := range changed {
		if n < 700 {
			t.Errorf("860 steps changed %d rows", n)
		}
	}
	for what, sql := range map[string]string{
		"stocks below nothing": "SELECT count(*) FROM products WHERE stock < 0",
		"prices that run away": "SELECT count(*) FROM products WHERE price < 1 OR price > 300",
		"broken references":    "SELECT count(*) FROM pragma_foreign_key_check",
	} {
		if n := number(t, db, sql); n != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
	if n := number(t, db, "SELECT count(*) FROM reviews") - before; n < 20 || n > 60 {
		t.Errorf("the story wrote %d reviews", n)
	}
	if n := number(t, db, "SELECT count(DISTINCT status) FROM orders"); n < 2 {
		t.Errorf("all orders have one status")
	}
}

func TestClicks_AreOfTheMonthBefore(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 34, 56, 0, time.UTC)
	all := Clicks(now)
	if len(all) < 3_000 || len(all) > 10_000 {
		t.Errorf("%d clicks", len(all))
	}
	known := make(map[string]bool)
	for i := range len(namedLinks) + len(plainLinks) {
		known[linkCode(i)] = true
	}
	if len(known) != 200 {
		t.Errorf("%d links, want 200", len(known))
	}
	first := now.Add(-(clickDays*24 + 1) * time.Hour)
	for i, c := range all {
		if !known[c.Code] || c.At.Before(first) || c.At.After(now) || c.Agent == "" {
			t.Fatalf("click %d: %+v", i, c)
		}
		if i > 0 && c.At.Before(all[i-1].At) {
			t.Fatalf("click %d is older than the one before", i)
		}
	}
	if diff := cmp.Diff(all, Clicks(now)); diff != "" {
		t.Errorf("they differ:\n%s", diff)
	}
}
