package sqlite

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotrow/hotrow/internal/row"
)

func TestScanParams(t *testing.T) {
	tests := []struct {
		sql  string
		want []string
		bad  bool
	}{
		{"SELECT 1", nil, false},
		{"SELECT :key, :b_2", []string{"key", "b_2"}, false},
		{"SELECT ':no', \":no\", `:no`, [:no], ':it''s :no' -- :no\n, :yes",
			[]string{"yes"}, false},
		{"SELECT /* :no */ :yes /* :open", []string{"yes"}, false},
		{"SELECT a$b FROM t WHERE x=:ä", []string{"ä"}, false},
		{"SELECT ';' /* ; */", nil, false},
		{"SELECT 1; SELECT 2", nil, true},
		{"SELECT ?", nil, true}, {"SELECT ?1", nil, true}, {"SELECT @a", nil, true},
		{"SELECT $a", nil, true}, {"SELECT : a", nil, true}, {"SELECT '", nil, false},
	}
	for _, test := range tests {
		t1, err := scanParams(test.sql)
		var got []string
		if t1 != nil {
			got = t1.Params
		}
		if (err != nil) != test.bad || !slices.Equal(got, test.want) {
			t.Errorf("scanParams(%q) = %q, %v, want %q", test.sql, got, err, test.want)
		}
	}
}

// TestParseLiterals_ReadsWhatQuoteWrites compares the parser with SQLite.
func TestParseLiterals_ReadsWhatQuoteWrites(t *testing.T) {
	path, _ := newFile(t, "WAL")
	s := openTest(t, path, Options{})
	values := []any{nil, int64(0), int64(math.MinInt64), int64(math.MaxInt64), 0.1, -1.5e300,
		5e-324, math.Pi, math.Inf(1), math.Inf(-1), 1.0,
		"", "it's, 'quoted'", "ä\n\t", "NULL", "X'00'",
		[]byte{}, []byte{0, 255, ','}}
	sql := "SELECT ''"
	for i := range values {
		sql += " || ',' || quote(?" + fmt.Sprint(i+1) + ")"
	}
	var text string
	err := s.readPool().use(t.Context(), func(c *conn) error {
		return c.query(t.Context(), sql, values, func(v []any) error {
			text, _ = v[0].(string)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	got, ok := parseLiterals(text[1:])
	if diff := cmp.Diff(values, got, cmpopts.EquateEmpty()); !ok || diff != "" {
		t.Errorf("parseLiterals(%s) (-want +got):\n%s", text, diff)
	}
}

func TestParseLiterals_RefusesTheRest(t *testing.T) {
	for _, s := range []string{
		"1,", ",1", "x", "'open", "X'0", "X'zz'", "1 2", "'a'b", "NULL,NULL,",
	} {
		if got, ok := parseLiterals(s); ok {
			t.Errorf("parseLiterals(%q) = %v, want none", s, got)
		}
	}
}

func FuzzParseLiterals(f *testing.F) {
	for _, s := range []string{"", "NULL", "1,'a''b',X'00',1.5", "'", "X'", "-9.0e+999", "''''"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if values, ok := parseLiterals(s); ok && len(values) > len(s) {
			t.Errorf("%d values of %d bytes", len(values), len(s))
		}
	})
}

func FuzzScanParams(f *testing.F) {
	for _, s := range []string{"", ":a", "'", "/*", "--", "[", "a:b", "a'b':c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := scanParams(s)
		if err != nil {
			return
		}
		if back := got.With(func(name string) string { return ":" + name }); back != s ||
			slices.Contains(got.Params, "") {
			t.Errorf("scanParams(%q) = %q", s, got)
		}
	})
}

func TestKindOf(t *testing.T) {
	for native, want := range map[string]row.Kind{
		"INTEGER": row.Int, "int": row.Int, "BIGINT UNSIGNED": row.Int, "TINYINT(1)": row.Int,
		"BOOLEAN": row.Bool, "bool": row.Bool, "REAL": row.Float, "DOUBLE PRECISION": row.Float,
		"FLOAT": row.Float, "NUMERIC": row.Decimal, "DECIMAL(10,5)": row.Decimal,
		"TEXT": row.Text, "VARCHAR(10)": row.Text, "CLOB": row.Text, "BLOB": row.Bytes,
		"DATE": row.Date, "DATETIME": row.Datetime, "TIMESTAMP": row.Datetime, "TIME": row.Time,
		"JSON": row.JSON, "UUID": row.Text, "": row.Null, "STRING": row.Text, "ANY": row.Null,
	} {
		if got := kindOf(native); got != want {
			t.Errorf("kindOf(%q) = %d, want %d", native, got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"dept", "emp", "salgrade"}
	for wrong, want := range map[string]string{
		"dpt": "dept", "DEPTS": "dept", "employee": "", "emps": "emp", "x": "",
		"salgrad": "salgrade",
	} {
		got := row.DidYouMean(wrong, names)
		if want == "" && got != "" || want != "" && got != `; did you mean "`+want+`"?` {
			t.Errorf("row.DidYouMean(%q) = %q, want %q", wrong, got, want)
		}
	}
}
