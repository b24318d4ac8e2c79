package sqlread

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// The oracle is PostgreSQL: it parses each statement that Read finds eligible, and tells its tree.

// oracleSchema has the tables of testdata/taps.txt, and what an unwary reader takes for them.
const oracleSchema = `
	CREATE TABLE authors (id bigint PRIMARY KEY, name varchar, email varchar, created_at timestamptz);
	CREATE TABLE posts (id bigint PRIMARY KEY, author_id bigint, title varchar, body text,
		published boolean, views integer, created_at timestamptz);
	CREATE TABLE tags (id bigint PRIMARY KEY, name text);
	CREATE TABLE post_tags (post_id bigint, tag_id bigint);
	CREATE TABLE "Odd" ("Select" int, "a b" text, "limit" boolean, id int, t int, day date, "?" int, posts int);
	CREATE TABLE t (a int, b int, c boolean, d text, e date, f numeric);
	CREATE SCHEMA other;
	CREATE TABLE other.posts (id int, other text);
	CREATE FUNCTION shout(posts) RETURNS text LANGUAGE sql AS 'SELECT upper($1.title)';
	CREATE FUNCTION today(t) RETURNS date VOLATILE LANGUAGE sql AS 'SELECT now()::date';
	CREATE VIEW v AS SELECT id, now() AS at FROM posts;`

// oracleTexts are statements that the taps have none of.
var oracleTexts = []string{
	`SELECT * FROM posts WHERE (id) IN ((1),(2)) AND NOT (published OR views BETWEEN 1 AND $1) LIMIT $2 OFFSET 1`,
	`SELECT "Select", "a b" x FROM "Odd" WHERE "limit" IS NOT FALSE AND id = ANY ($1::int[])
		ORDER BY x, id DESC NULLS LAST`,
	`SELECT o.* FROM public."Odd" AS o WHERE o."limit" AND NOT o.id IN (1, -2, $1)
		OFFSET $2 ROWS FETCH NEXT 1 ROW ONLY`,
	`SELECT "Odd".id, count FROM "Odd" WHERE day < '2030-01-01'::date OR "a b" LIKE 'x%' OR "?" = 1`,
	`SELECT count(*) AS n, 'a', 1.5 FROM other.posts WHERE other NOT ILIKE '%x' AND id <> 7`,
	`SELECT posts.shout, title FROM posts`,
	`SELECT posts FROM posts`,
	`SELECT posts, "Odd".posts FROM "Odd" ORDER BY posts`,
	`SELECT today, t.today FROM t WHERE a = 1 AND b = 2 OR c IS TRUE AND d = 'x' AND e = $1 AND f = 1`,
	`SELECT a AS b, b AS a, 1 AS c FROM t ORDER BY a, c, t.d, f`,
	`SELECT $1::text::timestamptz, TRUE, NULL FROM t WHERE 1 = a AND $2 = $3::int8 AND NOT NOT c`,
	`SELECT ctid, xmin FROM t`,
	`SELECT at FROM v WHERE id = 1`,
}

// nodes are what the tree of an eligible statement may have in it.
var nodes = strings.Fields(`QUERY RANGETBLENTRY RTEPERMISSIONINFO ALIAS FROMEXPR RANGETBLREF TARGETENTRY
	VAR CONST PARAM OPEXPR BOOLEXPR NULLTEST BOOLEANTEST SCALARARRAYOPEXPR ARRAYEXPR ARRAY AGGREF
	SORTGROUPCLAUSE RELABELTYPE COERCEVIAIO ARRAYCOERCEEXPR FUNCEXPR CASETESTEXPR`)

type oracle struct {
	t      *testing.T
	conn   *pgconn.PgConn
	trees  []string
	tables map[string]*oracleTable // by OID
	harms  map[string]bool         // OIDs of functions that are volatile or not the server's own
	ops    map[string]string       // OIDs of operators to those of their functions
}

type oracleTable struct {
	schema, name string
	kind         string
	Table
	numbers []int // of the columns
}

