package httpfront

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
)

func TestAccess_RolesAreNeeded(t *testing.T) {
	s := newServer(t)
	reader, rt := newToken(t, "r", "reader")
	editor, et := newToken(t, "e", "editor")
	s.tokens.Set([]front.Token{rt, et})
	as := func(token string) string { return "Authorization: Bearer " + token }

	a := s.do("GET", "/pay/1", "")
	s.want(a, 401, "unauthorized")
	if got := a.Header.Get("WWW-Authenticate"); got != `Bearer realm="hotrow"` {
		t.Errorf("WWW-Authenticate %q", got)
	}
	a = s.do("GET", "/pay/1", "", as("wrong-secret"))
	s.want(a, 401, "unauthorized")
	if got := a.Header.Get("WWW-Authenticate"); !strings.Contains(got, "invalid_token") {
		t.Errorf("WWW-Authenticate %q", got)
	}
	s.want(s.do("GET", "/pay", "", as(editor)), 403, "forbidden")
	a = s.do("GET", "/pay/1", "", as(reader))
	s.want(a, 200, "")
	if got := a.Header.Get("Cache-Control"); got != "private, no-cache" {
		t.Errorf("a protected answer has Cache-Control %q", got)
	}
	if got := s.do("GET", "/pay/99", "", as(reader)).Header.Get("Cache-Control"); got !=
		"private, no-cache" {
		t.Errorf("a protected absence has Cache-Control %q", got)
	}
	s.want(s.do("PATCH", "/pay/1", `{"sal":1}`), 401, "unauthorized")
	s.want(s.do("PATCH", "/pay/1", `{"sal":1}`, as(reader)), 403, "forbidden")
	a = s.do("PATCH", "/pay/1", `{"sal":1}`, as(editor))
	s.want(a, 204, "") // who may not read gets no document
	s.want(s.do("GET", "/closed/10", "", as(reader)), 403, "forbidden")
	s.want(s.do("GET", "/depts/10", "", as("wrong-secret")), 200, "")

	if body := s.do("GET", "/", "", as(reader)).body; !strings.Contains(body, `"pay"`) {
		t.Errorf("the index leaves out what the token may read: %s", body)
	}
	for _, secret := range []string{"wrong-secret", reader, editor} {
		if strings.Contains(s.log.String(), secret) {
			t.Error("a token is in the log")
		}
	}
}

func TestAccess_TokenTakenAwayEndsOnOpenConnections(t *testing.T) {
	s := newServer(t)
	secret, token := newToken(t, "r", "reader")
	s.tokens.Set([]front.Token{token})
	conn := s.dial()
	r := bufio.NewReader(conn)
	get := func() int {
		t.Helper()
		_, err := io.WriteString(conn, "GET /pay/1 HTTP/1.1\r\nHost: localhost\r\n"+
			"Authorization: Bearer "+secret+"\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode
	}
	if got := get(); got != 200 {
		t.Fatalf("with a good token: %d", got)
	}
	s.tokens.Set(nil)
	if got := get(); got != 401 {
		t.Errorf("after it was taken away: %d, want 401", got)
	}
}

func TestAccess_ForeignPagesCannotWrite(t *testing.T) {
	s := newServer(t)
	for _, headers := range [][]string{
		{"Origin: http://evil.example"},
		{"Sec-Fetch-Site: cross-site"},
		{"Sec-Fetch-Site: same-site", "Origin: http://localhost:1"},
		{"Origin: null"},
	} {
		for _, m := range []struct{ method, path string }{{"POST", "/depts"}, {"PUT", "/depts/10"},
			{"PATCH", "/depts/10"}, {"DELETE", "/depts/10"}} {
			s.want(s.do(m.method, m.path, `{"dname":"X"}`, headers...), 403, "cross-origin")
		}
	}
	s.want(s.do("GET", "/depts/10", "", "Origin: http://evil.example"), 200, "")
	s.want(s.do("PUT", "/depts/10", `{"dname":"X"}`, "Sec-Fetch-Site: same-origin"), 200, "")
}

func TestAccess_UnknownHostIsMisdirected(t *testing.T) {
	s := newServer(t, func(o *Options) { o.Hosts = []string{"api.example"} })
	s.want(s.do("GET", "/depts/10", "", "Host: evil.example"), 421, "misdirected")
	s.want(s.do("GET", "/", "", "Host: evil.example:8080"), 421, "misdirected")
	s.want(s.do("GET", "/depts/10", "", "Host: API.example:1"), 200, "")
	s.want(s.do("GET", "/depts/10", "", "Host: localhost"), 200, "")
}

// TestAccess_OpenIsForReading sends requests as they arrive on a listener that
// other machines reach: the test itself must listen on loopback.
func TestAccess_OpenIsForReading(t *testing.T) {
	s := newServer(t, func(o *Options) { o.Open = true })
	secret, token := newToken(t, "x")
	s.tokens.Set([]front.Token{token})
	send := func(method, body, token string, own net.Addr) int {
		r := httptest.NewRequest(method, "http://192.0.2.7/depts/10", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		ctx := context.WithValue(r.Context(), http.LocalAddrContextKey, own)
		s.h.ServeHTTP(w, r.WithContext(ctx))
		return w.Code
	}
	lan := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)}
	if got := send("GET", "", "", lan); got != 200 {
		t.Errorf("GET: %d, want 200", got)
	}
	if got := send("PATCH", `{"loc":"X"}`, "", lan); got != 401 {
		t.Errorf("PATCH by anybody: %d, want 401", got)
	}
	if got := send("PATCH", `{"loc":"X"}`, secret, lan); got != 200 {
		t.Errorf("PATCH with a token: %d, want 200", got)
	}
	s.want(s.do("PATCH", "/depts/10", `{"loc":"Y"}`), 401, "unauthorized") // or a proxy on it
}

func TestServeHTTP_SurvivesAPanic(t *testing.T) {
	log := new(syncBuffer)
	h := New(Options{Log: slog.New(slog.NewTextHandler(log, nil))}) // no Resources: Lookup panics
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://localhost/depts/10", nil)
	h.ServeHTTP(w, r)
	if w.Code != 500 || strings.Contains(w.Body.String(), "goroutine") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "a defect of hotrow") {
		t.Error("the panic is not in the log")
	}
}

func TestOutage_IsAProblemWithRetryAfter(t *testing.T) {
	s := newServer(t)
	s.want(s.do("GET", "/depts/10", ""), 200, "")
	if err := s.src.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ method, path, body, header string }{
		{"GET", "/depts/20", "", "X: y"},
		{"GET", "/depts/10", "", "Cache-Control: no-cache"},
		{"GET", "/depts", "", "X: y"},
		{"PUT", "/depts/10", `{"dname":"X"}`, "X: y"},
	} {
		a := s.do(r.method, r.path, r.body, r.header)
		s.want(a, 503, "database-unavailable")
		if a.Header.Get("Retry-After") == "" || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %v", r.method, r.path, a.Header)
		}
	}
	eventually(t, "the cause is in the log", func() bool {
		return strings.Contains(s.log.String(), `"request failed" method=GET`)
	})
}
