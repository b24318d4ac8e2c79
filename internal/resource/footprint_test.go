package resource

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
)

// footprint is how many bytes of Go's heap a table of five columns may keep that nobody asks
// for. It kept 16,400, of which half were copies: of the catalogue, of names in maps, and of
// statements that few loads are of. It keeps 8,200.
const footprint = 12 << 10

// TestSet_KeepsLittleOfATable: of thousands of tables few are asked for.
func TestSet_KeepsLittleOfATable(t *testing.T) {
	const few, many = 100, 600
	least := heapOf(t, few)
	if grown := heapOf(t, many) - least; grown > (many-few)*footprint {
		t.Errorf("a table keeps %d bytes, want %d at most", grown/(many-few), footprint)
	} else {
		t.Logf("a table keeps %d bytes", grown/(many-few))
	}
}

// heapOf returns the size of the heap with a Set of so many tables that is followed.
func heapOf(t *testing.T, tables int) int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "many.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var ddl strings.Builder
	var specs []Spec
	for i := range tables {
		fmt.Fprintf(&ddl, "CREATE TABLE t%d (id integer PRIMARY KEY, name text NOT NULL, "+
			"price numeric, made datetime, parent_id integer REFERENCES t%d);", i, max(0, i-1))
		name := fmt.Sprintf("t%d", i)
		specs = append(specs, Spec{Source: "main", Access: Access{Read: "public"},
			Table: &source.Spec{Name: name, Table: name, Key: []string{"id"}}})
	}
	if _, err := db.Exec("BEGIN;" + ddl.String() + "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	set, err := Open(t.Context(), SetOptions{Memory: tier.NewMemory(1 << 20),
		Sources: []SourceOptions{{Name: "main", Source: src}}, Resources: specs})
	if err != nil {
		t.Fatal(err)
	}
	(&house{t: t, set: set}).ready()
	specs = nil
	var m runtime.MemStats
	for range 3 { // what is freed by finalizers, and what pools let go
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(set)
	if err := set.Close(); err != nil {
		t.Error(err)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
	return int(m.HeapAlloc)
}
