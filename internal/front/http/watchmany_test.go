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

// A page in a browser says where it is from with each POST: one of this origin follows, one of another does not.
func TestWatchMany_OfPages(t *testing.T) {
	s := newWatchSite(t)
	for header, want := range map[string]int{
		"Origin: http://" + s.addr: 200, "Sec-Fetch-Site: same-origin": 200, "Sec-Fetch-Site: same-site": 200,
		"Origin: https://app.example": 403, "Origin: null": 403, "Sec-Fetch-Site: cross-site": 403,
	} {
		a := s.events("POST", "/-/watch", `{"q":["/depts/10"]}`, "Content-Type: application/json", header)
		if a.resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", header, a.resp.StatusCode, want)
		} else if want == 200 {
			a.of("", "/depts/10", "ACCOUNTING")
		}
		a.stop()
	}
}

// A client that comes back with the id of the last event that it has got is sent what is new
// alone, by any process: the id says what it has of each.
func TestWatchMany_ComesBack(t *testing.T) {
	s := newWatchSite(t)
	v := url.Values{"q": {"/depts/10", "/depts?loc=eq.DALLAS&select=dname", "/depts/99"}}
	w := s.watch("/-/watch?" + v.Encode())
	w.of("", "/depts/10", "ACCOUNTING")
	w.of("", v["q"][1], "RESEARCH")
	last := w.want("absent", "/depts/99")
	w.stop()
	eventually(t, "nobody follows", func() bool { return s.followers() == 0 })
	s.exec("UPDATE dept SET loc = 'ROME' WHERE deptno = 10")
	eventually(t, "the change", func() bool { return strings.Contains(s.do("GET", "/depts/10", "").body, "ROME") })
	other := newWatchSite(t) // another process, which has no change
	for of, want := range map[*site]string{s: "/depts/10", other: ""} {
		w := of.watch("/-/watch?"+v.Encode(), "Last-Event-ID: "+last.id)
		of.exec("INSERT INTO dept VALUES (99, 'NEW', 'ROME')")
		for _, q := range []string{want, "/depts/99"} {
			if q == "" {
				continue
			}
			if e, ok := w.next(); !ok || !strings.Contains(e.data, `"q":"`+q+`"`) || e.id == last.id {
				t.Errorf("%+v, want %s", e, q)
			}
		}
	}
	// Another set of questions, an id of a single stream, or none: all is sent.
	for _, id := range []string{"x", "hr1.main.7f3a.16b3748~k3f9a1c27e0v4-j", last.id} {
		w := s.watch("/-/watch?q=%2Fdepts%2F20&q=%2Fdepts%2F30&q=%2Fdepts%2F40", "Last-Event-ID: "+id)
		for _, name := range []string{"RESEARCH", "SALES"} {
			if e, _ := w.next(); !strings.Contains(e.data, name) {
				t.Errorf("%s: %+v", id, e)
			}
		}
	}
}

// An id tells of no event that may not have come: of a hundred things it has 1.6 KB at most.
func TestWatchMany_IDs(t *testing.T) {
	s := newWatchSite(t)
	v := url.Values{}
	for range 100 {
		v.Add("q", "/depts/10")
	}
	w := s.watch("/-/watch?" + v.Encode())
	for i := range 100 {
		e, ok := w.next()
		_, tags, _ := strings.Cut(strings.TrimRight(e.id, "."), "~")
		if !ok || len(e.id) > 1600 || strings.Count(tags, ".") != i+1 {
			t.Fatalf("event %d: %d bytes, %s", i, len(e.id), e.id)
		}
	}
}
