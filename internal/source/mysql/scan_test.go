package mysql

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScanQuery(t *testing.T) {
	tests := []struct {
		sql    string
		params []string
		want   string // with each parameter replaced by ?
		err    string
	}{
		{"SELECT 1 WHERE a = :key ;", []string{"key"}, "SELECT 1 WHERE a = ? ", ""},
		{"SELECT ':no', \":no\", `:no` -- :no\n, :a # :no\n /* :no */ + :b", []string{"a", "b"},
			"SELECT ':no', \":no\", `:no` -- :no\n, ? # :no\n /* :no */ + ?", ""},
		{`SELECT 'it''s', 'it\'s :no', "a""b", ` + "`a``b`, :k", []string{"k"},
			`SELECT 'it''s', 'it\'s :no', "a""b", ` + "`a``b`, ?", ""},
		{"SELECT 5--:k", []string{"k"}, "SELECT 5--?", ""},
		{"SELECT 1; SELECT 2", nil, "", "one statement"},
		{"SELECT 'a", nil, "", "no end"},
		{"SELECT `a", nil, "", "no end"},
		{"SELECT /* a", nil, "", "no end"},
		{"SELECT ?", nil, "", "written :key"},
		{"SELECT @a", nil, "", "variables"},
		{"SELECT a: 1", nil, "", "without a name"},
		{"SELECT /*!50000 1 */", nil, "", "some servers run"},
		{"SELECT /*M!100100 1 */", nil, "", "some servers run"},
	}
	for _, tt := range tests {
		q, err := scanQuery(tt.sql)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q in it", tt.sql, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.sql, err)
			continue
		}
		if diff := cmp.Diff(tt.params, q.Params); diff != "" {
			t.Errorf("%s: parameters (-want +got):\n%s", tt.sql, diff)
		}
		if got := q.With(func(string) string { return "?" }); got != tt.want {
			t.Errorf("%s: becomes %s, want %s", tt.sql, got, tt.want)
		}
	}
}

// FuzzScanQuery checks that nothing of a query is lost but its semicolon, and
// that a word after FROM is always seen.
func FuzzScanQuery(f *testing.F) {
	for _, s := range []string{"SELECT a FROM b WHERE c = :key", "SELECT 'x\\'', `y``z` -- c\n, :k;",
		"/* c */ SELECT \"a\"\"b\" # d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := scanQuery(s)
		if err != nil {
			return
		}
		back := q.With(func(name string) string { return ":" + name })
		if whole := strings.TrimSpace(s); !strings.HasPrefix(whole, back) {
			t.Errorf("%q becomes %q", s, back)
		}
		for _, token := range q.tokens {
			if token.text == "" && !token.quoted {
				t.Errorf("%q has an empty token", s)
			}
		}
		more, err := scanQuery("SELECT 1 FROM t0 /**/ WHERE :a = (" + strings.TrimSuffix(back, ";") + "\n)")
		if err == nil && !more.tokens[3].is("t0") {
			t.Errorf("%q: the table is not seen", s)
		}
	})
}
