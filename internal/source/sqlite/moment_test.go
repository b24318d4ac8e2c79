package sqlite

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	lists "github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// TestSQLite_TimesCompareAsTimes asks for rows by times in every spelling, of rows in every
// spelling.
func TestSQLite_TimesCompareAsTimes(t *testing.T) {
	path, c := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY, at datetime, day date)",
		"CREATE INDEX a_at ON a (at)")
	for i, at := range []string{"2023-12-31 23:59:59", "2024-01-01 00:00:00", "2024-01-01T00:00:00Z",
		"2024-01-01", "2024-01-01 10:00", "2024-01-01T10:00:00.000", "2024-01-01 10:00:00.5",
		"2024-01-01T10:00:00.500+00:00", "2024-01-01 23:59:59.999999", "2024-01-02T00:00:00"} {
		run(t, c, fmt.Sprintf("INSERT INTO a VALUES (%d, '%s', '%s')", i, at, at[:10]))
	}
	run(t, c, "INSERT INTO a VALUES (10, NULL, NULL)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Name: "a", Table: "a"}).(*plan)
	for filter, want := range map[string]string{
		"at=gte.2024-01-01T00:00:00":                       "1 2 3 4 5 6 7 8 9",
		"at=gte.2024-01-01 00:00:00":                       "1 2 3 4 5 6 7 8 9",
		"at=gte.2024-01-01":                                "1 2 3 4 5 6 7 8 9",
		"at=gt.2024-01-01":                                 "4 5 6 7 8 9",
		"at=lte.2024-01-01":                                "0 1 2 3",
		"at=lt.2024-01-01T00:00:00Z":                       "0",
		"at=lt.2024-01-01T10:00:00":                        "0 1 2 3",
		"at=eq.2024-01-01T11:00:00+01:00":                  "4 5",
		"at=eq.2024-01-01T10:00:00.50":                     "6 7",
		"at=neq.2024-01-01T10:00:00":                       "0 1 2 3 6 7 8 9",
		"at=not.neq.2024-01-01T10:00:00":                   "4 5",
		"at=isdistinct.2024-01-01T10:00:00":                "0 1 2 3 6 7 8 9 10",
		"at=in.(2024-01-01,2024-01-02)":                    "1 2 3 9",
		"at=not.in.(2024-01-01,2024-01-02)":                "0 4 5 6 7 8",
		"at=gt(any).{2024-01-01T23:00:00,2024-01-02}":      "8 9",
		"at=gt(all).{2024-01-01T23:00:00,2023-01-02}":      "8 9",
		"and=(at.gte.2024-01-01T10:00,at.lt.2024-01-02)":   "4 5 6 7 8",
		"day=gte.2024-01-01T10:00:00":                      "9",
		"day=eq.2024-01-01T00:00:00":                       "1 2 3 4 5 6 7 8",
		"day=lt.2024-01-01T10:00:00":                       "0 1 2 3 4 5 6 7 8",
		"at=gte.2024-01-01&order=at.asc&limit=100&id=lt.4": "1 2 3",
	} {
		text := url.PathEscape(filter)
		text = strings.NewReplacer("%3D", "=", "+", "%2B").Replace(text)
		q, err := lists.Parse(text, p.Table(), lists.Options{})
		if err != nil {
			t.Fatalf("%s: %v", filter, err)
		}
		found, err := p.Select(t.Context(), q)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		ids := make(map[string]bool)
		var got []string
		for _, l := range found.Rows {
			ids[string(l.Key)] = true
		}
		for i := range 11 {
			if id := fmt.Sprint(i); ids[id] {
				got = append(got, id)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", filter, s, want)
		}
		if classes := q.Classes(); strings.HasPrefix(filter, "at=") && strings.HasSuffix(
			filter, "00:00") && classes != nil {
			t.Errorf("%s: a change of a row in another spelling is not told: %v", filter, classes)
		}
	}
}
