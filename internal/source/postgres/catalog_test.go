package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/waittest"
)

// asError is errors.As for a source.Error.
func asError(err error, e **source.Error) bool { return errors.As(err, e) }

func TestPostgres_Catalog(t *testing.T) {
	s := newSource(t,
		`CREATE SCHEMA other`, `CREATE SCHEMA hotrow`, `CREATE EXTENSION citext`, `CREATE TYPE `+
			`mood AS ENUM ('a')`,
		`CREATE TABLE dept (deptno bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, dname `+
			`varchar(9) NOT NULL)`,
		`COMMENT ON TABLE dept IS 'departments'`, `COMMENT ON COLUMN dept.dname IS 'its name'`,
		`CREATE TABLE emp (a int, b smallint DEFAULT 3, d int REFERENCES dept (deptno),
			m mood, c citext,
			twice int GENERATED ALWAYS AS (a * 2) STORED, x inet[], PRIMARY KEY (b, a))`,
		`CREATE TABLE other.nokey (a int)`, `CREATE UNLOGGED TABLE unl (a int PRIMARY KEY)`,
		`CREATE TABLE secure (a int PRIMARY KEY)`, `ALTER TABLE secure ENABLE ROW LEVEL SECURITY`,
		`CREATE TABLE part (a int PRIMARY KEY) PARTITION BY RANGE (a)`,
		`CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10)`,
		`CREATE TABLE half (a int PRIMARY KEY) PARTITION BY RANGE (a)`,
		`CREATE UNLOGGED TABLE other.half1 PARTITION OF half FOR VALUES FROM (0) TO (10)`,
		`CREATE VIEW v AS SELECT * FROM dept`, `CREATE MATERIALIZED VIEW mv AS SELECT * FROM dept`,
		`CREATE TABLE doc (d jsonb PRIMARY KEY)`, `CREATE TABLE list (a int, l int[], PRIMARY KEY (a, l))`,
		`CREATE TABLE parent (a int PRIMARY KEY)`, `CREATE TABLE heir (b int PRIMARY KEY) INHERITS (parent)`,
		`CREATE TABLE hotrow_links (a int PRIMARY KEY)`, `CREATE TABLE hotrow.x (a int PRIMARY `+
			`KEY)`)
	c, err := s.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, tab := range c.Tables {
		got[tab.ID()] = tab.Refused
	}
	want := map[string]string{
		"public.dept": "", "public.emp": "", "public.part": "", "other.nokey": "no primary key",
		"public.unl": "unlogged: its changes are not in the write-ahead log",
		"public.half": "partitioned, and its partition other.half1 is unlogged:" +
			" its changes are not in the write-ahead log",
		"public.secure": "row-level security",
		"public.v":      "a view: its key and the tables that it depends on must be configured",
		"public.mv":     "a materialized view: its changes are not in the write-ahead log",
		"public.doc":    "its key column d is jsonb, which no path can name",
		"public.list":   "its key column l is integer[], which no path can name",
		"public.parent": "other tables inherit from it: use declarative partitions",
		"public.heir":   "",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	dept, _ := c.Table("dept")
	wantDept := &source.Table{Schema: "public", Name: "dept", Default: true,
		Comment: "departments",
		Key:     []string{"deptno"}, Columns: []source.Column{
			{Name: "deptno", Kind: row.Int, Native: "bigint", NotNull: true, Default: true,
				Generated: true, Bits: 64},
			{Name: "dname", Kind: row.Text, Native: "character varying(9)", NotNull: true,
				Comment: "its name"}}}
	if d := cmp.Diff(wantDept, dept); d != "" {
		t.Error(d)
	}
	emp, _ := c.Table("public.emp")
	wantEmp := &source.Table{Schema: "public", Name: "emp", Default: true,
		Key: []string{"b", "a"},
		Foreign: []source.ForeignKey{{Name: "emp_d_fkey", Columns: []string{"d"}, Table: "public.dept",
			References: []string{"deptno"}}},
		Columns: []source.Column{
			{Name: "a", Kind: row.Int, Native: "integer", NotNull: true, Bits: 32},
			{Name: "b", Kind: row.Int, Native: "smallint", NotNull: true, Default: true, Bits: 16},
			{Name: "d", Kind: row.Int, Native: "integer", Bits: 32},
			{Name: "m", Kind: row.Text, Native: "mood"},
			{Name: "c", Kind: row.Text, Native: "citext", Wide: true, Folds: true},
			{Name: "twice", Kind: row.Int, Native: "integer", Generated: true, Bits: 32},
			{Name: "x", Kind: row.Array, Native: "inet[]", Wide: true, Content: query.Elements,
				Elem: row.KeyPart{Kind: row.Text}}}}
	if d := cmp.Diff(wantEmp, emp); d != "" {
		t.Error(d)
	}
	if _, ok := c.Table("nokey"); ok {
		t.Error("a bare name found a table outside the default schema")
	}
}

func TestPostgres_CatalogLeavesOutWhatMayNotBeRead(t *testing.T) {
	s := newSource(t, `CREATE TABLE a (id int PRIMARY KEY, secret text)`,
		`CREATE TABLE b (id int PRIMARY KEY)`,
		`CREATE TABLE c (id int PRIMARY KEY, n int)`,
		`CREATE ROLE reader_of_catalog LOGIN`, `GRANT SELECT (id) ON a TO reader_of_catalog`,
		`GRANT SELECT (n) ON c TO reader_of_catalog`)
	t.Cleanup(func() {
		mustExec(t, s, "DROP OWNED BY reader_of_catalog", "DROP ROLE reader_of_catalog")
	})
	url := s.cfg.ConnString()
	r := openSource(t, url+"&user=reader_of_catalog", Options{})
	c, err := r.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, tab := range c.Tables {
		got[tab.Name] = fmt.Sprint(len(tab.Columns), " ", tab.Refused)
	}
	want := map[string]string{"a": "1 ", "b": "0 no SELECT privilege",
		"c": "1 no SELECT privilege on the key column id"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	p, err := r.Compile(t.Context(), &source.Spec{Name: "a", Table: "a"})
	if err != nil || len(p.Shape().Fields) != 1 {
		t.Errorf("compile: %v", err)
	}
	_, err = r.Compile(t.Context(), &source.Spec{Name: "b", Table: "b"})
	if source.ClassOf(err) != source.Forbidden {
		t.Errorf("compile of what may not be read: %v", err)
	}
}

func TestPostgres_CatalogOfManyTablesIsFast(t *testing.T) {
	t.Parallel()
	s := newSource(t, `DO $$ BEGIN FOR i IN 1..1000 LOOP
		EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, a text, b int, c date)', i);
		END LOOP; END $$`)
	if err := s.Exec(context.Background(), "ANALYZE pg_class"); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	c, err := s.Catalog(t.Context())
	if err != nil || len(c.Tables) != 1000 {
		t.Fatalf("%v", err)
	}
	took := time.Since(start)
	t.Logf("1,000 tables in %v", took)
	if waittest.Late(took, 20*time.Second) { // what a busy machine makes of well under two
		t.Errorf("1,000 tables took %v", took)
	}
}

// TestPostgres_TableDroppedWhileTheCatalogueIsRead: the server's functions about privileges
// are NULL for what the snapshot still has and another transaction has dropped. Such a table
// is not there, and the others are.
func TestPostgres_TableDroppedWhileTheCatalogueIsRead(t *testing.T) {
	url := dbtest.Postgres(t, dbtest.Setup(`CREATE TABLE kept (a int PRIMARY KEY);
		CREATE TABLE gone (a int PRIMARY KEY, b text); CREATE TABLE shrunk (a int PRIMARY KEY, b text);
		CREATE SCHEMA s; CREATE TABLE s.gone (a int PRIMARY KEY)`))
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ;
		SELECT count(*) FROM pg_class`); err != nil {
		t.Fatal(err)
	}
	dbtest.Psql(t, url, "DROP TABLE gone; DROP SCHEMA s CASCADE; ALTER TABLE shrunk DROP COLUMN b")
	tables, err := catalog.Tables(t.Context(), conn, catalog.Which{Triggers: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, table := range tables {
		got[table.ID()] = len(table.Cols)
	}
	if d := cmp.Diff(map[string]int{"public.kept": 1, "public.shrunk": 1}, got); d != "" {
		t.Errorf("columns by table: %s", d)
	}
}
