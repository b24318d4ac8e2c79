package postgres

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/source"
)

// TestPostgres_DomainsOverEnumsUseIndexes: what a column of a domain over an enum is cast to
// where it is compared keeps no index from being used, nor from giving the order.
func TestPostgres_DomainsOverEnumsUseIndexes(t *testing.T) {
	s := newSource(t, `DO $$ BEGIN EXECUTE 'CREATE TYPE en AS ENUM (' ||
			(SELECT string_agg(format('%L', 'l' || i), ',' ORDER BY i) FROM generate_series(1, 500) i) || ')'; END $$`,
		"CREATE DOMAIN den AS en", "CREATE DOMAIN deep AS den",
		"CREATE TABLE x (k den, id int, v deep NOT NULL, PRIMARY KEY (k, id))",
		"CREATE INDEX v_index ON x (v, k, id)",
		`INSERT INTO x SELECT ('l' || i % 50 + 1)::en, i, ('l' || i % 500 +
			1)::en FROM generate_series(1, 20000) i`,
		"ANALYZE x")
	p := mustCompile(t, s, &source.Spec{Table: "x"})
	for raw, index := range map[string]string{"v=eq.l7": "v_index", "v=in.(l7,l9)": "v_index",
		"v=gt.l490&order=v,k,id&limit=5": "v_index", "order=v,k,id&limit=5": "v_index", "limit=5": "x_pkey",
		"k=eq.l3&id=eq.7": "x_pkey", "k=gt.l3&order=k,id&limit=5": "x_pkey"} {
		plan, err := listPlan(t, p, raw)
		if err != nil || !strings.Contains(plan, index) || strings.Contains(plan,
			"Sort") && strings.Contains(raw, "limit") {
			t.Errorf("%s: %v\n%s", raw, err, plan)
		}
	}
}
