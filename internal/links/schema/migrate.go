package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// versions is the table that says which steps have been taken. A step whose at
// is 0 was begun and not finished, which only a database can show that commits
// at each statement that defines a table.
const versions = "hotrow_links"

// A Report says what Migrate has done.
type Report struct {
	From, To int      // versions; From 0: there was nothing
	Steps    []string // the names of the steps that were taken
}

// String returns the report in one line.
func (r Report) String() string {
	if len(r.Steps) == 0 {
		return fmt.Sprintf("the tables of links are up to date (version %d)", r.To)
	}
	return fmt.Sprintf("the tables of links are now of version %d, were of %d: added %s",
		r.To, r.From, strings.Join(r.Steps, ", "))
}

// Migrate makes the tables that are missing. Two programs that do so at the
// same time wait for each other. On SQLite and PostgreSQL either everything
// happens or nothing; on MariaDB and MySQL, which cannot, an interrupted
// migration is taken up again by the next one.
func Migrate(ctx context.Context, s source.Store) (Report, error) {
	var report Report
	_, err := s.Tx(ctx, func(tx source.StoreTx) error {
		m := &migrator{d: s.Dialect(), tx: tx, now: time.Now().UnixMilli()}
		report = Report{}
		return m.locked(ctx, func() error {
			var err error
			report, err = m.run(ctx)
			return err
		})
	})
	if err != nil {
		return Report{}, fmt.Errorf("migrate the tables of links: %w", err)
	}
	return report, nil
}

// A migrator is one run of Migrate within its transaction.
type migrator struct {
	d   source.Dialect
	tx  source.StoreTx
	now int64
}

// locked runs fn while no other migrator runs. SQLite has one writer anyway.
func (m *migrator) locked(ctx context.Context, fn func() error) error {
	switch m.d {
	case source.DialectPostgres:
		_, err := m.tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('hotrow.links.schema'))")
		if err != nil {
			return err
		}
	case source.DialectMySQL:
		got := int64(0)
		err := m.tx.Query(ctx, "SELECT GET_LOCK('hotrow.links.schema', 4)", nil,
			func(r source.StoreRow) error {
				got = r.Int(0)
				return nil
			})
		if err == nil && got != 1 {
			err = errors.New("another program migrates them; try again when it is done")
		}
		if err != nil {
			return err
		}
		defer func() { // the lock is the session's, which goes back to the pool
			_, _ = m.tx.Exec(context.WithoutCancel(ctx), "DO RELEASE_LOCK('hotrow.links.schema')")
		}()
	}
	return fn()
}

// run takes the steps that are missing.
func (m *migrator) run(ctx context.Context) (Report, error) {
	sql := types[m.d].Replace("CREATE TABLE IF NOT EXISTS " + versions +
		" (version {int} PRIMARY KEY, name {name} NOT NULL, at {int} NOT NULL)")
	if _, err := m.tx.Exec(ctx, sql); err != nil {
		return Report{}, err
	}
	done, begun, err := m.taken(ctx)
	if err != nil {
		return Report{}, err
	}
	r := Report{From: done, To: max(done, Latest)}
	if done > Latest {
		return r, fmt.Errorf("they are of version %d, this hotrow knows %d: "+
			"it was changed by a newer one, which has to be used from now on", done, Latest)
	}
	for i := range steps {
		st := &steps[i]
		if st.version <= done {
			continue
		}
		if err := m.take(ctx, st, begun == st.version); err != nil {
			return r, fmt.Errorf("step %d (%s): %w", st.version, st.name, err)
		}
		r.Steps = append(r.Steps, st.name)
	}
	return r, nil
}

// taken returns the last step that was finished, and the one that was begun.
func (m *migrator) taken(ctx context.Context) (done, begun int, err error) {
	err = m.tx.Query(ctx, "SELECT version, at FROM "+versions+" ORDER BY version", nil,
		func(r source.StoreRow) error {
			if r.Int(1) == 0 {
				begun = int(r.Int(0))
			} else {
				done = int(r.Int(0))
			}
			return nil
		})
	return done, begun, err
}

// take takes one step. again says that it was begun before.
func (m *migrator) take(ctx context.Context, st *step, again bool) error {
	if !again {
		if err := m.free(ctx, st); err != nil {
			return err
		}
		_, err := m.tx.Exec(ctx, "INSERT INTO "+versions+" (version, name, at) VALUES (?, ?, 0)",
			st.version, st.name)
		if err != nil {
			return err
		}
	}
	for i := range st.tables {
		for _, sql := range st.tables[i].create(m.d) {
			if _, err := m.tx.Exec(ctx, sql); err != nil {
				return fmt.Errorf("table %s: %w", st.tables[i].name, err)
			}
		}
	}
	if st.change != nil {
		if err := st.change(m, ctx); err != nil {
			return err
		}
	}
	_, err := m.tx.Exec(ctx, "UPDATE "+versions+" SET at = ? WHERE version = ?", m.now, st.version)
	return err
}

// free returns an error when a table of the step is there already: it is
// another program's.
func (m *migrator) free(ctx context.Context, st *step) error {
	sql := map[source.Dialect]string{
		source.DialectSQLite: "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')",
		source.DialectPostgres: "SELECT c.relname::text FROM pg_catalog.pg_class c" +
			" WHERE pg_catalog.pg_table_is_visible(c.oid)",
		source.DialectMySQL: "SELECT TABLE_NAME FROM information_schema.TABLES" +
			" WHERE TABLE_SCHEMA = DATABASE()",
	}[m.d]
	var taken []string
	err := m.tx.Query(ctx, sql, nil, func(r source.StoreRow) error {
		name := r.Text(0)
		if slices.ContainsFunc(st.tables, func(t table) bool {
			return strings.EqualFold(t.name, name)
		}) {
			taken = append(taken, name)
		}
		return nil
	})
	if err != nil || len(taken) == 0 {
		return err
	}
	return fmt.Errorf("there is a table %s that hotrow has not made; give links a database "+
		"(or a schema) of their own with links.database", strings.Join(taken, ", "))
}
