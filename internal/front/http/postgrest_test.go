package httpfront

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
)

// A profileCase is one request of a client of PostgREST, and what PostgREST gives.
type profileCase struct {
	ask     string // method and what follows the path of the profile
	headers string // with | between them
	body    string
	code    int
	want    string // the body, or the code of an error
	header  string // a line of the answer; "": any
}

const (
	asObject   = "Accept: application/vnd.pgrst.object+json"
	asStripped = "Accept: application/vnd.pgrst.array+json;nulls=stripped"
)

var profileCases = []profileCase{
	{"GET /depts?select=dname", "", "", 200,
		`[{"dname":"ACCOUNTING"},{"dname":"RESEARCH"},{"dname":"SALES"}]`, "Content-Range: 0-2/*"},
	{"GET /depts?limit=1000&select=dname&deptNumber=gt.20", "", "", 200,
		`[{"dname":"SALES"},{"dname":"OPERATIONS"}]`, ""},
	{"GET /depts?select=dname,loc,n:deptNumber&deptNumber=lt.30", "Accept: text/csv", "", 200,
		"dname,loc,n\nACCOUNTING,\"NEW YORK\",10\nRESEARCH,DALLAS,20", "Content-Type: text/csv; charset=utf-8"},
	{"GET /depts?deptNumber=eq.99", "Accept: text/csv", "", 200, "\n", "Content-Range: */*"},
	{"GET /depts?deptNumber=eq.40&select=dname,loc", asStripped, "", 200, `[{"dname":"OPERATIONS"}]`,
		"Content-Type: application/vnd.pgrst.array+json;nulls=stripped"},
	{"GET /depts?deptNumber=eq.40", asObject + ";nulls=stripped", "", 200,
		`{"deptNumber":40,"dname":"OPERATIONS"}`, "Content-Type: application/vnd.pgrst.object+json;nulls=stripped"},
	{"GET /depts?deptNumber=eq.99", asObject + ";nulls=stripped", "", 406, "PGRST116", ""},
	{"GET /depts", "Accept: text/html", "", 406, "PGRST107", ""},
	{"GET /depts?deptNumber=eq.99", asObject, "", 406, "PGRST116", ""},
	{"GET /depts?nope=eq.1", "", "", 400, "42703", ""},
	{"GET /nope", "", "", 404, "PGRST205", ""},
	{"GET /", "", "", 404, "PGRST125", ""},
	{"POST /rpc/f", "", `{}`, 404, "PGRST202", ""},
	{"GET /depts", "Accept-Profile: other", "", 406, "PGRST106", ""},
	{"GET /pay", "", "", 401, "PGRST301", ""},
	{"PUT /depts", "", `{"deptNumber":48,"dname":"P"}`, 405, "PGRST105", ""},
	{"PUT /depts?dname=eq.P", "", `{"deptNumber":48,"dname":"P"}`, 405, "PGRST105", ""},
	{"PUT /depts?deptNumber=gt.48", "", `{"deptNumber":48,"dname":"P"}`, 405, "PGRST105", ""},
	{"PUT /depts?deptNumber=eq.48", "", `{"deptNumber":49,"dname":"P"}`, 400, "PGRST115", ""},
	{"PUT /depts?deptNumber=eq.48", "", `{"dname":"P"}`, 400, "PGRST115", ""},
	{"PUT /depts?deptNumber=eq.48", "", `[{"deptNumber":48,"dname":"P"},{"deptNumber":49,"dname":"P"}]`, 400,
		"PGRST115", ""},
	{"PUT /depts?deptNumber=eq.48", "", `{"deptNumber":48,"dname":"P"}`, 201, "", "Content-Range: */*"},
	{"PUT /depts?deptNumber=eq.48", "", `{"deptNumber":48,"dname":"Q"}`, 204, "", ""},
	{"PUT /depts?deptNumber=eq.48&select=dname", "Prefer: return=representation",
		`[{"deptNumber":48,"dname":"R"}]`, 200, `[{"dname":"R"}]`, ""},
	{"DELETE /depts?deptNumber=eq.48", "", "", 204, "", ""},
	{"PUT /log?deptno=eq.1", "", `{}`, 405, "PGRST117", "Allow: GET, HEAD, OPTIONS"},
	{"OPTIONS /log", "", "", 204, "", "Allow: GET, HEAD, OPTIONS"},

	{"POST /depts", "", `{"deptNumber":50,"dname":"A"}`, 201, "", "Content-Range: */*"},
	{"GET /depts?deptNumber=eq.50", "", "", 200, `[{"deptNumber":50,"dname":"A","loc":null}]`, ""},
	{"POST /depts", "Prefer: return=headers-only", `{"deptNumber":51,"dname":"B"}`, 201, "",
		"Location: /rest/v1/depts?deptNumber=eq.51"},
	{"POST /depts", "Prefer: return=representation", `{"deptNumber":52,"dname":"C"}`, 201,
		`[{"deptNumber":52,"dname":"C","loc":null}]`, "Preference-Applied: return=representation"},
	{"POST /depts?select=n:dname", "Prefer: return=representation|" + asObject,
		`{"deptNumber":53,"dname":"D"}`, 201, `{"n":"D"}`, ""},
	{`POST /depts?columns="deptNumber","dname","loc"&select=loc,dname`,
		"Prefer: return=representation,count=exact",
		`[{"deptNumber":60,"dname":"E","loc":"X","other":1},{"deptNumber":61,"dname":"F"}]`, 201,
		`[{"loc":"X","dname":"E"},{"loc":null,"dname":"F"}]`, "Content-Range: */2"},
	{"POST /depts", "", `[{"deptNumber":62,"dname":"G"},{"deptNumber":63}]`, 400, "PGRST102", ""},
	{"POST /depts", "", `{"deptNumber":62,"nope":1}`, 400, "PGRST204", ""},
	{`POST /depts?columns="nope"`, "", `[{"deptNumber":62,"nope":1}]`, 400, "PGRST204", ""},
	{"POST /depts", "", `{"deptNumber":62`, 400, "PGRST102", ""},
	{"POST /depts", "", `[{"deptNumber":64,"dname":"H"},{"deptNumber":50,"dname":"I"}]`, 409, "23505", ""},
	{"GET /depts?deptNumber=eq.64", "", "", 200, "[]", ""}, // all or none
	{"PATCH /depts?deptNumber=eq.60&select=n:deptNumber::text", "Prefer: return=representation",
		`{"loc":"X"}`, 200, `[{"n":"60"}]`, ""},
	{"PATCH /depts?deptNumber=eq.60&select=dname::int", "Prefer: return=representation",
		`{"loc":"Y"}`, 400, "PGRST100", ""},
	{"GET /depts?deptNumber=eq.60&select=deptNumber::text,loc", "", "", 200,
		`[{"deptNumber":"60","loc":"X"}]`, ""},
	{"GET /depts?deptNumber=eq.60&select=dname::int", "", "", 400, "22P02", ""},
	{"GET /depts?deptNumber=eq.60&select=dname->a", "", "", 400, "PGRST100", ""},
	{"POST /depts", "", `{"deptNumber":64}`, 400, "23502", ""},
	{"POST /depts", "Prefer: tx=rollback", `{"deptNumber":64,"dname":"H"}`, 400, "PGRST122", ""},
	{"POST /depts?dname=eq.x", "", `{"deptNumber":64,"dname":"H"}`, 400, "PGRST100", ""},
	{"POST /log", "", `{"deptno":64,"dname":"H"}`, 405, "PGRST117", ""},

	{"POST /depts", "Prefer: resolution=merge-duplicates,return=representation",
		`[{"deptNumber":50,"dname":"A2"}]`, 200, `[{"deptNumber":50,"dname":"A2","loc":null}]`,
		"Preference-Applied: resolution=merge-duplicates, return=representation"},
	{"POST /depts?on_conflict=dname", "Prefer: resolution=merge-duplicates,return=representation",
		`{"dname":"B","loc":"Y"}`, 200, `[{"deptNumber":51,"dname":"B","loc":"Y"}]`, ""},
	{"POST /depts", "Prefer: resolution=ignore-duplicates,return=representation",
		`[{"deptNumber":50,"dname":"Z"},{"deptNumber":64,"dname":"H"}]`, 201,
		`[{"deptNumber":64,"dname":"H","loc":null}]`, ""},
	{"POST /depts?on_conflict=loc", "Prefer: resolution=merge-duplicates", `{"dname":"B","loc":"Y"}`,
		400, "42P10", ""},

	{"PATCH /depts?deptNumber=in.(60,61)&select=dname,loc", "Prefer: return=representation|Accept: text/csv",
		`{"loc":"O P"}`, 200, "dname,loc\nE,\"O P\"\nF,\"O P\"", "Content-Type: text/csv; charset=utf-8"},
	{"PATCH /depts?deptNumber=in.(60,61)&select=dname,loc", "Prefer: return=representation|" + asStripped,
		`{"loc":null}`, 200, `[{"dname":"E"},{"dname":"F"}]`, ""},
	{"PATCH /depts?deptNumber=in.(60,61)", "", `{"loc":"P"}`, 204, "", "Content-Range: 0-1/*"},
	{"PATCH /depts?deptNumber=in.(60,61)&select=loc", "Prefer: return=representation, count=exact",
		`{"loc":"Q"}`, 200, `[{"loc":"Q"},{"loc":"Q"}]`, "Content-Range: 0-1/2"},
	{"PATCH /depts?deptNumber=eq.99", "Prefer: return=representation", `{"loc":"Q"}`, 200, "[]",
		"Content-Range: */*"},
	{"PATCH /depts?deptNumber=eq.99", "", `{"loc":"Q"}`, 204, "", ""},
	{"PATCH /depts?deptNumber=eq.99", "Prefer: return=representation|" + asObject, `{"loc":"Q"}`, 406,
		"PGRST116", ""},
	{"PATCH /depts?deptNumber=in.(60,61)", "Prefer: return=representation|" + asObject, `{"loc":"R"}`, 406,
		"PGRST116", ""},
	{"GET /depts?loc=eq.R", "", "", 200, "[]", ""}, // it was undone
	{"PATCH /depts", "", `{"loc":"Q"}`, 400, "21000", ""},
	{"PATCH /depts?deptNumber=gt.0", "", `{"loc":"Q"}`, 400, "PGRST124", ""},
	{"PATCH /depts?deptNumber=in.(60,61)", "Prefer: handling=strict, max-affected=1", `{"loc":"R"}`, 400,
		"PGRST124", ""},
	{"PATCH /depts?deptNumber=in.(60,61)", "Prefer: handling=strict, max-affected=2", `{"loc":"R"}`, 204,
		"", "Preference-Applied: handling=strict, max-affected=2"},
	{"PATCH /depts?deptNumber=in.(60,61)&select=dname&order=dname.desc", "Prefer: return=representation",
		`{"loc":"P"}`, 200, `[{"dname":"F"},{"dname":"E"}]`, "Content-Range: 0-1/*"},
	{"DELETE /depts?deptNumber=eq.60&order=dname", "Prefer: return=representation", "", 400, "PGRST100", ""},
	{"PATCH /depts?deptNumber=eq.60&limit=1", "", `{"loc":"Q"}`, 400, "PGRST100", ""},
	{"PATCH /depts?deptNumber=eq.60", "", `[{"loc":"Q"},{"loc":"R"}]`, 400, "PGRST102", ""},
	{"PATCH /depts?deptNumber=eq.x", "", `{"loc":"Q"}`, 400, "22P02", ""},
	{"PATCH /log?deptno=eq.60", "", `{"loc":"Q"}`, 405, "PGRST117", ""},

	{"DELETE /depts?deptNumber=in.(60,61)&select=dname", "Prefer: return=representation", "", 200,
		`[{"dname":"E"},{"dname":"F"}]`, "Content-Range: */*"},
	{"DELETE /depts?deptNumber=in.(60,64)", "Prefer: count=exact", "", 204, "", "Content-Range: */1"},
	{"DELETE /depts", "", "", 400, "21000", ""},
	{"GET /depts?deptNumber=gt.60", "", "", 200, "[]", ""},
}

