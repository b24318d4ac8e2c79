package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// TestServe_LinksSearchFindsTheOldest: by the page, whatever the number of links; also what
// another program has changed meanwhile, and what the API has.
func TestServe_LinksSearchFindsTheOldest(t *testing.T) {
	t.Parallel()
	r, db := newLinks(t, "")
	base := r.linksAddr()
	dbtest.SQLiteShell(t, db, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
		INSERT INTO links (id, code, url, url_hash, created_at, updated_at)
		SELECT i, printf('l%05d', i), 'https://host.example/' || i, x'00', i, i FROM n;
		UPDATE links SET title = 'The haystack' WHERE id = 1;`)
	page := func(query string) string {
		code, body := get(t, base+"/+?"+query)
		if code != http.StatusOK {
			t.Fatalf("%s: %d", query, code)
		}
		return body
	}
	finds := func(query, code string) {
		t.Helper()
		until(t, r.log, func() bool { return strings.Contains(page(query), `data-code="`+code+`"`) })
	}
	for _, order := range []string{"", "&order=-clicks", "&order=code"} {
		for _, q := range []string{"q=l00001", "q=L00001", "q=haystack", "q=host.example/1"} {
			if body := page(q + order); !strings.Contains(body, `data-code="l00001"`) && order == "&order=code" ||
				strings.Contains(body, "Nothing is found.") {
				t.Errorf("%s%s does not find the oldest link", q, order)
			}
		}
		finds("q=haystack"+order, "l00001")
	}
	req, err := http.NewRequestWithContext(t.Context(), "PATCH", base+"/api/v1/links/l00002",
		strings.NewReader(`{"title":"A quokka"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	if !strings.Contains(page("q=quokka"), `data-code="l00002"`) {
		t.Error("what the API has changed is not found at once")
	}
	dbtest.SQLiteShell(t, db, "UPDATE links SET title = 'A wombat' WHERE id = 3")
	finds("q=wombat", "l00003")
	if out := mustCommand(t, "links", "ls", "wombat", "--server="+base); !strings.Contains(out, "l00003") {
		t.Errorf("the command line finds %s", out)
	}
	if body := page("q=nowhere-at-all"); !strings.Contains(body, "Nothing is found") {
		t.Error("what is nowhere is found")
	}
}
