package sourcetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// bad checks what somebody hostile, or hasty, may ask for.
func (s *suite) bad() {
	s.t.Run("Keys", func(t *testing.T) { s.on(t).badKeys() })
	s.t.Run("Specs", func(t *testing.T) { s.on(t).badSpecs() })
	s.t.Run("Names", func(t *testing.T) {
		s := s.on(t)
		p := s.compile(&source.Spec{Table: `we"ird`})
		s.want(p, "1", `{"sel\"ect":1,"a b":"fine"}`)
		s.writeOK(p, source.OpReplace, "2", `{"a b":"x'); DROP TABLE dept; --"}`)
		s.want(p, "2", `{"sel\"ect":2,"a b":"x'); DROP TABLE dept; --"}`)
		if got := s.pages(p, 1); len(got) != 2 {
			t.Errorf("list = %q", got)
		}
	})
	s.want(s.compile(&source.Spec{Table: "dept"}), "40",
		`{"deptno":40,"dname":"OPERATIONS","loc":"BOSTON"}`)
}

// badKeys checks that a key is never anything but a value.
func (s *suite) badKeys() {
	words := s.compile(&source.Spec{Table: "word"})
	for _, key := range []row.Key{`'; DROP TABLE dept; --`, `' OR '1'='1`, `"`, `x' --`, `%`, `_`,
		`x\`, row.Key(strings.Repeat("x", 2000)), `${HOME}`, "a\nb"} {
		if l := s.get(words, key); l.Found() {
			s.t.Errorf("Load(%q) found %s", key, json(words, l))
		}
	}
	tests := []struct {
		table string
		key   row.Key
	}{
		{"dept", ""}, {"dept", "1 OR 1=1"}, {"dept", "0x0a"}, {"dept", "1e1"}, {"dept", "10.0"},
		{"dept", "99999999999999999999"}, {"dept", "10;"}, {"dept", " 10"}, {"dept", "10,10"},
		{"city", "Tulsa"}, {"city", "Tulsa,OK,"}, {"word", "a\x00b"}, {"word", "\xff"},
	}
	for _, test := range tests {
		p := s.compile(&source.Spec{Table: test.table})
		if _, err := p.Load(s.ctx, []row.Key{test.key}); !errors.Is(err, row.ErrKey) {
			s.t.Errorf("%s: Load(%q) = %v, want row.ErrKey", test.table, test.key, err)
		}
		if _, err := p.Write(s.ctx, &source.Write{Op: source.OpDelete, Key: test.key}); err == nil {
			s.t.Errorf("%s: delete of %q succeeded", test.table, test.key)
		}
	}
}

// badSpecs checks that a configuration which does not fit is refused with the
// name that is wrong, and the nearest right one.
func (s *suite) badSpecs() {
	field := func(name string) map[string]source.FieldSpec {
		return map[string]source.FieldSpec{name: {Name: "x"}}
	}
	embed := func(e source.Embed) []source.Embed { return []source.Embed{e} }
	tests := []struct {
		name string
		spec source.Spec
		want []string // in the error
	}{
		{"Table", source.Spec{Table: "dpt"}, []string{"dpt", "dept"}},
		{"TableSQL", source.Spec{Table: `dept"; DROP TABLE dept; --`}, []string{"DROP"}},
		{"Column", source.Spec{Table: "dept", Fields: field("dnme")}, []string{"dnme", "dname"}},
		{"Key", source.Spec{Table: "dept", Key: []string{"deptnr"}}, []string{"deptnr", "deptno"}},
		{"KeyNotUnique", source.Spec{Table: "emp", Key: []string{"deptno"}}, []string{"unique"}},
		{"Keyless", source.Spec{Table: "keyless"}, []string{"keyless", "primary key"}},
		{"TwoOfOneName", source.Spec{Table: "dept", Fields: field2("dname", "loc")},
			[]string{"dname", "loc"}},
		{"EmbedTable", source.Spec{Table: "dept", Embeds: embed(source.Embed{Name: "emps",
			On: []string{"deptno"}, Spec: &source.Spec{Table: "empp"}})}, []string{"empp", "emp"}},
		{"EmbedOn", source.Spec{Table: "dept", Embeds: embed(source.Embed{Name: "emps",
			On: []string{"dept"}, Spec: &source.Spec{Table: "emp"}})}, []string{"dept", "deptno"}},
		{"EmbedOnCount", source.Spec{Table: "dept", Embeds: embed(source.Embed{Name: "emps",
			On: []string{"deptno", "empno"}, Spec: &source.Spec{Table: "emp"}})}, []string{"emps"}},
		{"EmbedOrder", source.Spec{Table: "dept", Embeds: embed(source.Embed{Name: "emps",
			On: []string{"deptno"}, Order: []string{"sal; DROP TABLE emp"},
			Spec: &source.Spec{Table: "emp"}})}, []string{"sal"}},
		{"EmbedName", source.Spec{Table: "dept", Embeds: embed(source.Embed{Name: "loc",
			On: []string{"deptno"}, Spec: &source.Spec{Table: "emp"}})}, []string{"loc"}},
		{"QueryWrites", source.Spec{Query: "DELETE FROM dept WHERE deptno = :key",
			Key: []string{"deptno"}}, []string{"SELECT"}},
		{"QueryTwo", source.Spec{Query: "SELECT 1 WHERE 1 = :key; DROP TABLE dept",
			Key: []string{"deptno"}}, []string{"statement"}},
		{"QuerySyntax", source.Spec{Query: "SELECT FROM WHERE :key", Key: []string{"deptno"}},
			nil},
		{"QueryNoKey", source.Spec{Query: "SELECT deptno FROM dept", Key: []string{"deptno"},
			Depends: []source.Dep{{Table: "dept"}}}, []string{"key"}},
	}
	for _, test := range tests {
		test.spec.Name = "bad"
		_, err := s.src.Compile(s.ctx, &test.spec)
		if err == nil {
			s.t.Errorf("%s: no error", test.name)
			continue
		}
		for _, w := range append(test.want, "bad") {
			if !strings.Contains(err.Error(), w) {
				s.t.Errorf("%s: error %q does not have %q", test.name, err, w)
			}
		}
	}
}

// field2 gives two columns one name.
func field2(a, b string) map[string]source.FieldSpec {
	return map[string]source.FieldSpec{a: {Name: "same"}, b: {Name: "same"}}
}