// A client of PostgREST gets what PostgREST gives, over every road.
func TestProfile_OverEveryRoad(t *testing.T) {
	for _, road := range []string{"", "loop", "h2"} {
		t.Run("road="+road, func(t *testing.T) {
			t.Setenv("HOTROW_TEST_ROAD", road)
			s := newServer(t, func(o *Options) { o.Postgrest = "/rest/v1" })
			for i := range profileCases {
				s.profile(&profileCases[i])
			}
		})
	}
}

// profile asks what tc says.
func (s *site) profile(tc *profileCase, more ...string) {
	s.t.Helper()
	method, path, _ := strings.Cut(tc.ask, " ")
	headers := append(more, "Content-Type: application/json") // postgrest-js sends it with all writes
	if tc.headers != "" {
		headers = append(headers, strings.Split(tc.headers, "|")...)
	}
	a := s.do(method, "/rest/v1"+path, tc.body, headers...)
	got := a.body
	if a.StatusCode >= 400 {
		var e map[string]any
		if err := json.Unmarshal([]byte(a.body), &e); err != nil || len(e) != 4 {
			s.t.Errorf("%s: the error is %s", tc.ask, a.body)
		}
		got, _ = e["code"].(string)
		for _, member := range []string{"code", "details", "hint", "message"} {
			if _, ok := e[member]; !ok || a.Header.Get("Content-Type") != "application/json" {
				s.t.Errorf("%s: the error is %s", tc.ask, a.body)
			}
		}
	}
	if a.StatusCode != tc.code || got != tc.want {
		s.t.Errorf("%s %s %s:\n\t%d %s %s\nwant\n\t%d %s", tc.ask, tc.headers, tc.body, a.StatusCode, got,
			a.body, tc.code, tc.want)
	}
	if name, value, ok := strings.Cut(tc.header, ": "); ok && a.Header.Get(name) != value {
		s.t.Errorf("%s: %s is %q, want %q", tc.ask, name, a.Header.Get(name), value)
	}
}

