package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/transfer"
)

func TestAPI_MessagePack(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	body := "\x82\xa3url\xb5https://example.com/a\xa4code\xa1a"
	a := b.do("POST", "/api/v1/links", body, "Content-Type", "application/x-msgpack",
		"Accept", "application/msgpack")
	if a.status != 201 || a.header.Get("Content-Type") != "application/msgpack" ||
		!strings.Contains(a.body, "\xa4code\xa1a") || a.body[0]&0xe0 != 0xc0 && a.body[0]&0xf0 != 0x80 {
		t.Errorf("%d %v %q", a.status, a.header, a.body)
	}
	a = b.do("GET", "/api/v1/links", "", "Accept", "application/vnd.msgpack")
	if a.status != 200 || !strings.HasPrefix(a.body, "\x82\xa5links\x91") {
		t.Errorf("list %d %q", a.status, a.body)
	}
	b.want(400, "bad-json", "POST", "/api/v1/links", "\x81\xa3url", "Content-Type", "application/msgpack")
	b.want(400, "bad-json", "POST", "/api/v1/links", "\xdd\xff\xff\xff\xff", "Content-Type",
		"application/msgpack")
	b.want(400, "bad-json", "POST", "/api/v1/links", strings.Repeat("\x91", 50_000), "Content-Type",
		"application/msgpack")
	b.want(422, "invalid", "POST", "/api/v1/links", "\x81\xa1x\x01", "Content-Type", "application/msgpack")
}

func TestAPI_BulkAnswersEachLine(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	var in bytes.Buffer
	for i := range 450 {
		fmt.Fprintf(&in, `{"url":"https://example.com/%d","code":"c%d"}`+"\n", i, i)
	}
	in.WriteString("\n" + `{"url":"https://example.com/","code":"C1"}` + "\n")
	in.WriteString(`{"url":"javascript:alert(1)"}` + "\nnonsense\n")
	in.WriteString(`{"code":"old","url":"https://example.com/","short_url":"x","clicks":5,` +
		`"created_at":"2020-01-01T00:00:00Z","expires_at":"2021-01-01T00:00:00Z"}`)
	a := b.do("POST", "/api/v1/links", in.String(), "Content-Type", typeNDJSON)
	lines := strings.Split(strings.TrimSpace(a.body), "\n")
	if a.status != 200 || len(lines) != 454 {
		t.Fatalf("%d, %d lines: %.300s", a.status, len(lines), a.body)
	}
	var got []bulkAnswer
	for _, line := range lines {
		var one bulkAnswer
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, one)
	}
	for i, want := range []int{201, 409, 422, 400, 201} {
		at := []int{449, 450, 451, 452, 453}[i]
		if got[at].Status != want {
			t.Errorf("answer %d is %+v, want %d", at, got[at], want)
		}
	}
	if got[450].Line != 452 || got[451].Field != "url" || got[0].ShortURL != "https://s.example/c0" {
		t.Errorf("%+v %+v %+v", got[450], got[451], got[0])
	}
	// The export is the file to restore from.
	export := b.do("GET", "/api/v1/links?order=code", "", "Accept", typeNDJSON)
	if n := strings.Count(export.body, "\n"); n != 451 {
		t.Fatalf("%d lines exported", n)
	}
	other := newBed(t, links.Options{}, nil)
	other.do("POST", "/api/v1/links", export.body, "Content-Type", typeNDJSON)
	back := other.do("GET", "/api/v1/links?order=code", "", "Accept", typeNDJSON)
	strip := func(s string) string { // updated_at is when it was restored
		var out []string
		for _, line := range strings.Split(s, "\n") {
			head, tail, _ := strings.Cut(line, `"updated_at"`)
			_, tail, _ = strings.Cut(tail, ",")
			out = append(out, head+tail)
		}
		return strings.Join(out, "\n")
	}
	if strip(back.body) != strip(export.body) {
		t.Errorf("restored %.500s\nexported %.500s", back.body, export.body)
	}
	a = b.do("POST", "/api/v1/links", `{"url":"https://example.com/z","code":"z"}`+"\n{"+
		strings.Repeat(" ", 70_000)+"}\n", "Content-Type", typeNDJSON)
	if !strings.Contains(a.body, `"status":413`) || !strings.Contains(a.body, `"code":"z"`) {
		t.Errorf("a line that is too long: %s", a.body)
	}
}

