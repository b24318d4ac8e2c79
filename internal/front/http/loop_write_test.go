package httpfront

import (
	"fmt"
	"strings"
	"testing"
)

// A write is answered in the same way whether the loop has all of it, or net/http reads it.
func TestLoop_WritesAreAnsweredAsByNetHTTP(t *testing.T) {
	s := newLoopSite(t)
	const json = "Content-Type: application/json\r\n"
	for _, tc := range []struct {
		line, headers, body string
		code                int
	}{
		{"PUT /depts/10", json, `{"deptNumber":10,"dname":"A","loc":"B"}`, 200},
		{"PUT /depts/10", json + "Prefer: return=minimal\r\n", `{"dname":"A","loc":"B"}`, 204},
		{"PUT /depts/10", json + "If-Match: \"x\"\r\n", `{"dname":"A","loc":"B"}`, 412},
		{"PUT /depts/10", json + "If-Match: x\r\n", `{"dname":"A","loc":"B"}`, 400},
		{"PUT /depts/10", json + "Accept: application/cbor\r\n", `{"dname":"A","loc":"B"}`, 200},
		{"PUT /depts/10", json + "Accept: text/csv\r\n", `{"dname":"A","loc":"B"}`, 406},
		{"PUT /depts/10", json, `{"deptNumber":11,"dname":"A","loc":"B"}`, 422},
		{"PUT /depts/10", json, `{"dname":`, 400}, {"PUT /depts/10", json, ``, 400},
		{"PUT /depts/10", "", `{}`, 415}, {"PUT /depts/10", "Content-Type: text/plain\r\n", `{}`, 415},
		{"PUT /depts/10", json + "Content-Encoding: gzip\r\n", `{}`, 415},
		{"PUT /depts/10", json + json, `{}`, 415}, {"PUT /depts/ten", json, `{}`, 400},
		{"PUT /depts/10", json + "Host: evil.example\r\n", `{}`, 400},
		{"PATCH /depts/10", json + "X-Request-Id: r-1\r\n", `{"loc":"C"}`, 200},
		{"PATCH /depts/10?format=msgpack", json, `{"loc":"C"}`, 200},
		{"PATCH /depts/99", "Content-Type: application/merge-patch+json\r\n", `{"loc":"C"}`, 404},
		{"PATCH /depts/10", json + "Origin: http://evil.example\r\n", `{"loc":"C"}`, 403},
		{"DELETE /depts/99", "", "", 404}, {"DELETE /depts", "", "", 405},
		{"POST /depts", json, `{"deptNumber":10,"dname":"A"}`, 409}, {"POST /depts/10", json, `{}`, 405},
		{"PATCH /pay/1", json, `{}`, 401}, {"PATCH /closed/1", json, `{}`, 405},
		{"PUT /nothing/1", json, `{}`, 404}, {"PUT /", json, `{}`, 405}, {"DELETE /openapi.json", "", "", 404},
	} {
		raw := fmt.Sprintf("%s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n",
			tc.line, tc.headers, len(tc.body))
		method, _, _ := strings.Cut(tc.line, " ")
		before := s.handedOver()
		onLoop := s.answers(raw+"\r\n"+tc.body, method)[0]
		left := s.handedOver() - before
		if onLoop.StatusCode == 400 && strings.Count(raw, "Host:") > 1 {
			s.conn = s.dial()
			s.in.Reset(s.conn)
			continue // two of them are refused by whoever sees them first
		}
		behind := s.answers(raw+"Connection: keep-alive, x\r\n\r\n"+tc.body, method)[0]
		if a, b := onLoop.without("Connection"), behind.without("Connection"); a != b {
			t.Errorf("%s %q\nloop:     %s\nnet/http: %s", raw, tc.body, a, b)
		}
		if onLoop.StatusCode != tc.code {
			t.Errorf("%s %q: %d %s, want %d", raw, tc.body, onLoop.StatusCode, onLoop.body, tc.code)
		}
		pages := strings.Contains(raw, "Origin:") || strings.Count(raw, "Content-Type:") > 1
		if s.hasLoop() && (left > 0) != pages {
			t.Errorf("%s: %d left the loop", raw, left)
		}
	}
}

// A body of which a part comes later, or that is too large for the server, is for net/http.
func TestLoop_BodiesThatComeInParts(t *testing.T) {
	s := newLoopSite(t)
	const body = `{"loc":"OSLO"}`
	head := "PATCH /depts/10 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	for _, cut := range []int{0, 9, len(head) - 1, len(head), len(head) + 1, len(head) + len(body)} {
		whole := head + body + plainGet
		if _, err := s.conn.Write([]byte(whole[:cut])); err != nil {
			t.Fatal(err)
		}
		got := s.answers(whole[cut:], "PATCH", "GET")
		for _, a := range got {
			if a.StatusCode != 200 || !strings.Contains(a.body, "OSLO") {
				t.Errorf("cut at %d: %d %s", cut, a.StatusCode, a.body)
			}
		}
	}
	large := strings.Repeat(" ", 1<<20) + "{}"
	got := s.answers(fmt.Sprintf("PATCH /depts/10 HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(large)), "PATCH")
	if got[0].StatusCode != 413 || !got[0].Close {
		t.Errorf("%d %s", got[0].StatusCode, got[0].body)
	}
}