// Who may write and not read learns nothing by a condition, nor by what is sent back.
func TestProfile_KeepsTheRules(t *testing.T) {
	s := newServer(t, func(o *Options) { o.Postgrest = "/rest/v1" })
	editor, one := newToken(t, "e", "editor")
	reader, two := newToken(t, "r", "reader")
	s.tokens.Set([]front.Token{one, two})
	for _, tc := range []struct {
		profileCase
		as string
	}{
		{profileCase{"PATCH /pay?sal=gt.50", "", `{"sal":7}`, 403, "42501", ""}, editor},
		{profileCase{"DELETE /pay?id=eq.1", "", "", 403, "42501", ""}, editor},
		{profileCase{"POST /pay", "Prefer: return=representation", `{"id":2,"sal":7}`, 403, "42501", ""}, editor},
		{profileCase{"POST /pay", "", `{"id":2,"sal":7}`, 201, "", ""}, editor},
		{profileCase{"POST /pay", "", `{"id":3,"sal":7}`, 403, "42501", ""}, reader},
		{profileCase{"PATCH /pay?id=eq.1", "", `{"sal":7}`, 403, "42501", ""}, reader},
		{profileCase{"GET /pay?select=id", "", "", 200, `[{"id":1},{"id":2}]`, "Vary: Accept, Authorization, apikey"},
			reader},
		{profileCase{"GET /closed", "", "", 403, "42501", ""}, reader},
		{profileCase{"DELETE /closed?deptno=eq.10", "", "", 405, "PGRST117", ""}, editor},
	} {
		s.profile(&tc.profileCase, "apikey: "+tc.as)
	}
}

// A list of the profile and one of the same words are two answers.
func TestProfile_ListsAreItsOwn(t *testing.T) {
	s := newServer(t, func(o *Options) { o.Postgrest = "/rest/v1" })
	for range 4 {
		a := s.do("GET", "/rest/v1/depts?select=dname&order=dname", "")
		b := s.do("GET", "/depts?select=dname&order=dname", "")
		if a.Header.Get("Link") != "" || b.Header.Get("Link") == "" {
			t.Errorf("Link %q, %q", a.Header.Get("Link"), b.Header.Get("Link"))
		}
	}
}

// Of each database the code is PostgreSQL's.
func TestProfile_Codes(t *testing.T) {
	for code, want := range map[string]string{
		"23000/1062": "23505", "23000/1452": "23503", "23000/1048": "23502", "HY000/1364": "23502",
		"23000/4025": "23514", "2067": "23505", "787": "23503", "1299": "23502", "23505": "23505",
		"22003/1264": "22003", "PGRST204": "PGRST204", "": "",
	} {
		p := problem{kind: kindConflict, code: code}
		if p.inWords(nil); p.code != want {
			t.Errorf("%q is %q, want %q", code, p.code, want)
		}
	}
}
