package schema

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/source"
)

// moveSketches takes the sketches out of click_time, where how many visitors each
// stands for takes their place: null until somebody clicks again.
func (m *migrator) moveSketches(ctx context.Context) error {
	const table = "click_time"
	moved, err := m.lacks(ctx, table, "hll")
	if err != nil {
		return err
	}
	var statements []string
	if !moved {
		statements = append(statements, "INSERT INTO click_sketches (link_id, unit, bucket, hll)"+
			" SELECT t.link_id, t.unit, t.bucket, t.hll FROM click_time t WHERE t.hll IS NOT NULL"+
			" AND NOT EXISTS (SELECT 1 FROM click_sketches s WHERE s.link_id = t.link_id"+
			" AND s.unit = t.unit AND s.bucket = t.bucket)",
			"ALTER TABLE click_time DROP COLUMN hll")
	}
	if missing, err := m.lacks(ctx, table, "visitors"); err != nil {
		return err
	} else if missing {
		statements = append(statements,
			types[m.d].Replace("ALTER TABLE click_time ADD COLUMN visitors {int}"))
	}
	for _, sql := range statements {
		if _, err := m.tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	return nil
}

// lacks reports whether a table has no column of that name.
func (m *migrator) lacks(ctx context.Context, table, column string) (bool, error) {
	sql := map[source.Dialect]string{
		source.DialectSQLite: "SELECT 1 FROM pragma_table_info(?) WHERE name = ?",
		source.DialectPostgres: "SELECT 1 FROM pg_catalog.pg_attribute" +
			" WHERE attrelid = to_regclass(?) AND attname = ? AND NOT attisdropped",
		source.DialectMySQL: "SELECT 1 FROM information_schema.COLUMNS" +
			" WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND COLUMN_NAME = ?",
	}[m.d]
	lacks := true
	err := m.tx.Query(ctx, sql, []any{table, column}, func(source.StoreRow) error {
		lacks = false
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("look for column %s of %s: %w", column, table, err)
	}
	return lacks, nil
}
