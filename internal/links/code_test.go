package links

import (
	"errors"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

func TestCode_TakesOnlyWhatAPathCanHave(t *testing.T) {
	fold, exact := rules(t, Options{}), rules(t, Options{ExactCase: true})
	for _, code := range []string{
		"", "a/b", "../api", "a b", ".env", "robots.txt", "-x", "_x", "a+", strings.Repeat("x", 65),
		"😀", "\u212a", "ı", "a\x00", "api", "API", "Api", "auth", "metrics", "a%20", "a\n", "é",
	} {
		for _, r := range []*Rules{fold, exact} {
			var field *FieldError
			if got, err := r.Code(code); !errors.As(err, &field) || field.Field != "code" {
				t.Errorf("Code(%q) = %q, %v; want a FieldError", code, got, err)
			}
		}
	}
	for code, want := range map[string]string{
		"Spring": "spring", "a": "a", "0-_": "0-_", "htl-viladsfb": "htl-viladsfb", "apis": "apis",
		strings.Repeat("X", 64): strings.Repeat("x", 64),
	} {
		if got, err := fold.Code(code); err != nil || got != want {
			t.Errorf("Code(%q) = %q, %v", code, got, err)
		}
		if got, err := exact.Code(code); err != nil || got != code {
			t.Errorf("exact Code(%q) = %q, %v", code, got, err)
		}
	}
}

func TestRandomCode_UsesAllOfTheAlphabet(t *testing.T) {
	seen := make(map[rune]int)
	for range 2000 {
		code := randomCode(DefaultAlphabet, 7)
		if len(code) != 7 {
			t.Fatalf("%q", code)
		}
		for _, c := range code {
			seen[c]++
		}
	}
	for _, c := range DefaultAlphabet {
		if n := seen[c]; n < 300 || n > 700 { // 500 is to be expected, with a deviation of 22
			t.Errorf("%c came %d times of 14000", c, n)
		}
	}
	if len(seen) != len(DefaultAlphabet) {
		t.Errorf("%d characters", len(seen))
	}
}

func FuzzParseDraft(f *testing.F) {
	for _, body := range []string{
		`{"url":"https://a.com","code":"x","tags":["a"],"expires_at":"2030-01-01T00:00:00Z"}`,
		`{"url":"https://a.com","url":"https://b.com"}`, `{"url":null,"max_clicks":1e30}`, `{} {}`,
		`{"tags":[[[[]]]],"reuse":true,"code_length":16}`, `[]`, "\x81\xa3url\xa1a", "\xdf\xff\xff\xff\xff",
	} {
		f.Add([]byte(body), true)
		f.Add([]byte(body), false)
	}
	r, err := NewRules(Options{BaseURL: "https://s.example"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, packed bool) {
		format := row.FormatJSON
		if packed {
			format = row.FormatMsgPack
		}
		d, err := ParseDraft(body, format)
		if err != nil {
			return
		}
		l := r.blank()
		if r.Fill(&l, d, 1) != nil {
			return
		}
		if l.Code = "x"; l.URL == "" || !isRedirect(l.Status) || l.MaxClicks < 0 {
			t.Fatalf("%q made %+v", body, l)
		}
		// What was stored is shown, and can be sent back.
		back, err := ParseDraft(l.Append(nil, format, r, 1), format)
		if err != nil {
			t.Fatalf("%q made a link that cannot be read: %v", body, err)
		}
		m := r.blank()
		if err := r.Fill(&m, back, 1); err != nil || !m.sameWay(&l) || m.Title != l.Title {
			t.Fatalf("%q made %+v, and that %+v, %v", body, l, m, err)
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{order: ByCreated, value: 1 << 40, id: 7}.String())
	f.Add(cursor{order: ByClicks, value: 0, id: -1}.String())
	f.Add(cursor{order: ByCode, code: "spring"}.String())
	f.Add(rawPlace{month: "202611", at: 1, seq: 2}.String())
	f.Add("ZAIC")
	f.Add("ZIIAgIA")
	f.Fuzz(func(t *testing.T, text string) {
		for _, order := range []Order{ByCreated, ByClicks, ByCode} {
			if c, err := parseCursor(text, order); err == nil && c.String() != text {
				t.Fatalf("%q was taken, and is %q", text, c.String())
			}
		}
		if p, err := parseRawPlace(text); err == nil && p.String() != text {
			t.Fatalf("%q was taken, and is %q", text, p.String())
		}
	})
}
