package httpfront

import (
	"slices"
	"strings"
	"testing"
)

// What is embedded is told in every spelling.
func TestEmbeddedNames(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"": "", "a=eq.1": "", "select=*": "", "select=a,b::text": "", "select=count()": "", "select=x:count()": "",
		"select=a.sum(),b.max()": "", "select=sum()": "sum", "select=users()": "users", "select=users(*)": "users",
		"%73elect=users(*)": "users", "select=%75sers(*)": "users", "select=x:users!fk!inner(*)": "users",
		"select=...users(a)": "users", "select=a,b(c,d(e)),f": "b d", "select=+users+(*)": "users",
		"select=*&select=users(*)": "users", "select=a->b,c(d)": "c", "select=x:+...users(a)": "users",
		"select=users(count())": "users", "select=b(c),users(*)": "b users",
		`select="users"(*)`: "!", "select=a;b": "!", "a=1;select=users(*)": "!", "select=%zz": "!", "%=1": "!",
		`select=u\sers(*)`: "!", "select=users%00(*)": "!", "a=\x7f": "!", "a=#": "!", "a=\xc3": "!",
		"users.select=a(b)": "", "columns=a(b)": "",
	} {
		names, ok := embeddedNames(raw)
		got := strings.Join(names, " ")
		if !ok {
			got = "!"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

// FuzzEmbeddedNames: no name that stands before a bracket is passed over.
func FuzzEmbeddedNames(f *testing.F) {
	for _, text := range []string{"select=a,users(*)", "select=x:users!fk(*)", "select=count(),...users(a)",
		"%73elect=%75sers%28*)", "select=a.sum(),users(b)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		names, ok := embeddedNames(raw)
		if !ok || strings.Count(raw, "users(*)") != 1 {
			return
		}
		before, _, _ := strings.Cut(raw, "users(*)")
		at := strings.LastIndexByte(before, '&') + 1
		if !strings.HasPrefix(before[at:], "select=") || !strings.ContainsAny(before[len(before)-1:], ",(=+:") {
			return
		}
		if !slices.Contains(names, "users") {
			t.Errorf("%q: %q", raw, names)
		}
	})
}
