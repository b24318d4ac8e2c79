package demo

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source/postgres"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestPostgres_HasTheSameDocuments loads the script and compares documents with
// those of the SQLite file.
func TestPostgres_HasTheSameDocuments(t *testing.T) {
	script := PostgresSQL() + strings.Join(PostgresScaleSQL(0, 3), ";\n")
	url := dbtest.Postgres(t, dbtest.Setup(script))
	src, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	cfg, _, err := config.Parse("demo", YAML(url), nil)
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := compile(t, cfg, src), open(t, Options{Scale: 3})
	keys := map[string][]row.Key{
		"depts": {"10", "20", "30", "40", row.Key(strconv.Itoa(FirstDept + 2))},
		"emps":  {"7839", "7369", "10000029"},
		"users": {"0", "42", "9999"},
	}
	for resource, list := range keys {
		for _, key := range list {
			want := string(document(t, ours[resource], key))
			got := string(document(t, theirs[resource], key))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s/%s (-SQLite +PostgreSQL):\n%s", resource, key, diff)
			}
		}
	}
}
