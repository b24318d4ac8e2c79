package httpfront

import (
	"strings"
	"testing"
	"time"
)

// A request that waits is answered when what it asks for is another, whatever it is, in
// whatever format.
func TestPoll_WaitsForAChange(t *testing.T) {
	s := newWatchSite(t)
	for _, c := range []struct{ path, accept string }{
		{"/depts/10", "application/json"}, {"/depts/10", "application/cbor"}, {"/depts", "application/json"},
		{"/depts?deptNumber=in.(10,30)&select=loc", "application/json"},
		{"/depts?deptNumber=in.(10,30)&select=loc", "application/msgpack"},
	} {
		s.exec("UPDATE dept SET loc = 'NEW YORK' WHERE deptno = 10")
		var tag string
		eventually(t, "the state", func() bool {
			a := s.do("GET", c.path, "", "Accept: "+c.accept)
			tag = a.Header.Get("Etag")
			return strings.Contains(a.body, "NEW YORK")
		})
		answered := make(chan reply, 1)
		go func() {
			answered <- s.do("GET", c.path, "", "Accept: "+c.accept, "If-None-Match: "+tag, "Prefer: wait=30")
		}()
		eventually(t, "it waits", func() bool { return s.followers() == 1 })
		select {
		case a := <-answered:
			t.Errorf("%v: %d before a change", c, a.StatusCode)
		default:
		}
		s.exec("UPDATE dept SET loc = 'ROME' WHERE deptno = 10")
		if a := <-answered; a.StatusCode != 200 || !strings.Contains(a.body, "ROME") || a.Header.Get("Etag") == tag {
			t.Errorf("%v: %d %s", c, a.StatusCode, a.body)
		}
		eventually(t, "nobody waits", func() bool { return s.followers() == 0 })
	}
}

// Whoever need not wait, or has waited, is answered as without it.
func TestPoll_DoesNotWait(t *testing.T) {
	s := newWatchSite(t)
	tag := s.do("GET", "/depts/10", "").Header.Get("Etag")
	began := time.Now()
	if a := s.do("GET", "/depts/10", "", "If-None-Match: "+tag, "Prefer: wait=1"); a.StatusCode != 304 ||
		a.Header.Get("Etag") != tag || time.Since(began) < time.Second {
		t.Errorf("%d after %v", a.StatusCode, time.Since(began))
	}
	for path, want := range map[string]int{"/depts/10": 200, "/depts/99": 404, "/pay/1": 401, "/depts?x=eq.1": 400} {
		if a := s.do("GET", path, "", `If-None-Match: "x"`, "Prefer: wait=30"); a.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, a.StatusCode, want)
		}
	}
	if a := s.do("GET", "/depts/10", "", "If-None-Match: "+tag, "Prefer: wait=30",
		"Sec-Fetch-Site: cross-site"); a.StatusCode != 403 {
		t.Errorf("a page of another origin: %d", a.StatusCode)
	}
	if n := s.followers(); n != 0 {
		t.Errorf("%d wait", n)
	}
}

// A client that leaves waits no more, and neither does one whose settings have changed, or whose
// server shuts down.
func TestPoll_Ends(t *testing.T) {
	s := newWatchSite(t)
	tag := s.do("GET", "/depts/10", "").Header.Get("Etag")
	answered := make(chan reply, 1)
	wait := func() {
		t.Helper()
		go func() { answered <- s.do("GET", "/depts/10", "", "If-None-Match: "+tag, "Prefer: wait=30") }()
		eventually(t, "it waits", func() bool { return s.followers() == 1 })
	}
	wait()
	s.h.Configure(s.h.live.Load().Options)
	if a := <-answered; a.StatusCode != 304 {
		t.Errorf("with other settings: %d", a.StatusCode)
	}
	eventually(t, "nobody waits", func() bool { return s.followers() == 0 })
	wait()
	done := make(chan error, 1)
	go func() { done <- s.over.Shutdown(t.Context()) }()
	if a := <-answered; a.StatusCode != 304 {
		t.Errorf("a server that shuts down: %d", a.StatusCode)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
