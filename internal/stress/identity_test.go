package stress

import (
	"context"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestPostgres_ReplicaIdentityCountsAtOnce: resources whose documents all go with any
// change of a table, for want of the old values of its rows, are precise as soon as the
// table has got a replica identity that has them: on several tables at once.
func TestPostgres_ReplicaIdentityCountsAtOnce(t *testing.T) {
	url := dbtest.Postgres(t)
	conn := testbed.Dial(t, url)
	var specs []resource.Spec
	names := []string{"a", "b", "c", "d"}
	for _, n := range names {
		testbed.MustExec(t, conn, "CREATE TABLE kid_"+n+" (id int PRIMARY KEY, parent int, v int);"+
			" INSERT INTO kid_"+n+" SELECT i, i, 0 FROM generate_series(1, 9) i")
		sp := ofQuery(n, "SELECT parent AS id, sum(v)::int AS v FROM kid_"+n+" WHERE parent = :key"+
			" GROUP BY 1", "kid_"+n)
		sp.Table.Depends[0].Columns = []string{"parent"}
		specs = append(specs, sp)
	}
	s := newStand(t, url, plan{Specs: specs, Mode: source.FeedLogical})
	from := func(name string) resource.Origin {
		a, err := s.Resource(name).Get(context.Background(), "1", resource.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return a.Origin
	}
	kept := func(name string) bool {
		waittest.Until(t, "a hit", func() bool { return from(name) == resource.HitMemory })
		testbed.MustExec(t, conn, "UPDATE kid_"+name+" SET v = v + 1 WHERE parent = 2")
		s.Quiet()
		return from(name) == resource.HitMemory
	}
	s.Quiet()
	for _, n := range names {
		if kept(n) {
			t.Errorf("%s is precise without the old values: the test shows nothing", n)
		}
	}
	for _, n := range names {
		testbed.MustExec(t, conn, "ALTER TABLE kid_"+n+" REPLICA IDENTITY FULL")
	}
	for _, n := range names {
		waittest.Until(t, n+" is precise", func() bool { return kept(n) })
	}
}
