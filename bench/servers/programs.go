package servers

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/internal/demo"
)

// withPrograms adds the servers that programs with ordinary clients ask to others.
func withPrograms(all map[string]harness.Starter) map[string]harness.Starter {
	maps.Copy(all, map[string]harness.Starter{
		"hotrow-all": startHotrowAll, "postgres": startPostgresAlone,
	})
	return all
}

// startHotrowAll starts hotrow with all its protocols.
func startHotrowAll(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	var at [3]string
	for i := range at {
		var err error
		if at[i], _, err = harness.Loopback(); err != nil {
			return nil, err
		}
	}
	r, err := startHotrowWith(ctx, w, on, dir, flavour{wire: at[0],
		fronts: fmt.Sprintf("resp: {listen: %q}\nmemcache: {listen: %q}\n", at[1], at[2])})
	if err == nil {
		r.Others = []string{"hotrow://" + at[0], "redis://" + at[1], "memcache://" + at[2]}
	}
	return r, err
}

// startPostgresAlone starts PostgreSQL with each document in a row of a table, so that it
// is found as fast as it can be.
func startPostgresAlone(
	ctx context.Context, w *harness.Fixture, _ harness.Placement, dir string,
) (*harness.Server, error) {
	db, err := startPostgres(ctx, w, dir)
	if err != nil {
		return nil, err
	}
	var sql strings.Builder
	sql.WriteString("CREATE TABLE docs (id integer PRIMARY KEY, doc text NOT NULL);\n")
	err = harness.EachDocument(w.Docs, func(n int, body []byte) error {
		fmt.Fprintf(&sql, "INSERT INTO docs VALUES (%d, $doc$%s$doc$);\n", demo.FirstDept+n, body)
		return nil
	})
	if err == nil {
		err = db.psql(ctx, io.MultiReader(strings.NewReader("BEGIN;\n"),
			strings.NewReader(sql.String()), strings.NewReader("COMMIT; VACUUM ANALYZE docs;\n")))
	}
	if err != nil {
		db.server.Stop()
		return nil, db.server.Failed(err)
	}
	r := harness.NewDatabase(db.server, db.url(), w.Opts.Keys)
	r.Database = db.url()
	return r, nil
}
