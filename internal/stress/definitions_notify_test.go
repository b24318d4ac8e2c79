package stress

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
)

// TestPostgres_NotifyNoticesTablesWithoutTriggers: a table that is put in the place of one
// with triggers has none, and nobody tells of its rows. Nothing of before is a hit for longer
// than any change may take, and reads go to the database.
func TestPostgres_NotifyNoticesTablesWithoutTriggers(t *testing.T) {
	for _, r := range redefinitions() {
		if r.only != source.FeedLogical || strings.Contains(r.name, "publication") {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			url := dbtest.Postgres(t)
			conn := testbed.Dial(t, url)
			testbed.MustExec(t, conn, r.setup)
			bypass := resource.LagBypass
			r.spec.Stale.OnLag = &bypass
			doctored(t, url, []resource.Spec{r.spec})
			s := newStand(t, url, plan{Specs: []resource.Spec{r.spec}, Mode: source.FeedNotify})
			s.redefine(t, r, func(sql string) { testbed.MustExec(t, conn, "BEGIN; "+sql+"; COMMIT") })
		})
	}
}
