package stress

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestPostgres_DeferrableKeyIsNotPublished: PostgreSQL refuses updates of a published table
// whose key is deferrable, so that hotrow leaves it out of its publication: that nobody can
// write any more would be worse than that it is read from the database.
func TestPostgres_DeferrableKeyIsNotPublished(t *testing.T) {
	at := dbtest.Postgres(t)
	conn := testbed.Dial(t, at)
	testbed.MustExec(t, conn, plain("x"), plain("y"),
		"ALTER TABLE x DROP CONSTRAINT x_pkey, ADD PRIMARY KEY (id) DEFERRABLE")
	s := newStand(t, at, plan{Mode: source.FeedAuto, Specs: []resource.Spec{testbed.Spec("x"), testbed.Spec("y")}})
	waittest.Until(t, "a hit of y", func() bool {
		_, status := s.answer("y/1")
		return strings.Contains(status, "detail=mem")
	})
	for _, v := range []string{"one", "two"} {
		testbed.MustExec(t, conn, "UPDATE x SET v = '"+v+"' WHERE id = 1")
		if now, status := s.answer("x/1"); !strings.Contains(now, v) {
			t.Errorf("x is %s (%s), and should be %s", now, status, v)
		}
	}
}