func newOracle(t *testing.T) *oracle {
	o := &oracle{t: t, tables: map[string]*oracleTable{}, harms: map[string]bool{}, ops: map[string]string{}}
	url := dbtest.Postgres(t, dbtest.Setup(oracleSchema))
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.Message == "parse tree:" {
			o.trees = append(o.trees, strings.Join(strings.Fields(n.Detail), " ")) // it comes in lines
		}
	}
	if o.conn, err = pgconn.ConnectConfig(context.Background(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.conn.Close(context.Background()) })
	for _, r := range o.rows(`SELECT c.oid, n.nspname, c.relname, c.relkind, a.attname, a.atttypid, a.attnum
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE n.nspname IN ('public', 'other', 'pg_catalog') AND c.relkind IN ('r', 'v') AND a.attnum > 0
		ORDER BY c.oid, a.attnum`) {
		table := o.tables[r[0]]
		if table == nil {
			table = &oracleTable{schema: r[1], name: r[2], kind: r[3]}
			o.tables[r[0]] = table
		}
		oid, _ := strconv.ParseUint(r[5], 10, 32)
		number, _ := strconv.Atoi(r[6])
		table.Columns, table.Types = append(table.Columns, r[4]), append(table.Types, uint32(oid))
		table.numbers = append(table.numbers, number)
	}
	for _, r := range o.rows(`SELECT oid FROM pg_proc WHERE provolatile = 'v' OR oid >= 16384`) {
		o.harms[r[0]] = true
	}
	for _, r := range o.rows(`SELECT oid, oprcode::oid FROM pg_operator`) {
		o.ops[r[0]] = r[1]
	}
	o.rows("SET debug_pretty_print = off; SET debug_print_parse = on; SET client_min_messages = log")
	return o
}

