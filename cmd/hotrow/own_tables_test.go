package main

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/source"
)

// openURL opens a database to write, until the test ends.
func openURL(t *testing.T, url string) (*config.Config, source.Source) {
	t.Helper()
	cfg, _, err := config.FromURL(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	src, err := openSource(t.Context(), cfg.Sources["main"], false, true, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return cfg, src
}

// TestServe_LeavesOutItsOwnTables: a database that keeps links is served without what they
// are kept in: the keys of the API, what visitors are told apart by.
func TestServe_LeavesOutItsOwnTables(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/own.db"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, url := range map[string]string{"SQLite": file,
		"PostgreSQL": dbtest.Postgres(t), "MariaDB": dbtest.MariaDB(t)} {
		t.Run(name, func(t *testing.T) {
			cfg, src := openURL(t, url)
			if _, err := schema.Migrate(t.Context(), src.(source.Store)); err != nil {
				t.Fatal(err)
			}
			month := schema.Month(time.Now())
			own := schema.CreateMonth(src.(source.Store).Dialect(), month)
			own = append(own, schema.CreateView(src.(source.Store).Dialect(), []string{month})...)
			own = append(own, "CREATE TABLE other (id int PRIMARY KEY)")
			for _, sql := range own {
				if _, err := storeExec(t.Context(), src.(source.Store), sql); err != nil {
					t.Fatal(err)
				}
			}
			found, _, leftOut, err := discover(context.Background(), cfg, src, "main", true)
			if err != nil {
				t.Fatal(err)
			}
			for resource := range found.Resources {
				if resource != "other" {
					t.Errorf("%s is served", resource)
				}
			}
			if found.Resources["other"] == nil || !slices.ContainsFunc(leftOut,
				func(o config.Omission) bool {
					return strings.HasSuffix(o.What, "link_keys") && strings.Contains(o.Why, "own")
				}) {
				t.Errorf("served: %v; left out: %v", found.Resources, leftOut)
			}
		})
	}
}
