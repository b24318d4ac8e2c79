package writeback

import (
	"database/sql"
	"net/url"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of the other program

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/waittest"
)

// postgresSchema are types that people make, and those of extensions.
var postgresSchema = []string{
	`CREATE EXTENSION citext`, `CREATE EXTENSION hstore`, `CREATE EXTENSION ltree`,
	`CREATE EXTENSION cube`, `CREATE EXTENSION seg`, `CREATE EXTENSION isn`,
	`CREATE EXTENSION intarray`, `CREATE EXTENSION lo`,
	`CREATE TYPE mood AS ENUM ('sad', 'happy', 'a,b"c\', '')`,
	`CREATE DOMAIN posint AS int CHECK (VALUE > 0)`,
	`CREATE DOMAIN shortname AS varchar(10)`,
	`CREATE DOMAIN price AS numeric(10,2)`,
	`CREATE DOMAIN ints AS int[]`,
	`CREATE DOMAIN doc AS jsonb`,
	`CREATE DOMAIN odd AS posint CHECK (VALUE % 2 = 1)`,
	`CREATE TYPE pair AS (a int, b text)`,
	`CREATE TYPE nest AS (p pair, l int[], j jsonb, m mood)`,
	`CREATE DOMAIN goodpair AS pair CHECK ((VALUE).a > 0)`,
	`CREATE TYPE textrange AS RANGE (subtype = text)`,
	`CREATE TYPE floatrange AS RANGE (subtype = float8)`,
	`CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
}

// sqlPostgresTypes has every type of which a column can be, with the function that
// sends its values in binary. The rows of tables are types too: they are composites,
// of which the schema has its own.
const sqlPostgresTypes = `SELECT pg_catalog.format_type(t.oid, NULL),
	CASE WHEN t.typsend <> 0 AND COALESCE(e.typsend, 1) <> 0
		THEN t.typsend::regproc::text ELSE '' END, COALESCE(pg_catalog.format_type(e.oid, NULL), '')
	FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type e
		ON e.oid = t.typelem AND t.typcategory = 'A' AND t.oid NOT IN (22, 30)
	WHERE t.typtype <> 'p' AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c
		WHERE c.oid IN (t.typrelid, e.typrelid) AND c.relkind <> 'c')
	AND (e.oid IS NULL OR e.typtype <> 'p') ORDER BY 1`

func TestPostgres(t *testing.T) {
	link := dbtest.Postgres(t)
	src, err := postgres.Open(t.Context(), link, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &database{src: src}
	if d.db, err = sql.Open("pgx", link); err != nil {
		t.Fatal(err)
	}
	for _, statement := range postgresSchema {
		d.exec(t, statement)
	}
	d.types = postgresTypes(t, d.db)
	run(t, d)
}

// TestPostgres_AnyBytes: a database with the encoding SQL_ASCII holds bytes that are no
// UTF-8, of which a document has U+FFFD.
func TestPostgres_AnyBytes(t *testing.T) {
	link, err := url.Parse(dbtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	admin, err := sql.Open("pgx", link.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	name := strings.TrimPrefix(link.Path, "/") + "_ascii"
	_, err = admin.ExecContext(t.Context(), `CREATE DATABASE "`+name+`" ENCODING 'SQL_ASCII'
		TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec(`DROP DATABASE "` + name + `" WITH (FORCE)`); err != nil {
			t.Error(err)
		}
	})
	link.Path = "/" + name
	src, err := postgres.Open(t.Context(), link.String(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &database{src: src}
	if d.db, err = sql.Open("pgx", link.String()); err != nil {
		t.Fatal(err)
	}
	const all = "json msgpack cbor"
	bytes := []value{{sql: `E'a\xff'`, inPlace: all, unlisted: true},
		{sql: `E'\xc3\xa4'`}, {sql: `'x'`}}
	for _, typ := range []string{"text", "varchar(9)", "name"} {
		d.types = append(d.types, columnType{name: typ, values: bytes,
			show: "encode(textsend(%s::text), 'hex')"})
	}
	run(t, d)
}

// arrays are types whose arrays are tried before each change. The long tests try all, and all
// are made in one way of their elements, which are always tried.
var arrays = []string{"boolean", "bytea", "jsonb", "mood", "numeric", "text", "timestamp with time zone"}

// postgresTypes returns the types of the catalogue with their samples.
func postgresTypes(t *testing.T, db *sql.DB) []columnType {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), sqlPostgresTypes)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var types []columnType
	for rows.Next() {
		var c columnType
		var send, elem string
		if err := rows.Scan(&c.name, &send, &elem); err != nil {
			t.Fatal(err)
		}
		c.show = "%s::text"
		if send != "" {
			c.show = "%s::text || ' ' || encode(" + send + "(%s), 'hex')"
		}
		if sample, ok := postgresSamples[c.name]; ok {
			c.values, c.column, c.none, c.noKey = sample.values, sample.column, sample.none, sample.noKey
			if sample.show != "" {
				c.show = sample.show
			}
		} else if sample, ok := postgresSamples[elem]; ok {
			if !waittest.Long() && !slices.Contains(arrays, elem) {
				continue
			}
			if sample.column != "" {
				c.column = sample.column + "[]"
			}
			c.values, c.none = arraysOf(c.definition(), &sample), sample.none
			c.noKey = "cannot be a key"
		}
		types = append(types, c)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return append(types, postgresColumns...)
}

// arraysOf returns samples of an array type made of those of its elements.
func arraysOf(name string, elem *columnType) []value {
	if elem.values == nil {
		return nil
	}
	var all []string
	for _, v := range elem.values {
		all = append(all, v.sql)
	}
	first, last := all[0], all[len(all)-1]
	array := func(elements ...string) string {
		return "ARRAY[" + strings.Join(elements, ", ") + "]::" + name
	}
	values := plain(
		"'{}'",
		array("NULL"),
		array(slices.Concat(all, []string{"NULL"})...),
		"ARRAY["+array(first, last)+", "+array("NULL", first)+"]",
		"ARRAY[["+array(first)+"], ["+array(last)+"]]",
		"array_fill("+first+"::"+strings.TrimSuffix(name, "[]")+", ARRAY[2], ARRAY[5])",
	)
	return values
}