// An export, in either form, is read back to the links that it was made of.
func TestAPI_ExportsAreRestoredExactly(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	for i, members := range []string{
		`"title":" two  blanks ","tags":["a,b","c|d","e;f","plain"]`, `"title":"no\u00a0break\u00a0"`,
		`"title":"\"'=1, |;","tags":["[\"a\"]"]`, `"title":"'=1+1","tags":["=a","'b","|"]`, `"title":"\u3000"`,
		`"tags":["[x","y]"],"expires_at":"2036-01-01T00:00:00.125Z"`, `"tags":["a","b"],"max_clicks":9007199254740993`,
		`"enabled":false,"pass_query":false,"pass_path":true,"expired_url":"https://example.com/a,b|c"`,
		`"title":"` + strings.Repeat("ü  ", 100) + `"`,
	} {
		b.want(201, "", "POST", "/api/v1/links", fmt.Sprintf(
			`{"url":"https://example.com/?a=%d,b;c|d","code":"c%d",%s}`, i, i, members))
	}
	updated := regexp.MustCompile(`"updated_at":"[^"]*"`)
	export := func(b *bed, mediaType string) string {
		return b.want(200, "", "GET", "/api/v1/links?order=code", "", "Accept", mediaType).body
	}
	for _, mediaType := range []string{typeNDJSON, typeCSV} {
		for _, format := range []transfer.Format{transfer.Auto, transfer.Hotrow} {
			other := newBed(t, links.Options{}, nil)
			send := func(_ context.Context, lines []byte, _ int) ([]transfer.Answer, error) {
				a := other.do("POST", "/api/v1/links", string(lines), "Content-Type", typeNDJSON)
				return transfer.ReadAnswers(strings.NewReader(a.body))
			}
			report, err := transfer.Import(t.Context(), transfer.Read(strings.NewReader(export(b, mediaType)),
				format), send, false, func(int) {})
			if err != nil || len(report.Refused) > 0 {
				t.Errorf("%s: %+v, %v", mediaType, report, err)
			}
			was, is := export(b, typeNDJSON), export(other, typeNDJSON)
			if diff := cmp.Diff(updated.ReplaceAllString(was, ""), updated.ReplaceAllString(is, "")); diff != "" {
				t.Errorf("from %s (-exported +restored):\n%s", mediaType, diff)
			}
		}
	}
}

func TestAPI_CSVDefusesFormulas(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	for i, title := range []string{"=1+1", "+1", "-1", "@x", `a"b,c`, "＝1+1", " =1+1"} {
		b.want(201, "", "POST", "/api/v1/links", fmt.Sprintf(
			`{"url":"https://example.com/","code":"c%d","title":%q,"tags":["=x","y"]}`, i, title))
	}
	a := b.do("GET", "/api/v1/links?order=code", "", "Accept", "text/csv")
	lines := strings.Split(a.body, "\n")
	if !strings.HasPrefix(lines[0], "code,short_url,url,") || len(lines) != 9 {
		t.Fatalf("%s", a.body)
	}
	for i, want := range []string{",'=1+1,'=x|y,", ",'+1,", ",'-1,", ",'@x,", `,"a""b,c",`,
		",'＝1+1,", ",' =1+1,"} {
		if !strings.Contains(lines[i+1], want) {
			t.Errorf("%s lacks %s", lines[i+1], want)
		}
	}
	if a := newBed(t, links.Options{}, nil).do("GET", "/api/v1/links", "", "Accept", "text/csv"); a.body !=
		lines[0]+"\n" {
		t.Errorf("no links: %q", a.body)
	}
}

func TestAPI_PagesFollowOneAnother(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	for i := range 7 {
		b.want(201, "", "POST", "/api/v1/links", fmt.Sprintf(
			`{"url":"https://example.com/%d","code":"c%d","tags":["t"]}`, i, i))
	}
	path, seen := "/api/v1/links?limit=3&order=code&tag=t", 0
	for path != "" {
		a := b.want(200, "", "GET", path, "")
		var page struct {
			Links []struct{ Code string }
			Next  *string
		}
		if err := json.Unmarshal([]byte(a.body), &page); err != nil {
			t.Fatal(err)
		}
		for _, l := range page.Links {
			if l.Code != fmt.Sprintf("c%d", seen) {
				t.Errorf("%s after %d", l.Code, seen)
			}
			seen++
		}
		link := a.header.Get("Link")
		path = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
		if (page.Next == nil) != (link == "") {
			t.Errorf("next %v, Link %s", page.Next, link)
		}
	}
	if seen != 7 {
		t.Errorf("%d links", seen)
	}
}
