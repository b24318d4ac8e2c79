package postgres

import (
	"net/url"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// TestPostgres_EncodingsOfDatabases reads, finds, writes and follows texts beyond ASCII, in
// tables and columns with such names, in databases that do not store UTF-8.
func TestPostgres_EncodingsOfDatabases(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ encoding, name, text, lacks string }{
		{"LATIN1", "éü", "é£ü", "日"}, {"WIN1252", "é", "é€", "日"}, {"EUC_JP", "日本", "日本", "€"},
		{"UTF8", "é日", "é日", ""},
		{"SQL_ASCII", "é日", "é日", ""},
	} {
		t.Run(tt.encoding, func(t *testing.T) {
			named := strings.NewReplacer("_", tt.text, "@", tt.name).Replace
			url := dbtest.Postgres(t, dbtest.Encoding(tt.encoding))
			tables := []source.Watched{{Table: named("public.t@"), Columns: []string{"k", named("c@")}},
				{Table: named("public.k@"), Columns: []string{"id", "parent"}}}
			f := followOwn(t, url, named(`CREATE TABLE t@ (k text PRIMARY KEY, c@ text, n int, j json);
				CREATE TABLE k@ (id int PRIMARY KEY, parent text REFERENCES t@, v varchar(20)[]);
				INSERT INTO t@ VALUES ('_', '_', 1, '["_"]'); INSERT INTO k@ VALUES (1, '_', '{_}');`),
				tables)
			g := follow(t, url, "SELECT", source.FeedLogical, tables)
			p := mustCompile(t, openSource(t, url, Options{}), &source.Spec{Name: "t",
				Table: named("t@"), Embeds: []source.Embed{{Name: "kids", On: []string{"parent"},
					Spec: &source.Spec{Table: named("k@")}}}})
			want := named(`{"k":"_","c@":"_","n":1,"j":["_"],"kids":[{"id":1,"parent":"_","v":["_"]}]}`)
			if got := jsonOf(p, mustLoad(t, p, row.Key(tt.text))[0]); got != want {
				t.Errorf("read: %s, want %s", got, want)
			}
			finds(t, p, named("c@=eq._"), 1)
			finds(t, p, named("c@=like.*_*"), 1)

			body := strings.ReplaceAll(want, `"n":1`, `"n":2`)
			done, err := put(t, p, tt.text, body)
			if err != nil || jsonOf(p, done.Loaded) != body {
				t.Errorf("write: %v", err)
			}
			changed := named("->(k=_ c@=_)")
			for mode, fixture := range map[string]*fixture{"notify": f, "logical": g} {
				if got := fixture.fence(); len(got) != 1 || !strings.HasPrefix(got[0], named("t@ U (k=_")) ||
					!strings.Contains(got[0], changed) {
					t.Errorf("%s tells %q, want %q", mode, got, changed)
				}
			}
			if tt.lacks == "" {
				return
			}
			if l := mustLoad(t, p, row.Key(tt.lacks))[0]; l.Found() {
				t.Error("a key that the database cannot hold is found")
			}
			for member, body := range map[string]string{
				named("c@"): strings.Replace(body, named(`"c@":"_"`), named(`"c@":"x`)+tt.lacks+`"`, 1),
				"j":         strings.Replace(body, named(`["_"],"k`), `["`+tt.lacks+`"],"k`, 1),
				"kids[0].v": strings.Replace(body, named(`["_"]}]`), `["`+tt.lacks+`"]}]`, 1),
			} {
				_, err := put(t, p, tt.text, body)
				if source.ClassOf(err) != source.Invalid ||
					!strings.Contains(err.Error(), tt.lacks) || !strings.Contains(err.Error(), member+": ") {
					t.Errorf("%s, %s: %v", member, body, err)
				}
			}
		})
	}
}

// put replaces a document.
func put(t *testing.T, p *plan, key, body string) (*source.Written, error) {
	return p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: row.Key(key),
		Input: input(t, p, body)})
}

// TestPostgres_BytesThatAreNoUTF8 is about rows that cannot be sent as UTF-8. Where the
// database does not know which these are, U+FFFD stands for the bytes; else the row is an error
// by name. The feeds go on.
func TestPostgres_BytesThatAreNoUTF8(t *testing.T) {
	t.Parallel()
	for encoding, bytes := range map[string]string{"SQL_ASCII": "\\xe9", "WIN1252": "\\x81"} {
		url := dbtest.Postgres(t, dbtest.Encoding(encoding))
		tables := []source.Watched{{Table: "public.t", Columns: []string{"id"}}}
		f := followOwn(t, url, "CREATE TABLE t (id int PRIMARY KEY, v text)", tables)
		f.want("INSERT INTO t VALUES (1, convert_from('"+bytes+"', '"+encoding+"'))",
			"t I ->(id=1)")
		p := mustCompile(t, openSource(t, url, Options{}), &source.Spec{Name: "t", Table: "t"})
		l, err := p.Load(t.Context(), []row.Key{"1"})
		if encoding == "WIN1252" {
			if source.ClassOf(err) != source.Internal || !strings.Contains(err.Error(), "UTF-8") ||
				!strings.Contains(err.Error(), "0x"+bytes[2:]) {
				t.Errorf("%s: %v", encoding, err)
			}
			continue
		}
		if err != nil || jsonOf(p, l[0]) != `{"id":1,"v":"\ufffd"}` {
			t.Errorf("%s: %v, %v", encoding, l, err)
		}
		g := follow(t, url, "SELECT", source.FeedLogical, tables)
		g.wantAmong("UPDATE t SET v = v", "t U (id=1)->(id=1)")
	}
}

// finds asks for rows by a filter.
func finds(t *testing.T, p *plan, filter string, rows int) {
	t.Helper()
	column, condition, _ := strings.Cut(filter, "=")
	q, err := query.Parse(url.QueryEscape(column)+"="+url.QueryEscape(condition), p.Table(), query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := p.Select(t.Context(), q)
	if err != nil || len(found.Rows) != rows {
		t.Errorf("%s: %v, %v", filter, found, err)
	}
}
