package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// What is asked of the catalogue is not compiled to machine code by the server, which
// takes seconds for a statement of which it expects much: with hundreds of tables they
// exceeded the time that opening a feed may take, and nothing was cached. Here the
// server expects much of little.
func TestPostgres_TheCatalogueIsReadWithoutJIT(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical", "jit": "on",
		"jit_above_cost": "1500", "jit_inline_above_cost": "1500", "jit_optimize_above_cost": "1500"})
	var sql strings.Builder
	for i := range 30 {
		fmt.Fprintf(&sql, "CREATE TABLE t%d (id int PRIMARY KEY, v text UNIQUE,"+
			" parent int REFERENCES t%d (id));", i, max(0, i-1))
	}
	url := server.Database(t)
	dbtest.Psql(t, url, sql.String())
	begin := time.Now()
	r := serve(t, url)
	took := time.Since(begin)
	if strings.Contains(r.log.String(), "no feed") {
		t.Errorf("ready after %v:\n%s", took, r.log)
	}
	t.Logf("ready after %v", took)
}
