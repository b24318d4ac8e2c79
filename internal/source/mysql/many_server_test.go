package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// manyTables makes tables with all that is asked of one: keys, indexes, JSON, foreign keys.
func manyTables(count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "CREATE TABLE t%d (id int PRIMARY KEY, name varchar(9), doc json, up int, "+
			"KEY (name), FOREIGN KEY (up) REFERENCES t%d (id) ON DELETE CASCADE);\n", i, max(0, i-1))
	}
	return b.String()
}

// TestMariaDB_StatementsDoNotGrowWithTables: what looks at all tables asks of all of them
// together, but for parts of hundreds.
func TestMariaDB_StatementsDoNotGrowWithTables(t *testing.T) {
	server := dbtest.NewMariaDB(t, nil)
	questions := func() int {
		t.Helper()
		fields := strings.Fields(server.Exec("SHOW GLOBAL STATUS LIKE 'Questions'"))
		n, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	count := func(tables int) map[string]int {
		s := openSource(t, server.Database(t, dbtest.Setup(manyTables(tables))), Options{MaxConns: 1})
		var specs []*source.Spec
		var watched []source.Watched
		for i := range tables {
			name := fmt.Sprintf("t%d", i)
			specs = append(specs, &source.Spec{Name: name, Table: name})
			watched = append(watched, source.Watched{Table: s.cfg.DBName + "." + name,
				Columns: []string{"id"}, Writes: true})
		}
		took := make(map[string]int)
		step := func(name string, do func(context.Context) error) {
			t.Helper()
			before := questions()
			if err := do(t.Context()); err != nil {
				t.Fatalf("%s of %d tables: %v", name, tables, err)
			}
			took[name] = questions() - before
		}
		step("Catalog", func(ctx context.Context) error {
			c, err := s.Catalog(ctx)
			if err == nil && len(c.Tables) != tables {
				err = fmt.Errorf("%d tables", len(c.Tables))
			}
			return err
		})
		var plans []source.Plan
		step("CompileAll", func(ctx context.Context) (err error) {
			var errs []error
			plans, errs = s.CompileAll(ctx, specs)
			for i := range plans {
				if errs[i] != nil || len(plans[i].Shape().Fields) != 4 {
					return fmt.Errorf("%s: %v", specs[i].Name, errs[i])
				}
			}
			return nil
		})
		step("CheckAll", func(ctx context.Context) error {
			findings, errs := s.CheckAll(ctx, plans)
			for i := range plans {
				if errs[i] != nil || len(findings[i]) > 0 {
					return fmt.Errorf("%s: %v, %v", specs[i].Name, findings[i], errs[i])
				}
			}
			return nil
		})
		took["CheckAll"] -= 2 * tables // for EXPLAIN and what the server has to say about it
		step("Doctor", func(ctx context.Context) error {
			found, err := s.Doctor(ctx, source.FeedBinlog, watched)
			for _, f := range found {
				if f.Level == source.LevelError {
					return fmt.Errorf("%s", f.Text)
				}
			}
			return err
		})
		step("the feed", func(ctx context.Context) error {
			feed, why, err := s.OpenFeed(ctx, source.FeedBinlog, watched)
			if err != nil || feed == nil {
				return fmt.Errorf("no feed: %s, %v", why, err)
			}
			h := new(recorder)
			ctx, cancel := context.WithCancel(ctx)
			ended := make(chan error, 1)
			go func() { ended <- feed.Run(ctx, h) }()
			await(t, "the feed attaches", func() bool { return h.epochs() > 0 })
			cancel()
			<-ended
			return nil
		})
		return took
	}
	few, many := count(20), count(170)
	for step, n := range many {
		if more := n - few[step]; more > 20 {
			t.Errorf("%s takes %d statements of 170 tables, and %d of 20", step, n, few[step])
		}
	}
}
