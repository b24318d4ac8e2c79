package httpfront

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
)

// An ofMany is the data of an event of a stream of several things.
type ofMany struct {
	Q, Etag string
	Body    json.RawMessage
}

// of waits for an event of that name, of that question, whose body has that text.
func (w *watching) of(name, q, text string) ofMany {
	w.t.Helper()
	for {
		e, ok := w.next()
		var m ofMany
		switch err := json.Unmarshal([]byte(e.data), &m); {
		case !ok:
			w.t.Fatalf("the stream ended before %q %s %q: %v", name, q, text, w.lines.Err())
		case err != nil:
			w.t.Fatalf("%q: %v", e.data, err)
		case e.name == name && m.Q == q && strings.Contains(string(m.Body), text):
			return m
		}
	}
}

func TestWatchMany_TellsOfEach(t *testing.T) {
	s := newWatchSite(t)
	const list = "/depts?loc=eq.DALLAS&select=dname"
	v := url.Values{"q": {"/depts/10", list, "/depts/99"}}
	w := s.watch("/-/watch?" + v.Encode())
	if w.resp.StatusCode != 200 || w.resp.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(w.resp.Body)
		t.Fatalf("%d %s", w.resp.StatusCode, body)
	}
	plain := s.do("GET", "/depts/10", "")
	if m := w.of("", "/depts/10", "ACCOUNTING"); string(m.Body) != plain.body || m.Etag != plain.Header.Get("Etag") {
		t.Errorf("%s %s, GET gives %s", m.Body, m.Etag, plain.body)
	}
	w.of("", list, "RESEARCH")
	w.of("absent", "/depts/99", "null")
	s.exec("UPDATE dept SET loc = 'ROME' WHERE deptno = 20", "INSERT INTO dept VALUES (99, 'NEW', 'ROME')")
	heard := map[string]bool{}
	for len(heard) < 2 { // in any order
		e, ok := w.next()
		if !ok {
			t.Fatal("the stream ended")
		}
		var m ofMany
		_ = json.Unmarshal([]byte(e.data), &m)
		if m.Q == list && string(m.Body) == "[]" || m.Q == "/depts/99" && strings.Contains(string(m.Body), "NEW") {
			heard[m.Q] = true
		}
	}
	s.exec(fmt.Sprintf("UPDATE dept SET loc = '%s' WHERE deptno = 10", strings.Repeat("x", 70_000)))
	w.of("changed", "/depts/10", "")
	if n := s.followers(); n != 3 {
		t.Errorf("%d are followed, want 3", n)
	}
	w.stop()
	eventually(t, "nobody follows", func() bool { return s.followers() == 0 })
}

func TestWatchMany_WhatIsRefused(t *testing.T) {
	s := newWatchSite(t)
	many := "q=%2Fdepts" + strings.Repeat("&q=%2Fdepts", 100)
	for query, want := range map[string]int{"": 400, "q=depts": 400, "q=%2Fnone%2F1": 404, "x=1": 400,
		"q=%2Fdepts%2F10&q=%2Fpay%2F1": 401, "q=%2F-%2Fwatch": 404, "q=%2F": 404, "q=%2Fdepts%0A": 400,
		"q=%2Fdepts%2F10%3Fformat%3Dcbor": 406, many: 400} {
		w := s.watch("/-/watch?" + query)
		if body, _ := io.ReadAll(w.resp.Body); w.resp.StatusCode != want ||
			want == 401 && !strings.Contains(string(body), "/pay/1: ") {
			t.Errorf("%s: %d %s, want %d", query, w.resp.StatusCode, body, want)
		}
	}
	if n := s.followers(); n != 0 {
		t.Errorf("%d are followed", n)
	}
	for body, want := range map[string]int{`{"q":["/depts/10"]}`: 200, `{"q":[]}`: 400, `{"q":1}`: 400,
		`{"q":["/depts/10"],"x":1}`: 400, ``: 400} {
		a := s.postForEvents("/-/watch", body)
		if a.resp.StatusCode != want {
			t.Errorf("POST %s: %d, want %d", body, a.resp.StatusCode, want)
		}
		if want == 200 {
			a.of("", "/depts/10", "ACCOUNTING")
		}
		a.stop()
	}
	if a := s.do("DELETE", "/-/watch", ""); a.StatusCode != 405 || a.Header.Get("Allow") != "GET, POST, OPTIONS" {
		t.Errorf("DELETE: %d %v", a.StatusCode, a.Header)
	}
	eventually(t, "nobody follows", func() bool { return s.followers() == 0 })
}
