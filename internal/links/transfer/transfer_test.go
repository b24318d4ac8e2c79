package transfer

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// read returns what a file of testdata holds, refusals as texts.
func read(t *testing.T, name string, format Format) (links []Link, refused []string) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for l, err := range Read(file, format) {
		if bad, ok := errors.AsType[*Refusal](err); ok {
			refused = append(refused, bad.Error())
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	return links, refused
}

func at(t *testing.T, text string) *time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return &when
}

func TestRead_Formats(t *testing.T) {
	yes, no := truth(true), truth(false)
	tests := []struct {
		file    string
		format  Format
		links   []Link
		refused []string
	}{
		{"bitly.csv", Bitly, []Link{
			{Line: 2, Code: "3Tq9XyZ", URL: "https://shop.example.com/spring?utm_source=mail", Title: "Spring sale",
				Tags: []string{"mail", "spring"}, CreatedAt: at(t, "2024-03-05T09:15:30Z"), Clicks: 1204},
			{Line: 3, Code: "3Tq9xyz", URL: "https://docs.example.com/handbook", Title: "Handbook, second edition",
				CreatedAt: at(t, "2024-03-06T10:00:00Z"), Clicks: 7},
			{Line: 4, Code: "2oLd1Aa", URL: "http://old.example.com/", Title: "Old campaign", Tags: []string{"old"},
				Enabled: no, CreatedAt: at(t, "2024-04-01T00:00:00Z")},
		}, []string{"line 5: 2none00: there is no target"}},
		{"bitly-page.csv", Bitly, []Link{ // the headings that the export page writes
			{Line: 2, Code: "spring-sale", URL: "https://shop.example.com/spring"},
			{Line: 3, Code: "3Tq9xyz", URL: "https://docs.example.com/handbook"},
		}, nil},
		{"shlink.csv", Shlink, []Link{
			{Line: 2, Code: "rY9zd", URL: "https://example.com/a?b=c", Title: "A page", Tags: []string{"news", "mail"},
				CreatedAt: at(t, "2024-01-10T11:00:00Z"), Clicks: 54, Domain: "s.example"},
			{Line: 3, Code: "docs/api", URL: "https://example.com/api", Domain: "s.example",
				CreatedAt: at(t, "2024-01-11T11:00:00Z"), Clicks: 3},
		}, nil},
		{"shlink.json", Auto, []Link{
			{Line: 1, Code: "rY9zd", URL: "https://example.com/a?b=c", Title: "A page", Tags: []string{"news", "mail"},
				PassQuery: no, ExpiresAt: at(t, "2030-01-01T00:00:00Z"), MaxClicks: 100, Domain: "s.example",
				CreatedAt: at(t, "2024-01-10T11:00:00Z"), Clicks: 54},
			{Line: 2, Code: "b", URL: "https://example.com/b", PassQuery: yes, Domain: "other.example",
				Lost:      []string{"that search engines may list it is not taken over: hotrow tells them not to"},
				CreatedAt: at(t, "2024-01-11T11:00:00Z")},
		}, nil},
		{"kutt.json", Auto, []Link{
			{Line: 1, Code: "p9VTxj", URL: "https://example.org/reading", Title: "Reading list",
				ExpiresAt: at(t, "2030-06-01T00:00:00Z"), CreatedAt: at(t, "2024-02-01T08:00:00Z"), Clicks: 12},
			{Line: 3, Code: "spam", URL: "https://spam.example/", Enabled: no,
				CreatedAt: at(t, "2024-02-03T08:00:00Z")},
		}, []string{"line 2: secret: it asks for a password, which hotrow does not: anybody could follow it"}},
		{"yourls.sql", Auto, []Link{
			{Line: 16, Code: "ozh", URL: "http://ozh.org/", Title: `Ozh's "blog"`,
				CreatedAt: at(t, "2009-05-11T09:41:13Z"), Clicks: 17},
			{Line: 16, Code: "2", URL: "https://example.com/?a=1;b=(2)", CreatedAt: at(t, "2010-01-01T00:00:00Z")},
			{Line: 18, Code: "hex", URL: "https://example.org/", Title: "It's",
				CreatedAt: at(t, "2014-03-08T00:38:44Z"), Clicks: 3},
		}, nil},
		{"yourls.json", Auto, []Link{
			{Line: 1, Code: "ozh", URL: "http://ozh.org/", Title: "Ozh",
				CreatedAt: at(t, "2009-05-11T09:41:13Z"), Clicks: 17},
			{Line: 2, Code: "b", URL: "https://example.com/b", Title: "B",
				CreatedAt: at(t, "2010-01-01T00:00:00Z"), Clicks: 2},
			{Line: 3, Code: "c", URL: "https://example.com/c", Title: "C", CreatedAt: at(t, "2010-01-01T00:00:00Z")},
		}, nil},
		{"yourls.csv", YOURLS, []Link{
			{Line: 2, Code: "ozh", URL: "http://ozh.org/", Title: "Ozh, the blog",
				CreatedAt: at(t, "2009-05-11T09:41:13Z"), Clicks: 17},
		}, nil},
		{"golink.jsonl", Auto, []Link{
			{Line: 1, Code: "go", URL: "http://go/", PassPath: yes, Owner: "amelie@example.com",
				CreatedAt: at(t, "2022-06-17T18:05:43.562948451Z")},
			{Line: 2, Code: "who", URL: "http://who", PassPath: yes, Owner: "amelie@example.com",
				CreatedAt: at(t, "2022-06-17T18:05:43Z")},
		}, []string{
			"line 3: search: its target is a template, which hotrow has not: " +
				"https://search.example/{{if .Path}}?q={{QueryEscape .Path}}{...",
			"line 4: pr: its target is a template that puts a path into a word: https://git.example/pull-{{.Path}}",
			"line 5: no JSON object: unexpected EOF",
		}},
		{"plain.csv", CSV, []Link{
			{Line: 2, Code: "spring", URL: "https://example.com/spring", Tags: []string{"a", "b"}, Enabled: yes,
				ExpiresAt: at(t, "2030-01-02T00:00:00Z"), MaxClicks: 100},
			{Line: 3, Code: "off", URL: "https://example.com/off", Enabled: no},
			{Line: 4, Code: "guard", URL: "https://example.com/guard", Tags: []string{"=cmd"}},
		}, []string{`line 5: when: "next week" is not a time that is understood (2026-11-22T19:00:00Z is)`}},
		{"hotrow.ndjson", Auto, []Link{
			{Line: 1, Code: "spring", URL: "https://example.com/spring?x=1", Status: 302, Tags: []string{"mail"},
				Enabled: yes, PassQuery: yes, PassPath: no, ExpiresAt: at(t, "2026-12-31T23:59:59Z"),
				CreatedAt: at(t, "2026-11-21T19:03:00Z"), Clicks: 5},
			{Line: 2, Code: "Off", URL: "https://example.com/off", Status: 301, Title: "T", Enabled: no, PassQuery: no,
				PassPath: yes, ExpiredURL: "https://example.com/gone", MaxClicks: 7,
				CreatedAt: at(t, "2026-11-21T19:03:00Z")},
			{Line: 3, Code: "exact", URL: "https://example.com/", Status: 302, Title: " two  blanks\u00a0",
				Tags: []string{"a,b", "c|d", "e;f", "g"}, Enabled: yes, PassQuery: yes, PassPath: no,
				CreatedAt: at(t, "2026-11-21T19:03:00Z")},
		}, nil},
		{"hotrow.csv", Auto, []Link{
			{Line: 2, Code: "spring", URL: "https://example.com/", Status: 301, Title: "two  blanks ",
				Tags: []string{"a,b", "c;d"}, Enabled: yes, PassQuery: yes, PassPath: no,
				CreatedAt: at(t, "2026-11-21T19:03:00Z"), Clicks: 5},
			{Line: 3, Code: "list", URL: "https://example.com/", Status: 302, Title: "=1+1",
				Tags: []string{"a|b", "c"}, Enabled: yes, PassQuery: yes, PassPath: no,
				CreatedAt: at(t, "2026-11-21T19:03:00Z")},
			{Line: 4, Code: "open", URL: "https://example.com/", Status: 302, Tags: []string{"[a", "b]"},
				Enabled: no, PassQuery: yes, PassPath: no, CreatedAt: at(t, "2026-11-21T19:03:00Z")},
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			links, refused := read(t, tt.file, tt.format)
			if diff := cmp.Diff(tt.links, links); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.refused, refused); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRead_RefusesWhatIsNothing: a file that holds no links is an error and not
// an import of nothing.
func TestRead_RefusesWhatIsNothing(t *testing.T) {
	tests := map[string]string{
		"":                                      "empty",
		" \n\t":                                 "empty",
		"{}":                                    "nothing in it is a link",
		`{"data":[{"id":1}]}`:                   "nothing in it is a link",
		"name,visits\nx,1\n":                    "no column for the target",
		"https://example.com/,x\n":              "no column for the target",
		"-- a dump\nSELECT 1;":                  "no INSERT INTO",
		"INSERT INTO yourls_url VALUES ('a":     "unexpected EOF",
		"INSERT INTO yourls_url VALUES ('a', ":  "unexpected EOF",
		`{"links":{"link_1":{"shorturl":"https`: "unexpected EOF",
	}
	for text, want := range tests {
		var last error
		for _, err := range Read(strings.NewReader(text), Auto) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, last, want)
		}
	}
}

func TestRead_StopsWhenNobodyWantsMore(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range Read(bytes.NewReader(text), Auto) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: %d links before the end", name, n)
		}
	}
}

