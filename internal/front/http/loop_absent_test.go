package httpfront

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
)

// TestAbsent_AnswersAsNetHTTPDoes: that there is no row is a hit, too.
func TestAbsent_AnswersAsNetHTTPDoes(t *testing.T) {
	s := newLoopSite(t)
	o := s.h.live.Load().Options
	for _, base := range []string{"", "/api/v1.0"} {
		o.BasePath = base
		s.h.Configure(o)
		for _, tt := range []struct {
			path  string
			known bool // memory knows it under this spelling
		}{
			{"/depts/99", true}, {"/depts/-5", true}, {"/cities/Nowhere,OK", true},
			{"/cities/a:b@c=d+$,x.y~z_w-v", true},
			{"/cities/O'Hare,IL", true}, {"/cities/a&b,IL", true}, {"/cities/(a),!*", true},
			{"/cities/%41,OK", true}, {"/depts/099", false}, {"/cities/a;b,IL", true},
			{"/cities/%3Cb%3E%22,%C3%A4", true}, {"/cities/a%2Cb,%25", true},
			{"/cities/" + strings.Repeat("x", 1900) + ",IL", true},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				raw := method + " " + base + tt.path + " HTTP/1.1\r\nHost: localhost\r\n"
				s.answers(raw+"\r\n", method)
				answered := func() bool {
					before := absences(s.h)
					s.answers(raw+"\r\n", method)
					return absences(s.h) > before
				}
				if tt.known {
					eventually(t, tt.path+" is answered by the loop", answered)
				} else if answered() {
					t.Errorf("%s %s: answered by the loop", method, tt.path)
				}
				fast, full, _ := s.both(raw, method)
				for _, a := range []reply{fast, full} {
					a.Header.Del("Date")
					a.Header.Del("Hotrow-Position")
					a.Header.Del("Server-Timing")
				}
				if f, w := fmt.Sprint(fast.Status, fast.Header, fast.body),
					fmt.Sprint(full.Status, full.Header, full.body); f != w || fast.StatusCode != 404 {
					t.Errorf("%s %s:\nloop %s\nfull %s", method, tt.path, f, w)
				}
			}
		}
	}
}

// absences returns how many the loops have answered.
func absences(h *Handler) (n uint64) {
	l := h.loops.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.counted {
		n += r.tally.Absent()
	}
	return n
}

// TestAbsent_EndsWithARow: an absence is dropped as a document is.
func TestAbsent_EndsWithARow(t *testing.T) {
	s := newLoopSite(t)
	const get = "GET /depts/77 HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for range 3 {
		if a := s.answers(get, "GET")[0]; a.StatusCode != 404 {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
	}
	const body = `{"dname":"LATE"}`
	s.answers("PUT /depts/77 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body), "PUT")
	if a := s.answers(get, "GET")[0]; a.StatusCode != 200 || !strings.Contains(a.body, "LATE") {
		t.Errorf("after the row was made: %d %s", a.StatusCode, a.body)
	}
	s.answers("DELETE /depts/77 HTTP/1.1\r\nHost: localhost\r\n\r\n", "DELETE")
	if a := s.answers(get, "GET")[0]; a.StatusCode != 404 {
		t.Errorf("after it was deleted: %d %s", a.StatusCode, a.body)
	}
}

// TestAbsent_IsNotForEverybody: whether there is a row is told to those only
// who may read it.
func TestAbsent_IsNotForEverybody(t *testing.T) {
	s := newLoopSite(t)
	secret, token := newToken(t, "r", "reader")
	s.tokens.Set([]front.Token{token})
	get := func(auth string) reply {
		return s.answers("GET /pay/99 HTTP/1.1\r\nHost: localhost\r\n"+auth+"\r\n", "GET")[0]
	}
	good := "Authorization: Bearer " + secret + "\r\n"
	for range 3 {
		if a := get(good); a.StatusCode != 404 || a.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("with the token: %d %v", a.StatusCode, a.Header)
		}
		if a := get(""); a.StatusCode != 401 || strings.Contains(a.body, "not there") {
			t.Errorf("without: %d %s", a.StatusCode, a.body)
		}
	}
	if absences(s.h) == 0 {
		t.Error("the loop has answered none")
	}
	s.tokens.Set(nil)
	if a := get(good); a.StatusCode != 401 {
		t.Errorf("with a token that was taken away: %d", a.StatusCode)
	}
}

func TestAbsent_Counts(t *testing.T) {
	s := newLoopSite(t)
	const n = 20
	for range n {
		s.answers("GET /depts/99 HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET")
	}
	eventually(t, "all answers are counted", func() bool {
		_, st := durations(s.h)
		return st.Codes[404] == n
	})
	if r, _ := s.h.live.Load().Resources.Lookup("depts"); r.Stats().Negative < n-2 {
		t.Errorf("%+v", r.Stats())
	}
}

func TestAbsent_AllocatesNothing(t *testing.T) {
	site := newServer(t)
	for _, path := range []string{"/depts/99", "/cities/Nowhere,OK"} {
		for range 3 {
			site.do("GET", path, "")
		}
		s := newStepper(t, site.h)
		in := []byte("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
		n := s.allocs(t, in, func(got []byte) bool { return len(got) >= 100 })
		if n != 0 {
			t.Errorf("a 404 of %s allocates %v times", path, n)
		}
	}
}
