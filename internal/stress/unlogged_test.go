package stress

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// An unlogging puts rows of a table that is served where no log has their changes.
type unlogging struct {
	name, setup, do, mend string
	spec                  resource.Spec
}

// partitionedDeep is a table whose row 1 is in a partition of a partition.
const partitionedDeep = `CREATE TABLE x (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
	CREATE TABLE x_1 PARTITION OF x FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id);
	CREATE TABLE x_11 PARTITION OF x_1 FOR VALUES FROM (0) TO (5);
	INSERT INTO x VALUES (1, 'old')`

func unloggings() []unlogging {
	set, unset := "ALTER TABLE x_1 SET UNLOGGED", "ALTER TABLE x_1 SET LOGGED"
	kept := partitioned("x")
	dept := "; CREATE TABLE dept (id int PRIMARY KEY); INSERT INTO dept VALUES (1)"
	return []unlogging{
		{"partition", kept, set, unset, testbed.Spec("x")},
		{"partition of a partition", partitionedDeep, "ALTER TABLE x_11 SET UNLOGGED",
			"ALTER TABLE x_11 SET LOGGED", testbed.Spec("x")},
		{"partition that is attached", kept + "; CREATE UNLOGGED TABLE x_3 (LIKE x INCLUDING ALL);" +
			" INSERT INTO x_3 VALUES (1, 'old')", "ALTER TABLE x DETACH PARTITION x_1;" +
			" ALTER TABLE x ATTACH PARTITION x_3 FOR VALUES FROM (0) TO (10)",
			"ALTER TABLE x_3 SET LOGGED", testbed.Spec("x")},
		{"partition that is made", kept, "DROP TABLE x_1;" +
			" CREATE UNLOGGED TABLE x_1 PARTITION OF x FOR VALUES FROM (0) TO (10);" +
			" INSERT INTO x VALUES (1, 'old')", unset, testbed.Spec("x")},
		{"embedded rows", kept + dept, set, unset, testbed.Spec("dept", source.Embed{Name: "xs",
			On: []string{"id"}, Spec: &source.Spec{Table: "x"}})},
		{"query", kept, set, unset, ofQuery("x", "SELECT id, v FROM x WHERE id = :key", "x")},
		{"query of the partition", kept, set, unset,
			ofQuery("x", "SELECT id, v FROM x_1 WHERE id = :key", "x")},
	}
}

// TestPostgres_UnloggedPartitions: when a partition is no more in the log, or one that is
// not comes, beside reads, no answer of before a change there is given that is not flagged.
func TestPostgres_UnloggedPartitions(t *testing.T) {
	t.Parallel() // it waits, most of the time
	for _, mode := range []source.FeedMode{source.FeedLogical, source.FeedAuto, source.FeedNotify} {
		for _, u := range unloggings() {
			if mode != source.FeedLogical && u.name != "partition" {
				continue
			}
			t.Run(string(mode)+" "+u.name, func(t *testing.T) {
				url := dbtest.Postgres(t)
				conn := testbed.Dial(t, url)
				testbed.MustExec(t, conn, u.setup)
				bypass := resource.LagBypass
				u.spec.Stale.OnLag = &bypass
				if mode == source.FeedNotify {
					doctored(t, url, []resource.Spec{u.spec})
				}
				s := newStand(t, url, plan{Specs: []resource.Spec{u.spec}, Mode: mode})
				s.unlog(u, func(sql string) { testbed.MustExec(t, conn, "BEGIN; "+sql+"; COMMIT") })
			})
		}
	}
}

// unlog reads a document, and its list, while a partition gets out of the log by exec.
func (s *stand) unlog(u unlogging, exec func(sql string)) {
	s.T.Helper()
	res := s.Resource(u.spec.Table.Name)
	read := func() (string, resource.Origin) {
		a, err := res.Get(context.Background(), "1", resource.Options{Format: row.FormatJSON})
		if err != nil {
			s.T.Fatal(err)
		}
		return string(a.Doc.Body()), a.Origin
	}
	hit := func() bool { _, from := read(); return from == resource.HitMemory }
	waittest.Until(s.T, "a hit", hit)
	exec(u.do)
	testbed.Pause(s.T.Context(), definitionBound)
	for i := range 20 {
		want := fmt.Sprint("new", i)
		exec("UPDATE x SET v = '" + want + "' WHERE id = 1")
		testbed.Pause(s.T.Context(), definitionBound/10)
		for range 3 {
			if now, from := read(); from != resource.HitStale && !strings.Contains(now, want) {
				s.T.Fatalf("%s from %v, want %s", now, from, want)
			}
		}
	}
	if hit() {
		s.T.Error("a row is kept whose changes nobody tells")
	}
	exec(u.mend)
	waittest.Until(s.T, "a hit after it is in the log again", hit)
	exec("UPDATE x SET v = 'last' WHERE id = 1")
	testbed.Pause(s.T.Context(), definitionBound)
	if now, from := read(); from != resource.HitStale && !strings.Contains(now, "last") {
		s.T.Errorf("%s from %v", now, from)
	}
}
