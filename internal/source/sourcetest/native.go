package sourcetest

import (
	"errors"
	"net/url"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// A nativeCase is a filter by native operators, and what it means.
type nativeCase struct{ filter, where string }

var nativeCases = []nativeCase{
	{"tags=cs.{a}", "tags @> '{a}'"},
	{`tags=cs.{"b,c"}`, `tags @> '{"b,c"}'`},
	{"tags=cd.{a,b,NULL}", "tags <@ '{a,b,NULL}'"},
	{"tags=ov.{a,x}", "tags && '{a,x}'"},
	{"tags=not.ov.{a}", "NOT tags && '{a}'"},
	{"nums=cs.{1,2}", "nums @> '{1,2}'"},
	{"nums=cs.{{1},{2}}", "nums @> '{{1},{2}}'"},
	{"cents=ov.{1.50}", "cents && '{1.5}'"},
	{"moods=cs.{sad}", "moods @> '{sad}'"},
	{"stamps=ov.{2024-01-01T00:00:00Z,2024-01-02 10:00}",
		"stamps && '{2024-01-01T00:00:00Z,2024-01-02 10:00Z}'"},
	{"span=cs.[2,3]", "span @> int4range '[2,3]'"},
	{"span=cd.[0,100)", "span <@ int4range '[0,100)'"},
	{"span=ov.(,4]", "span && int4range '(,4]'"},
	{"span=sl.[5,9)", "span << int4range '[5,9)'"},
	{"span=sr.[1,2)", "span >> int4range '[1,2)'"},
	{"span=nxl.[2,9)", "span &> int4range '[2,9)'"},
	{"span=nxr.[2,6)", "span &< int4range '[2,6)'"},
	{"span=adj.[5,7)", "span -|- int4range '[5,7)'"},
	{"span=cd.empty", "span <@ int4range 'empty'"},
	{"days=ov.[2024-02-01,2024-03-01)", "days && daterange '[2024-02-01,2024-03-01)'"},
	{"during=ov.[2024-01-01 12:00,)", "during && tstzrange '[2024-01-01 12:00Z,)'"},
	{"spans=cs.{[1,2)}", "spans @> int4multirange '{[1,2)}'"},
	{"spans=ov.{[4,5),[20,)}", "spans && int4multirange '{[4,5),[20,)}'"},
	{`doc=cs.{"a":1}`, `doc @> '{"a":1}'`},
	{`doc=cs.[1]`, `doc @> '[1]'`},
	{`doc=cd.{"a":1,"b":{"c":[2]}}`, `doc <@ '{"a":1,"b":{"c":[2]}}'`},
	{`doc->b->c=cs.[2]`, "doc->'b'->'c' @> '[2]'"},
	{`doc->a=eq.1`, "doc->'a' = '1'"},
	{`doc->b=not.is.null`, "doc->'b' IS NOT NULL"},
	{`raw->>t=plfts.deep`, "to_tsvector(raw->>'t') @@ plainto_tsquery('deep')"},
	{`raw->>t=match.^deep`, "raw->>'t' ~ '^deep'"},
	{"words=fts.cat", "words @@ to_tsquery('cat')"},
	{"words=fts(english).cats & !dog", "words @@ to_tsquery('english', 'cats & !dog')"},
	{"words=plfts(english).the fat cats", "words @@ plainto_tsquery('english', 'the fat cats')"},
	{"words=phfts(simple).fat cat", "words @@ phraseto_tsquery('simple', 'fat cat')"},
	{`words=not.wfts(english)."fat cat" or dog`,
		`NOT words @@ websearch_to_tsquery('english', '"fat cat" or dog')`},
	{"note=fts(english).cat", "to_tsvector('english', note) @@ to_tsquery('english', 'cat')"},
	{"doc=plfts.deep", "to_tsvector(doc) @@ plainto_tsquery('deep')"},
	{"raw=plfts(simple).deep", "to_tsvector('simple', raw) @@ plainto_tsquery('simple', 'deep')"},
	{"note=match.^fat", "note ~ '^fat'"},
	{"note=not.match.c(a|u)t", "NOT note ~ 'c(a|u)t'"},
	{"note=imatch.^FAT", "note ~* '^FAT'"},
	{`note=match(any).{^fat,"g,?$"}`, "note ~ ANY ('{^fat,\"g,?$\"}')"},
	{"note=imatch(all).{FAT,CAT}", "note ~* ALL ('{FAT,CAT}')"},
	{`or=(tags.cs.{a},span.ov."[1,3)",note.match."^.ig")`,
		"(tags @> '{a}' OR span && '[1,3)' OR note ~ '^.ig')"},
}

// native compares what native operators find with plain SQL. A database without them refuses
// each by its name.
func (s *suite) native() {
	if s.env.Dialect.Name != "postgres" {
		s.noNative()
		return
	}
	s.env.Exec(s.t, "CREATE TYPE mood AS ENUM ('sad', 'happy')",
		`CREATE TABLE things (id integer PRIMARY KEY, tags text[], nums int[], cents numeric(8,2)[],
			moods mood[], stamps timestamptz[], span int4range, days daterange, during tstzrange,
			spans int4multirange, doc jsonb, raw json, words tsvector, note text)`,
		`INSERT INTO things VALUES
		(1, '{a}', '{1,2,3}', '{1.5}', '{sad}', '{2024-01-01 00:00Z}', '[1,5)',
			'[2024-01-01,2024-02-10)',
			'[2024-01-01 10:00Z,2024-01-01 13:00Z)', '{[1,3),[5,7)}', '{"a":1}', '{"t":"deep sea"}',
			to_tsvector('english', 'a fat cat'), 'fat cat'),
		(2, '{a,b}', '{2}', '{1.49,2}', '{sad,happy}', '{2024-01-02 10:00Z}', '[7,9]',
			'(,2024-01-01)',
			'[2024-02-01 10:00Z,)', '{}', '{"a":1,"b":{"c":[2]}}', '[1]',
			to_tsvector('english', 'the dogs and cats'), 'Fat dog'),
		(3, '{"b,c"}', '{}', '{}', '{}', '{}', 'empty', 'empty', 'empty', '{[20,)}', '[1,2]',
			'null', '', 'pig,'),
		(4, '{x,NULL}', '{{1,2},{3,4}}', NULL, '{happy}', NULL, '(,3)', '[2024-02-05,)', '(,)',
			'{(,)}',
			'{"x":"deep thoughts"}', '"deep"', 'cat:1 fat:2', ''),
		(5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
		(6, '{}', '{1}', '{3}', '{sad}', '{}', '[5,9)', '[2024-03-01,2024-03-02)',
			'[2023-01-01Z,2023-01-02Z]',
			'{[4,6)}', '{}', '{}', 'dog:3', 'cut')`)
	plan := s.compile(&source.Spec{Table: "things"})
	k := &trial{s: s}
	for _, c := range nativeCases {
		want := k.ids("SELECT id FROM things WHERE " + c.where + " ORDER BY id")
		name, value, _ := strings.Cut(c.filter, "=")
		_, found := k.one(plan, name+"="+url.QueryEscape(value), query.CountExact)
		if d := cmp.Diff(want, keysOf(found)); d != "" && len(want)+len(found.Rows) > 0 {
			s.t.Errorf("%s (-want +got):\n%s", c.filter, d)
		}
		if len(want) == 0 || len(want) == 6 {
			s.t.Errorf("%s finds %d of 6 rows, which says nothing", c.where, len(want))
		}
	}
	s.nativeErrors(plan)
	s.nativeIndexes()
}

// nativeErrors: what only the database can read is the client's mistake.
func (s *suite) nativeErrors(plan source.Plan) {
	for filter, code := range map[string]string{
		"note=match.(": "2201B", "words=fts.a b": "42601", "words=fts(klingon).a": "42704",
		"words=fts(english).(": "42601", "span=cs.[9,1)": "22000", "nums=cs.{{1},{2,3}}": "22P02",
		`doc=cs."\u0000"`: "22P05",
	} {
		name, value, _ := strings.Cut(filter, "=")
		q, err := query.Parse(name+"="+url.QueryEscape(value), plan.Table(), query.Options{})
		if err != nil {
			s.t.Errorf("%s: %v", filter, err)
			continue
		}
		var e *source.Error
		if _, err = plan.Select(s.ctx, q); !errors.As(err, &e) || e.Code != code ||
			e.Class != source.Invalid {
			s.t.Errorf("%s: %#v, want %s", filter, err, code)
		}
	}
}

// nativeIndexes: a large table is searched by the indexes that have the operator.
func (s *suite) nativeIndexes() {
	s.env.Exec(s.t, `CREATE TABLE crowd (id integer PRIMARY KEY, tags text[], span int4range,
			words tsvector)`,
		`INSERT INTO crowd SELECT i, ARRAY['t' || i % 1000], int4range(i, i + 2),
			to_tsvector('simple', 'w' || i) FROM generate_series(1, 12000) i`)
	for _, c := range []struct{ filter, index string }{
		{"tags=cs.{t7}", "CREATE INDEX ON public.crowd USING gin (tags)"},
		{"span=ov.[5,7)", "CREATE INDEX ON public.crowd USING gist (span)"},
		{"words=fts(simple).w77", "CREATE INDEX ON public.crowd USING gin (words)"},
	} {
		plan := s.compile(&source.Spec{Table: "crowd"})
		name, value, _ := strings.Cut(c.filter, "=")
		raw := name + "=" + url.QueryEscape(value)
		q, err := query.Parse(raw, plan.Table(), query.Options{})
		if err != nil {
			s.t.Fatal(err)
		}
		_, err = plan.Select(s.ctx, q)
		var refused *query.Error
		if !errors.As(err, &refused) || refused.Code != query.CodeUnindexed ||
			strings.ReplaceAll(refused.Hint, `"`, "") != c.index {
			s.t.Fatalf("%s: %#v, want the hint %s", c.filter, err, c.index)
		}
		s.env.Exec(s.t, refused.Hint)
		plan = s.compile(&source.Spec{Table: "crowd"})
		k := &trial{s: s}
		if _, found := k.one(plan, raw, query.CountNone); len(found.Rows) == 0 {
			s.t.Errorf("%s finds nothing", c.filter)
		}
	}
}

// noNative: every operator is refused by its name.
func (s *suite) noNative() {
	s.env.Exec(s.t, "CREATE TABLE things (id integer PRIMARY KEY, note varchar(40))")
	plan := s.compile(&source.Spec{Table: "things"})
	for _, op := range []string{"match", "imatch", "cs", "cd", "ov", "sl", "sr", "nxl", "nxr",
		"adj", "fts", "plfts", "phfts", "wfts"} {
		_, err := query.Parse("note="+op+".{a}", plan.Table(), query.Options{})
		var e *query.Error
		if !errors.As(err, &e) || e.Code != query.CodeSyntax ||
			!strings.HasPrefix(e.Message, op+" is an operator of PostgreSQL") {
			s.t.Errorf("%s: %v", op, err)
		}
	}
}
