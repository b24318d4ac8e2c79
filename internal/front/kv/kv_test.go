package kv

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMatch_IsThatOfRedis(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"*", "abc", true}, {"", "", true}, {"", "a", false}, {"a", "a", true}, {"a", "b", false},
		{"a*", "abc", true}, {"*c", "abc", true}, {"a*c", "abbbc", true}, {"a*c", "abbbd", false},
		{"a**c", "ac", true},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"[abc]", "b", true}, {"[abc]", "d", false}, {"[^abc]", "d", true},
		{"[^abc]", "a", false}, {"[a-c]x", "bx", true}, {"[c-a]", "b", true}, {"[a-]", "-", false}, {`\*`, "*", true},
		{`\*`, "a", false}, {`[\]]`, "]", true}, {"[abc", "b", true}, {`a\`, `a\`, true},
		{"depts:1?", "depts:10", true},
		{strings.Repeat("a*", 50) + "b", strings.Repeat("a", 5000), false},
	}
	for _, tt := range tests {
		begin := time.Now()
		if got := Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Match(%q, %.20q) = %v", tt.pattern, tt.name, got)
		}
		if took := time.Since(begin); waittest.Late(took, time.Second) {
			t.Errorf("Match(%.20q) took %v", tt.pattern, took)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a*[b-d]?\\", "abcde")
	f.Add("[^", "x")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		Match(pattern, name)
		if !Match("*"+Literal(name)+"*", name) {
			t.Errorf("a pattern with %q does not match %q", Literal(name), name)
		}
	})
}

func TestFields_AreTheMembersOfTheDocument(t *testing.T) {
	body := `{"a":1,"b\"":"x\ny","c":null,"d":{"x":[1,"}",{}]},"e":[ {"n":1} , 2 ],"f":true,"g":"","h":1.50}`
	f := Found{Doc: row.NewDocument("1", row.FormatJSON, []byte(body), 1, row.Stamp{})}
	var got []string
	for _, m := range fieldsOf(f.Doc, nil, nil) {
		got = append(got, string(m.Name)+"="+string(m.Value))
	}
	want := []string{"a=1", "b\"=x\ny", `d={"x":[1,"}",{}]}`, `e=[ {"n":1} , 2 ]`, "f=true", "g=", "h=1.50"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if list := (&Found{}).Fields(nil); list != nil {
		t.Errorf("of no row: %q", list)
	}
	empty := Found{Doc: row.NewDocument("1", row.FormatJSON, []byte("{}"), 1, row.Stamp{})}
	if list := fieldsOf(empty.Doc, nil, nil); len(list) != 0 {
		t.Errorf("of no member: %q", list)
	}
}

func TestCursors_AreForgottenAtLast(t *testing.T) {
	var c cursors
	now := time.Now()
	first := c.keep(place{resource: "a"}, now)
	if p, ok := c.get(first, now); !ok || p.resource != "a" {
		t.Fatalf("%+v, %v", p, ok)
	}
	if _, ok := c.get(first, now.Add(front.CursorLife)); ok {
		t.Error("a cursor is good for longer than it lives")
	}
	for range front.Cursors {
		if id := c.keep(place{resource: "b"}, now); id == 0 || id >= 1<<53 {
			t.Fatalf("cursor %d", id)
		}
	}
	if _, ok := c.get(first, now); ok || len(c.byID) != front.Cursors || len(c.given) != front.Cursors {
		t.Errorf("%d cursors are kept, the first too: %v", len(c.byID), ok)
	}
	own := c.keep(place{resource: "c", owner: "other"}, now)
	for range 100 {
		c.keep(place{resource: "b"}, now)
	}
	if _, ok := c.get(own, now); !ok || len(c.byID) != front.Cursors {
		t.Errorf("who has the most takes another's cursor; %d are kept", len(c.byID))
	}
	if c.keep(place{resource: "c"}, now.Add(front.CursorLife)); len(c.byID) != 1 {
		t.Errorf("%d cursors are kept when all are too old", len(c.byID))
	}
}

// TestStore_ErrorText: the log has what clients are not told, and not what the configuration
// refuses them.
func TestStore_ErrorText(t *testing.T) {
	texts := map[string]string{"internal": "no", "read-only": "read only", "conflict": "twice: ",
		"invalid-value": "bad: ", "forbidden": "go away"}
	for _, tt := range []struct {
		err    error
		want   string
		logged bool
	}{
		{ErrForbidden, "go away", false}, {ErrStarting, "no", false},
		{resource.ErrReadOnly, "read only", false},
		{&source.Error{Class: source.ReadOnly, Message: "standby"}, "read only", true},
		{&source.Error{Class: source.Unavailable, Message: "db1"}, "no", true},
		{&source.Error{Class: source.Conflict, Message: "key 1"}, "twice: key 1", false},
		{&source.Error{Class: source.Invalid}, "bad: the database refuses it", false},
	} {
		var log strings.Builder
		s := new(Store)
		s.live.Store(&Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		got := s.ErrorText(texts, "SET", "depts", tt.err)
		if got != tt.want || log.Len() > 0 != tt.logged {
			t.Errorf("%v: %q, want %q; logged: %s", tt.err, got, tt.want, &log)
		}
	}
}
