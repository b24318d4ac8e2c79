package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/links"
)

// statuses returns the status of each line of a bulk answer.
func (b *bed) statuses(path, body string) string {
	b.t.Helper()
	a := b.do("POST", path, body, "Content-Type", typeNDJSON)
	if a.status != http.StatusOK {
		b.t.Fatalf("%s: %d %s", path, a.status, a.body)
	}
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(a.body), "\n") {
		_, rest, _ := strings.Cut(line, `"status":`)
		out = append(out, rest[:3])
	}
	return strings.Join(out, " ")
}

// A dry run says of each line what the import then says, and changes nothing.
func TestAPI_DryRunIsWhatTheImportSays(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	b.want(201, "", "POST", "/api/v1/links", `{"url":"https://example.com/","code":"here"}`)
	var in strings.Builder
	for i := range 250 { // more than one transaction
		fmt.Fprintf(&in, `{"url":"https://example.com/%d","code":"c%d"}`+"\n", i, i)
	}
	for _, line := range []string{
		`{"url":"https://example.com/","code":"HERE"}`, `{"url":"https://example.com/x","code":"c1"}`,
		`{"url":"javascript:alert(1)"}`, `{"url":"https://example.com/","code":"a b"}`,
		`{"url":"https://example.com/","starts_at":"soon"}`, `{"code":"nowhere"}`, `nonsense`,
		`{"url":"https://example.com/","max_clicks":0}`, `{"url":"https://example.com/"}`,
	} {
		in.WriteString(line + "\n")
	}
	dry := b.statuses("/api/v1/links?dry_run=1", in.String())
	if n := b.do("GET", "/api/v1/links?count=1", "").member("count"); n != "1" {
		t.Errorf("a dry run has made %s links", n)
	}
	if real := b.statuses("/api/v1/links", in.String()); dry != real {
		t.Errorf("the dry run says\n%s\nand the import\n%s", dry, real)
	}
	if !strings.HasSuffix(dry, "201 409 409 422 422 422 422 400 422 201") {
		t.Errorf("the dry run says %s", dry)
	}
	b.want(400, "bad-query", "POST", "/api/v1/links?dry_run=1", `{"url":"https://example.com/"}`)
}

// Only links that are made are counted against the allowance of a minute; a dry
// run says how far it would go, and spends nothing.
func TestAPI_RefusedLinesSpendNoAllowance(t *testing.T) {
	b := newBed(t, links.Options{}, func(o *Options) { o.CreateRate, o.Open, o.Hosts = 3, true, nil })
	bad := `{"url":"https://example.com/","code":"x y"}` + "\n"
	good := `{"url":"https://example.com/"}` + "\n"
	for range 5 {
		b.want(422, "invalid", "POST", "/api/v1/links", bad)
		b.want(400, "bad-json", "POST", "/api/v1/links", "nonsense")
	}
	if got := b.statuses("/api/v1/links", strings.Repeat(bad, 4)); got != "422 422 422 422" {
		t.Errorf("refused lines: %s", got)
	}
	body := bad + good + good + bad + good + good + bad
	want := "422 201 201 422 201 429 422"
	if got := b.statuses("/api/v1/links?dry_run=1", body); got != want {
		t.Errorf("a dry run: %s, want %s", got, want)
	}
	if got := b.statuses("/api/v1/links", body); got != want {
		t.Errorf("the import: %s, want %s", got, want)
	}
	b.want(429, "rate-limited", "POST", "/api/v1/links", good)
}

// Who alone has the shortener imports as much as there is to import.
func TestAPI_NoAllowanceForThisMachineAlone(t *testing.T) {
	b := newBed(t, links.Options{}, func(o *Options) { o.CreateRate = 3 })
	lines := strings.Repeat(`{"url":"https://example.com/"}`+"\n", 10)
	for _, path := range []string{"/api/v1/links?dry_run=1", "/api/v1/links"} {
		if got := b.statuses(path, lines); got != strings.TrimSpace(strings.Repeat("201 ", 10)) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if _, _, err := b.keys.Add(t.Context(), "ana", links.RoleAdmin); err != nil {
		t.Fatal(err)
	}
	b.want(401, "unauthorized", "POST", "/api/v1/links", `{"url":"https://example.com/"}`)
}

// An admin's lines keep the owners that they name; anybody else's do not, and each answer
// says whose the link is.
func TestAPI_OwnersOfAnImport(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	_, admin, err := b.keys.Add(t.Context(), "root", links.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	_, writer, err := b.keys.Add(t.Context(), "mailer", links.RoleWrite)
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{"a": "ana", "b": "mailer"} {
		key := map[string]string{"a": admin, "b": writer}[code]
		got := b.do("POST", "/api/v1/links", `{"url":"https://example.com/","owner":"ana","code":"`+code+`"}`,
			"Content-Type", "application/x-ndjson", "Authorization", "Bearer "+key)
		if !strings.Contains(got.body, `"owner":"`+want+`"`) {
			t.Errorf("the answer is %s, want the owner %s", got.body, want)
		}
		l := b.do("GET", "/api/v1/links/"+code, "", "Authorization", "Bearer "+admin)
		if l.member("owner") != want {
			t.Errorf("the link is %s, want the owner %s", l.body, want)
		}
	}
	bad := b.do("POST", "/api/v1/links", `{"url":"https://example.com/","owner":"`+strings.Repeat("x", 101)+`"}`,
		"Content-Type", "application/x-ndjson", "Authorization", "Bearer "+admin)
	if !strings.Contains(bad.body, `"field":"owner"`) {
		t.Errorf("a long owner: %s", bad.body)
	}
}