func (o *oracle) rows(sql string) (rows [][]string) {
	o.t.Helper()
	results, err := o.conn.Exec(context.Background(), sql).ReadAll()
	if err != nil {
		o.t.Fatal(err)
	}
	for _, result := range results {
		for _, r := range result.Rows {
			row := make([]string, len(r))
			for i := range r {
				row[i] = string(r[i])
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// parse returns the tree that the server makes of a text, the types of its parameters, or the
// code of its error.
func (o *oracle) parse(text string, params []uint32) (tree string, types []uint32, code string) {
	o.t.Helper()
	o.trees = o.trees[:0]
	d, err := o.conn.Prepare(context.Background(), "", text, params)
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &pgErr):
		return "", nil, pgErr.Code
	case err != nil:
		o.t.Fatalf("%s: %v", text, err)
	case len(o.trees) != 1:
		o.t.Fatalf("%s: %d trees", text, len(o.trees))
	}
	return o.trees[0], d.ParamOIDs, ""
}

var (
	nodeKind   = regexp.MustCompile(`(?:^|[ ({])\{([A-Z_]+)`)
	relation   = regexp.MustCompile(`:relid (\d+)`)
	selected   = regexp.MustCompile(`:selectedCols \(b([ \d]*)\)`)
	functions  = regexp.MustCompile(`:(funcid|opno|aggfnoid) (\d+)`)
	places     = regexp.MustCompile(`:(location|stmt_location|stmt_len|list_start|list_end) -?\d+`)
	firstLowAt = 7 // the bits of selectedCols begin with system columns
)

// A verdict counts what came of the statements.
type verdict struct{ eligible, errors, refused, same int }

// compare reads a text, and compares what was read with what the server makes of it.
func (o *oracle) compare(s *Statement, text string, params []uint32, v *verdict) {
	o.t.Helper()
	if s.Read(text) != Eligible {
		return
	}
	v.eligible++
	tree, types, code := o.parse(text, params)
	if code != "" {
		v.errors++
		if class := code[:2]; code == "42601" || class != "42" && class != "22" && class != "0A" {
			o.t.Errorf("%s\n is eligible, and an error to the server: %s", text, code)
		}
		return
	}
	for _, m := range nodeKind.FindAllStringSubmatch(tree, -1) {
		if !slices.Contains(nodes, m[1]) {
			o.t.Errorf("%s\n has a node %s", text, m[1])
		}
	}
	other, _, code := o.parse(restore(s), params)
	if a, b := places.ReplaceAllString(tree, ""), places.ReplaceAllString(other, ""); a != b {
		o.t.Errorf("%s\n is another statement than %s %s\n%s\n%s", text, restore(s), code, a, b)
	}
	v.same++
	relations := relation.FindAllStringSubmatch(tree, -1)
	if strings.Count(tree, "{RANGETBLENTRY") != 1 || len(relations) == 0 {
		o.t.Errorf("%s\n has not one table: %s", text, tree)
		return
	}
	table := o.tables[relations[0][1]]
	if table == nil || !s.Table.Is(table.name) || !s.Schema.IsEmpty() && !s.Schema.Is(table.schema) {
		o.t.Errorf("%s\n reads table %s, and the server another", text, s.Table)
		return
	}
	if why := s.Check(&table.Table, types); why != Eligible {
		v.refused++
		return
	}
	o.compareNames(s, text, tree, table)
}

// compareNames compares the columns that a statement was checked with, and what it runs.
func (o *oracle) compareNames(s *Statement, text, tree string, table *oracleTable) {
	o.t.Helper()
	want := map[int]bool{}
	for _, c := range s.Columns {
		if !c.Name.IsEmpty() {
			want[table.numbers[table.Find(c.Name)]] = true
		}
	}
	for i := range table.numbers {
		want[table.numbers[i]] = want[table.numbers[i]] || s.Star
	}
	got := map[int]bool{}
	if m := selected.FindStringSubmatch(tree); m != nil {
		for bit := range strings.FieldsSeq(m[1]) {
			n, _ := strconv.Atoi(bit)
			got[n-firstLowAt] = true
		}
	}
	for n := range got {
		if !want[n] {
			o.t.Errorf("%s\n reads column %d, which was not read", text, n)
		}
	}
	for n, named := range want {
		if named && !got[n] {
			o.t.Errorf("%s\n does not read column %d", text, n)
		}
	}
	for _, m := range functions.FindAllStringSubmatch(tree, -1) {
		oid := m[2]
		if m[1] == "opno" {
			oid = o.ops[oid]
		}
		if oid == "" || o.harms[oid] {
			o.t.Errorf("%s\n runs %s %s", text, m[1], m[2])
		}
	}
	if s.Count != strings.Contains(tree, "{AGGREF") {
		o.t.Errorf("%s\n counts: %v", text, s.Count)
	}
}

func TestPostgres_ReadsTheSame(t *testing.T) {
	o := newOracle(t)
	var s Statement
	var v verdict
	for _, tap := range readTaps(t) {
		o.compare(&s, tap.text, tap.params, &v)
	}
	if v.eligible < 90 || v.errors > 0 {
		t.Errorf("taps: %+v", v)
	}
	for _, text := range oracleTexts {
		if why := s.Read(text); why != Eligible {
			t.Errorf("%s is %s", text, why)
		}
		o.compare(&s, text, nil, &v)
	}
	t.Logf("%+v", v)
}

// pieces are tokens of a mutant's text.
var pieces = regexp.MustCompile(`"[^"]*"|'[^']*'|[A-Za-z_]+|\$?\d+|::|<=|>=|<>|!=|\s+|.`)

// strange is what mutants get.
var strange = strings.Fields(`SELECT FROM WHERE AND OR NOT IN ANY ALL IS NULL TRUE LIMIT OFFSET ORDER BY ASC DESC
	NULLS FIRST LAST ONLY AS DISTINCT FOR UPDATE UNION JOIN , ( ) (( )) . ; :: [ ] * - + = =- <> != < <= > >= ~ || / %
	-- /* */ /**/ ' '' 'x' "x" "" E'x' E U& X'1' N'x' U&"x" \ \' $1 $2 $0 $$ 1 -1 1.5 1e3 1_0 0x1 .5 1. 1a
	id a b c t posts POSTS "posts" "Posts" authors public other pg_catalog title "Select" count(*) count now() now
	current_user user localtime CURRENT_DATE ctid oid tableoid xmin today shout 'now' 'today' '{now}' '2030-01-01'
	::int8 ::bigint[] ::text ::date ::timestamptz ::timestamp ::regclass ::varchar ::numeric ::bool int8 text date
	day year filter over within nulls first name key value BETWEEN LIKE ILIKE ISNULL NOTNULL SIMILAR ESCAPE COLLATE
	OPERATOR(pg_catalog.=) FETCH NEXT ROWS ROW WITH TIES GROUP HAVING WINDOW INTO TABLE VALUES CASE CAST ARRAY
	EXISTS é`)

// mutant changes some pieces of a text.
func mutant(rng *rand.Rand, text string) string {
	p := pieces.FindAllString(text, -1)
	for range 1 + rng.IntN(3) {
		if len(p) == 0 {
			break
		}
		i, j := rng.IntN(len(p)), rng.IntN(len(p))
		switch rng.IntN(7) {
		case 0:
			p = slices.Delete(p, i, i+1)
		case 1:
			p = slices.Insert(p, i, p[j])
		case 2:
			p[i], p[j] = p[j], p[i]
		case 3:
			p[i] = strange[rng.IntN(len(strange))]
		case 4:
			p = slices.Insert(p, i, " ", strange[rng.IntN(len(strange))], " ")
		case 5:
			spaces := []string{" ", "\n", "\t", "/* x */", "/*/**/*/", "--x\n", "\f", "", "/", "-"}
			p = slices.Insert(p, i, spaces[rng.IntN(len(spaces))])
		case 6:
			p[i] = []string{strings.ToUpper(p[i]), strings.ToLower(p[i]), `"` + p[i] + `"`, "(" + p[i] + ")",
				"public." + p[i], "posts." + p[i]}[rng.IntN(6)]
		}
	}
	return strings.Join(p, "")
}

// TestPostgres_ReadsMutantsTheSame: statements that are nearly eligible are refused, or are to the
// server what they are here.
func TestPostgres_ReadsMutantsTheSame(t *testing.T) {
	o := newOracle(t)
	var s Statement
	var texts []string
	for _, tap := range readTaps(t) {
		if s.Read(tap.text) == Eligible && !slices.Contains(texts, tap.text) {
			texts = append(texts, tap.text)
		}
	}
	texts = append(texts, oracleTexts...)
	var v verdict
	rng := rand.New(rand.NewPCG(48, 1))
	for range oracleMutants {
		o.compare(&s, mutant(rng, texts[rng.IntN(len(texts))]), nil, &v)
		if t.Failed() {
			break
		}
	}
	if t.Logf("%+v", v); v.same < oracleMutants/20 {
		t.Errorf("only %d mutants were compared", v.same)
	}
}

// oracleMutants is how many mutants are read. Most of them are refused.
const oracleMutants = 10_000

// TestWords_AreTheServers: every word that may not be a name, or not a label, is known.
func TestWords_AreTheServers(t *testing.T) {
	o := newOracle(t)
	for _, r := range o.rows("SELECT word, catcode, barelabel FROM pg_get_keywords()") {
		want := free
		switch {
		case r[1] != "U":
			want = kept
		case r[2] != "t":
			want = noLabel
		}
		if got := lookWord(r[0]).class; got < want {
			t.Errorf("%s is of class %d, want %d", r[0], got, want)
		}
	}
	for word := range words {
		if len(word) > longestWord {
			t.Errorf("%s is longer than any", word)
		}
	}
}

func TestTypes_AreTheServers(t *testing.T) {
	o := newOracle(t)
	byOID := map[string][]string{}
	for _, r := range o.rows("SELECT oid, typname, typarray FROM pg_type WHERE oid < 16384") {
		byOID[r[0]] = r
	}
	for _, typ := range dataTypes {
		if r := byOID[fmt.Sprint(typ.oid)]; r == nil || r[1] != typ.name || r[2] != fmt.Sprint(typ.array) {
			t.Errorf("%+v is %v", typ, r)
		}
	}
	for spelled, typ := range castTypes {
		if spelled == "double" {
			spelled = "double precision"
		}
		if got := o.rows("SELECT '" + spelled + "'::regtype::oid")[0][0]; got != fmt.Sprint(typ.oid) {
			t.Errorf("%s is type %s, want %d", spelled, got, typ.oid)
		}
	}
}
