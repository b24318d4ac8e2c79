package catalog

import "testing"

// TestTable_KeepsNothingTwice: of thousands of tables each has as many columns as it has, once.
func TestTable_KeepsNothingTwice(t *testing.T) {
	b := &builder{home: "db", byName: make(map[Name]*Table)}
	b.table(Name{"db", "t"}, []any{"BASE TABLE", "InnoDB", ""})
	for i := range 5 { // append makes room for eight
		b.column(b.tables[0], []any{"c", int64(i + 1), nil, "NO", "int", "int(11)", nil, nil, nil,
			"", "select", "", nil})
	}
	b.tables[0].settle()
	if cols := b.tables[0].Cols; len(cols) != 5 || cap(cols) != 5 || b.tables[0].Columns != nil {
		t.Errorf("%d columns in room for %d, and %d more", len(cols), cap(cols), len(b.tables[0].Columns))
	}
}
