package main

import (
	"context"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/demo"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A form is what serve makes of one way to be told what to serve: by a URL, or by
// the file that init prints for it.
type form struct {
	cfg     *config.Config
	sources []resource.SourceOptions
	specs   []resource.Spec
	plans   map[string]planned

	readOnly bool // the source refuses to write
}

// planned is what a source makes of a resource.
type planned struct {
	SQL   []string
	Shape *row.Shape
	Key   row.KeyType
	Deps  []source.Dep
}

// formOf loads what cmd says, as serve does before it listens.
func formOf(t *testing.T, cmd *serveCmd) form {
	t.Helper()
	ctx, p := t.Context(), &program{ctx: t.Context(), stderr: new(output), env: os.Environ()}
	cfg, err := cmd.load(p)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	written := cmd.Target != "" && cmd.Writable
	all, err := openSources(ctx, cfg, opening{written: written}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = all.close() })
	if cmd.Target != "" {
		if cfg, _, _, err = discover(ctx, cfg, all["main"], "main", cmd.Writable); err != nil {
			t.Fatal(err)
		}
	}
	f := form{cfg: cfg, sources: sourceOptions(cfg, all), plans: make(map[string]planned)}
	if f.specs, err = resourceSpecs(cfg, false); err != nil {
		t.Fatal(err)
	}
	for _, s := range f.specs {
		plan, err := all["main"].Compile(ctx, s.Table)
		if err != nil {
			t.Fatal(err)
		}
		f.plans[s.Table.Name] = planned{plan.SQL(), plan.Shape(), plan.KeyType(), plan.Deps()}
	}
	f.readOnly = readOnly(ctx, t, all["main"])
	return f
}

// readOnly reports whether the source refuses to write.
func readOnly(ctx context.Context, t *testing.T, src source.Source) bool {
	t.Helper()
	_, err := src.(source.Store).Tx(ctx, func(tx source.StoreTx) error {
		_, err := tx.Exec(ctx, "UPDATE forms SET v = v")
		return err
	})
	if err != nil && source.ClassOf(err) != source.ReadOnly {
		t.Fatal(err)
	}
	return err != nil
}

const formsSQL = `CREATE TABLE forms (id int PRIMARY KEY, v int);
	INSERT INTO forms VALUES (1, 1);
	CREATE TABLE pair (a int, b int, v int, PRIMARY KEY (b, a));
	CREATE TABLE kept (id int PRIMARY KEY, name text, password text, api_key text);
	CREATE TABLE "true" (id int PRIMARY KEY);
	CREATE TABLE nokey (a int);`

// What a user gets of a database must not depend on whether he gives its URL or the
// file that init prints for it: every setting of the configuration, of the source
// and of each resource, and every statement, is compared.
func TestServe_AURLIsServedAsTheFileOfInit(t *testing.T) {
	t.Parallel()
	file := dbtest.SQLite(t)
	dbtest.SQLiteShell(t, file, formsSQL)
	maria := dbtest.MariaDB(t)
	dbtest.MariaDBShell(t, maria, strings.ReplaceAll(formsSQL, `"true"`, "`true`"))
	for name, url := range map[string]string{
		"SQLite": file, "MariaDB": maria,
		"PostgreSQL": dbtest.Postgres(t, dbtest.Setup(demo.PostgresSQL(), formsSQL)),
	} {
		for _, writable := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "/read-only", true: "/writable"}[writable],
				func(t *testing.T) { sameForms(t, url, writable) })
		}
	}
}

func sameForms(t *testing.T, url string, writable bool) {
	text := mustCommand(t, "init", url)
	if writable {
		text = strings.ReplaceAll(text, "    key: ", "    access: {write: public}\n    key: ")
	}
	byFile := formOf(t, &serveCmd{Config: configFile(t, text), Feed: "auto"})
	byURL := formOf(t, &serveCmd{Target: url, Writable: writable, Feed: "auto"})
	if len(byURL.plans) < 4 {
		t.Errorf("only %d resources", len(byURL.plans))
	}
	// Columns that look like secrets are named in the file. That they are hidden in
	// both is compared by the statements.
	for _, f := range []form{byFile, byURL} {
		for _, r := range f.cfg.Resources {
			r.HideSecrets, r.Fields = false, nil
		}
		for i := range f.specs {
			f.specs[i].Table.Hide, f.specs[i].Table.Fields = false, nil
		}
	}
	// The password is not in the file: the environment has it.
	for _, c := range []*config.Config{byFile.cfg, byURL.cfg} {
		c.Sources["main"].URL = ""
	}
	opts := cmp.Options{
		cmpopts.IgnoreUnexported(config.Config{}),
		cmpopts.IgnoreFields(resource.SourceOptions{}, "Source"),
		cmp.Exporter(func(reflect.Type) bool { return true }),
	}
	for what, pair := range map[string][2]any{
		"configuration": {byFile.cfg, byURL.cfg}, "sources": {byFile.sources, byURL.sources},
		"resources": {byFile.specs, byURL.specs}, "plans": {byFile.plans, byURL.plans},
		"read-only": {byFile.readOnly, byURL.readOnly},
	} {
		if diff := cmp.Diff(pair[0], pair[1], opts...); diff != "" {
			t.Errorf("%s (-file +URL):\n%s", what, diff)
		}
	}
	if byURL.readOnly == writable {
		t.Errorf("read-only is %v", byURL.readOnly)
	}
}

// A table whose name is another's with its schema keeps nobody from being served:
// the path is that of the schema's table in both forms, and the log says which
// table has none.
func TestPostgres_ATableWhoseNameIsTakenIsLeftOut(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t, dbtest.Setup(`CREATE SCHEMA other;
		CREATE TABLE "other.t" (id int PRIMARY KEY, v text); INSERT INTO "other.t" VALUES (1, 'bare');
		CREATE TABLE other.t (id int PRIMARY KEY, v text); INSERT INTO other.t VALUES (1, 'schema')`))
	const why = `"other.t" (schema "public") would be the resource "other.t"`
	text := mustCommand(t, "init", url)
	if !strings.Contains(text, why) {
		t.Errorf("init does not say what it leaves out:\n%s", text)
	}
	for _, args := range [][]string{{url}, {"-c", configFile(t, text)}} {
		r := serve(t, args...)
		if a := r.get("/other.t/1"); !strings.Contains(a.body, `"schema"`) {
			t.Errorf("serve %s: GET = %d %s", args[0], a.code, a.body)
		}
		said := strings.Contains(strings.ReplaceAll(r.log.String(), `\"`, `"`), why)
		if byURL := len(args) == 1; said != byURL || said &&
			!strings.Contains(r.log.String(), "level=WARN msg=\"left out\"") {
			t.Errorf("serve %s: the log:\n%s", args[0], r.log)
		}
		r.stop()
	}
}
