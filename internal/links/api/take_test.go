package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// taken sends lines and returns the answers' statuses, with their details.
func (b *bed) taken(path, lines string) (statuses []int, text string) {
	b.t.Helper()
	a := b.do("POST", path, lines, "Content-Type", typeNDJSON)
	for dec := json.NewDecoder(strings.NewReader(a.body)); dec.More(); {
		var one takenAnswer
		if err := dec.Decode(&one); err != nil {
			b.t.Fatalf("%s: %v", a.body, err)
		}
		statuses = append(statuses, one.Status)
	}
	return statuses, a.body
}

// Clicks are taken for links that are there or were; those of a number that no link
// has are refused on their line, and the link that gets it is made, without clicks.
func TestAPI_ClicksOfNoLinkAreRefused(t *testing.T) {
	b, log := newDrained(t)
	b.h.o.Record = func(r *clicklog.Record) bool {
		seq, _ := log.Shared().Append(r)
		return seq != 0
	}
	b.want(201, "", "POST", "/api/v1/links", `{"url":"https://example.com/","code":"one"}`)
	b.want(201, "", "POST", "/api/v1/links", `{"url":"https://example.com/","code":"two"}`)
	b.want(204, "", "DELETE", "/api/v1/links/two", "")
	statuses, text := b.taken("/api/v1/clicks", `{"link":1,"at":"2026-01-01T00:00:00Z"}
{"link":3,"at":"2026-01-01T00:00:00Z"}
{"link":2,"at":"2026-01-01T00:00:00Z"}
{"link":9223372036854775807,"at":"2026-01-01T00:00:00Z"}
{"link":1,"at":"2026-01-02T00:00:00Z"}
`)
	if !slices.Equal(statuses, []int{201, 422, 201, 422, 201}) ||
		!strings.Contains(text, `"line":2,"status":422,"detail":"link: no link has this number, or had it"`) {
		t.Errorf("%s", text)
	}
	for begin, n := time.Now(), int64(0); n == 0; time.Sleep(5 * time.Millisecond) {
		err := b.db.Query(t.Context(), "SELECT bots FROM link_stats WHERE link_id = 2", nil,
			func(r source.StoreRow) error { n = r.Int(0); return nil })
		if err != nil || waittest.Late(time.Since(begin), 20*time.Second) {
			t.Fatalf("the clicks do not come to the database: %v", err)
		}
	}
	for _, code := range []string{"three", "four"} {
		a := b.want(201, "", "POST", "/api/v1/links", `{"url":"https://example.com/","code":"`+code+`"}`)
		if a.member("clicks") != "0" || a.member("bots") != "0" {
			t.Errorf("%s", a.body)
		}
	}
	b.want(201, "", "POST", "/api/v1/links/two/restore", "")
}

// A number that leaves no room for others is refused on its line, of links and of users.
func TestAPI_NumbersAtTheEndAreRefused(t *testing.T) {
	b := newCompat(t)
	line := func(code, id string) string {
		return `{"url":"https://example.com/","code":"` + code + `","id":` + id + "}\n"
	}
	lines := line("a", "7") + line("b", "9223372036854775807") + line("c", "9223372036854775808") +
		line("d", "9007199254740992") + line("e", "9007199254740991")
	for _, path := range []string{"/api/v1/links?keep=1&dry_run=1", "/api/v1/links?keep=1"} {
		statuses, text := b.taken(path, lines)
		if !slices.Equal(statuses, []int{201, 400, 422, 400, 201}) || !strings.Contains(text,
			`"detail":"id: 9223372036854775807 is beyond 9007199254740991, the largest number that is kept",`+
				`"field":"id"`) {
			t.Errorf("%s: %s", path, text)
		}
	}
	b.want(201, "", "POST", "/api/v1/links", `{"url":"https://example.com/"}`)
	user := func(email, id string) string {
		return `{"email":"` + email + `@example.com","password":"","id":` + id + "}\n"
	}
	statuses, text := b.taken("/api/v1/users", user("a", "9223372036854775807")+user("b", "-1")+
		user("c", "9007199254740991")+user("d", "0"))
	if !slices.Equal(statuses, []int{400, 400, 201, 201}) ||
		!strings.Contains(text, "id: 9223372036854775807 is not from 0 to 9007199254740991") {
		t.Errorf("%s", text)
	}
}