// What JoinTags makes a cell of is read as it was.
func TestJoinTags(t *testing.T) {
	for _, tags := range [][]string{nil, {"a"}, {"a", "b"}, {"a|b"}, {"a|b", "c"}, {"|"}, {"[a"}, {"[]"}, {`["a"]`},
		{`["a","b"]`, "c"}, {"a,b", "c;d"}, {`a\`, "|"}, {`"`, "<&>|"}, {"'a", "=1|2"}} {
		cell := JoinTags(tags)
		got := parseTags(unguard(Guard(cell)))
		if len(tags) == 0 && cell == "" {
			continue
		}
		if diff := cmp.Diff(tags, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", cell, diff)
		}
	}
}

func TestCodeOf(t *testing.T) {
	tests := map[string]string{
		"https://bit.ly/3Tq9XyZ": "3Tq9XyZ", "bit.ly/3Tq9XyZ": "3Tq9XyZ", "3Tq9XyZ": "3Tq9XyZ",
		"https://s.example/a/?x#y": "a", "https://s.example": "", "/a/": "a", "a/b": "a/b",
		"https://s.example/a|https://s.example/b": "a",
	}
	for short, want := range tests {
		if got := codeOf(short); got != want {
			t.Errorf("codeOf(%q) = %q, want %q", short, got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	tests := map[string]string{
		"spring": "https://example.com/spring?x=1", "SPRING": "https://example.com/spring?x=1",
		"off": "https://example.com/off", "nothing": "",
	}
	for code, want := range tests {
		file, err := os.Open("testdata/hotrow.ndjson")
		if err != nil {
			t.Fatal(err)
		}
		link, err := Resolve(file, code)
		_ = file.Close()
		if link.URL != want || (err == nil) != (want != "") {
			t.Errorf("Resolve(%q) = %q, %v, want %q", code, link.URL, err, want)
		}
	}
}

func TestOff(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	later := now.Add(time.Hour)
	tests := []struct {
		link Link
		want string
	}{
		{Link{}, ""},
		{Link{Enabled: truth(true), ExpiresAt: &later}, ""},
		{Link{Enabled: truth(false)}, "it is switched off"},
		{Link{StartsAt: &later}, "it begins at 2026-01-01T01:00:00Z"},
		{Link{ExpiresAt: &now}, "it expired at 2026-01-01T00:00:00Z"},
	}
	for _, tt := range tests {
		if got := tt.link.Off(now); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.link, got, tt.want)
		}
	}
}

func TestSurvey_TellsCaseApart(t *testing.T) {
	var s Survey
	links := []Link{
		{Line: 1, Code: "abc", URL: "https://a"}, {Line: 2, Code: "aBc", URL: "https://b"},
		{Line: 3, Code: "ABC", URL: "https://a"}, {Line: 4, Code: "abc", URL: "https://c"},
		{Line: 5, URL: "https://d"},
	}
	for i := range links {
		s.Add(&links[i])
	}
	if s.Links != 5 || s.Capital != 2 {
		t.Errorf("%d links, %d with capitals", s.Links, s.Capital)
	}
	if diff := cmp.Diff([]Clash{{2, "aBc", 1}}, s.Clashes); diff != "" {
		t.Errorf("clashes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Clash{{4, "abc", 1}}, s.Twins); diff != "" {
		t.Errorf("twins (-want +got):\n%s", diff)
	}
	if line, ok := s.Earlier(&links[1]); !ok || line != 1 {
		t.Errorf("Earlier = %d, %v", line, ok)
	}
	if _, ok := s.Earlier(&links[3]); ok {
		t.Error("a twin differs by more than case")
	}
}

// FuzzRead: no file makes it crash or give away a link without a target.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, string(Auto))
		f.Add(text, string(YOURLS))
	}
	f.Add([]byte("url\n\"a\nb\"\"c"), "csv")
	f.Add([]byte("\xef\xbb\xbfurl,code\nhttps://a,b"), "")
	f.Fuzz(func(t *testing.T, text []byte, format string) {
		for l, err := range Read(bytes.NewReader(text), Format(format)) {
			if err == nil && l.URL == "" {
				t.Errorf("a link without a target: %+v", l)
			}
		}
	})
}
