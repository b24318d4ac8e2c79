package transfer

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told returns all that is said of the entries of a file, and the codes that are taken over.
func told(t *testing.T, name, domain string) (codes, said []string) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	skipped := map[string]int{}
	for l, err := range OneDomain(Read(file, Auto), domain, skipped) {
		if bad, ok := errors.AsType[*Refusal](err); ok {
			said = append(said, "refused: "+bad.Error())
			continue
		}
		if loss, ok := errors.AsType[*Loss](err); ok {
			said = append(said, "lost: "+loss.Error())
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		code := l.Code
		if l.Enabled != nil && !*l.Enabled {
			code += " (off)"
		}
		if l.Owner != "" {
			code += " of " + l.Owner
		}
		codes = append(codes, code)
		for _, reason := range l.Lost {
			said = append(said, "lost: "+(&Loss{l.Line, l.Code, reason}).Error())
		}
	}
	for name := range maps.Keys(skipped) {
		said = append(said, "left out: "+name)
	}
	return codes, said
}

// TestRead_SaysAllThatItDoesNotTakeOver: over one sample of each shortener that the page of
// the documentation names.
func TestRead_SaysAllThatItDoesNotTakeOver(t *testing.T) {
	const otherDomain = "it is a code of the domain other.example, and those before are of s.example: here all " +
		"codes are of one; choose one by --domain, or all by --domain '*'"
	const leadsNow = " is not taken over: it leads where that leads now, whatever becomes of it"
	rules := []string{
		"lost: line 2: ruled: its redirect rules are not taken over: everybody is sent to the one target",
		"lost: line 2: ruled: that search engines may list it is not taken over: hotrow tells them not to",
		`lost: line 3: phones: "geo" is not taken over, here and from here on: links have nothing of this name`,
		`lost: line 3: phones: its targets for devices are not taken over: {"android":"https://play.example/"}`,
	}
	pages := "lost: line 4: the file has 4 of the 7 links that it speaks of: export the other pages, too"
	for _, tt := range []struct {
		file, domain string
		codes, said  []string
	}{
		{"shlink-rules.json", "", []string{"plain", "ruled", "phones"},
			append(slices.Clone(rules), "refused: line 4: plain: "+otherDomain, pages)},
		{"shlink-rules.json", "s.example", []string{"plain", "ruled", "phones"},
			append(slices.Clone(rules), pages, "left out: other.example")},
		{"shlink-rules.json", "Other.example", []string{"plain"}, []string{pages, "left out: s.example"}},
		{"shlink-rules.json", "*", []string{"plain", "ruled", "phones", "plain"}, append(slices.Clone(rules), pages)},
		{"shlink.csv", "", []string{"rY9zd", "docs/api"}, nil},
		{"polr.csv", "", []string{"polr of ana", "gone (off) of ana"}, []string{"refused: line 4: hush: it is " +
			"followed with a secret ending only, which hotrow has not: anybody could follow it"}},
		{"golink.jsonl", "", []string{"go of amelie@example.com", "who of amelie@example.com"}, []string{
			"refused: line 3: search: its target is a template, which hotrow has not: " +
				"https://search.example/{{if .Path}}?q={{QueryEscape .Path}}{...",
			"refused: line 4: pr: its target is a template that puts a path into a word: " +
				"https://git.example/pull-{{.Path}}",
			"refused: line 5: no JSON object: unexpected EOF"}},
		{"golink-aliases.jsonl", "",
			[]string{"tracker of ana", "bugs of ana", "b-new of ana", "issues of ana"}, []string{
				"lost: line 1: bugs: that it is an alias of /tracker" + leadsNow,
				"lost: line 3: b-new: that it is an alias of /b-ugs/new" + leadsNow,
				"lost: line 4: issues: that it is an alias of /bugs" + leadsNow,
				"refused: line 5: round: it is an alias of /around, which leads in a circle",
				"refused: line 6: around: it is an alias of /round, which leads in a circle",
				"refused: line 7: lone: it is an alias of /nowhere, which the file has not"}},
		{"strangers.csv", "", []string{"a", "b (off)", "c", "d"}, []string{
			`lost: line 3: b: "notes" is not taken over, here and from here on: links have nothing of this name`,
			"lost: line 4: c: that it is archived is not taken over: it is on",
			`lost: line 5: d: its status "waiting" is not taken over: it is neither one of a redirect nor a state`}},
		{"bitly.csv", "", []string{"3Tq9XyZ", "3Tq9xyz", "2oLd1Aa (off)"},
			[]string{"refused: line 5: 2none00: there is no target"}},
		{"bitly-page.csv", "", []string{"spring-sale", "3Tq9xyz"}, nil},
		{"kutt.json", "", []string{"p9VTxj", "spam (off)"}, []string{
			"refused: line 2: secret: it asks for a password, which hotrow does not: anybody could follow it"}},
		{"yourls.sql", "", []string{"ozh", "2", "hex"}, nil},
		{"yourls.csv", "", []string{"ozh"}, nil},
		{"yourls.json", "", []string{"ozh", "b", "c"}, nil},
		{"hotrow.ndjson", "", []string{"spring", "Off (off)", "exact"}, nil},
		{"hotrow.csv", "", []string{"spring", "list", "open (off)"}, nil},
		{"plain.csv", "", []string{"spring", "off (off)", "guard"}, []string{
			`refused: line 5: when: "next week" is not a time that is understood (2026-11-22T19:00:00Z is)`}},
	} {
		codes, said := told(t, tt.file, tt.domain)
		if diff := cmp.Diff(tt.codes, codes); diff != "" {
			t.Errorf("%s %q: links (-want +got):\n%s", tt.file, tt.domain, diff)
		}
		if diff := cmp.Diff(tt.said, said); diff != "" {
			t.Errorf("%s %q: said (-want +got):\n%s", tt.file, tt.domain, diff)
		}
	}
}

// An alias of golink leads where the link that it names leads.
func TestRead_AliasesOfGolink(t *testing.T) {
	links, _ := read(t, "golink-aliases.jsonl", Auto)
	got := map[string]string{}
	for _, l := range links {
		got[l.Code] = l.URL
	}
	want := map[string]string{"tracker": "https://bugs.example/", "bugs": "https://bugs.example/",
		"b-new": "https://bugs.example/new", "issues": "https://bugs.example/"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A title that is too long is cut, and that is said.
func TestRead_SaysThatATitleIsCut(t *testing.T) {
	long := strings.Repeat("é", maxTitle)
	for title, want := range map[string]int{long: 0, long + "!": 1, " " + long + "\n": 0} {
		for l, err := range Read(strings.NewReader("code,url,title\na,https://example.com,\""+title+"\"\n"), Auto) {
			if err != nil || len(l.Lost) != want || l.Title != long {
				t.Errorf("%d characters: %q, %v", len([]rune(title)), l.Lost, err)
			}
		}
	}
}
