package stress

import (
	"context"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestPostgres_TableThatComesBack: a table that is dropped, and made some time later, is one
// whose changes the feed tells again before anything of it is kept.
func TestPostgres_TableThatComesBack(t *testing.T) {
	for _, mode := range []source.FeedMode{source.FeedLogical, source.FeedNotify} {
		t.Run(string(mode), func(t *testing.T) {
			at := dbtest.Postgres(t)
			conn := testbed.Dial(t, at)
			testbed.MustExec(t, conn, plain("x"))
			specs := []resource.Spec{testbed.Spec("x")}
			if mode == source.FeedNotify {
				doctored(t, at, specs)
			}
			s := newStand(t, at, plan{Specs: specs, Mode: mode})
			read := func() (string, resource.Origin) {
				a, err := s.Resource("x").Get(context.Background(), "1",
					resource.Options{Format: row.FormatJSON})
				if err != nil {
					return err.Error(), resource.Bypassed
				}
				return string(a.Doc.Body()), a.Origin
			}
			hit := func() bool { _, from := read(); return from == resource.HitMemory }
			waittest.Until(t, "a hit", hit)
			testbed.MustExec(t, conn, "DROP TABLE x")
			testbed.Pause(t.Context(), 2*definitionBound)
			testbed.MustExec(t, conn, plain("x"))
			if mode == source.FeedLogical { // which adds the table to its publication
				waittest.Until(t, "a hit of the new table", hit)
			}
			for _, v := range []string{"one", "two", "three"} {
				testbed.MustExec(t, conn, "UPDATE x SET v = '"+v+"'")
				testbed.Pause(t.Context(), 2*definitionBound)
				if now, from := read(); from != resource.HitStale && !strings.Contains(now, v) {
					t.Errorf("x is %s from %v, and should be %s", now, from, v)
				}
				for range 20 {
					read()
				}
			}
		})
	}
}
