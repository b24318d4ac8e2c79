package httpfront

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// These tests hold with the document in memory and on one open connection:
// that is where a loop could answer what it must not.

// A protectedSite is a site whose /pay/1 is in memory.
type protectedSite struct {
	*loopSite
	reader, editor string // tokens of that role
}

func newProtectedSite(t *testing.T) *protectedSite {
	t.Helper()
	s := &protectedSite{loopSite: newLoopSite(t)}
	var rt, et front.Token
	s.reader, rt = newToken(t, "r", "reader")
	s.editor, et = newToken(t, "e", "editor")
	s.tokens.Set([]front.Token{rt, et})
	eventually(t, "/pay/1 is in memory", func() bool {
		a := s.ask("/pay/1", bearerLine(s.reader))
		return a.Header.Get("Cache-Status") == "hotrow; hit; detail=mem"
	})
	return s
}

func bearerLine(token string) string { return "Authorization: Bearer " + token + "\r\n" }

// ask sends a GET over the one connection. lines are header lines.
func (s *loopSite) ask(path, lines string) reply {
	s.t.Helper()
	return s.answers("GET "+path+" HTTP/1.1\r\nHost: localhost\r\n"+lines+"\r\n", "GET")[0]
}

// wantCode asks for path and compares the status. Nobody who is refused may see
// anything of the row.
func (s *loopSite) wantCode(code int, path, lines string) {
	s.t.Helper()
	a := s.ask(path, lines)
	if a.StatusCode != code {
		s.t.Errorf("%s with %q: %d, want %d", path, lines, a.StatusCode, code)
	}
	if code != 200 && (strings.Contains(a.body, `"sal"`) || a.Header.Get("Etag") != "" ||
		!strings.Contains(a.Header.Get("Cache-Control"), "no-store")) {
		s.t.Errorf("%s with %q: %v %s", path, lines, a.Header, a.body)
	}
}

func TestLoopAccess_WhoMayNotReadGetsNothing(t *testing.T) {
	s := newProtectedSite(t)
	tag := s.ask("/pay/1", bearerLine(s.reader)).Header.Get("Etag")
	for _, lines := range []string{
		"", "Authorization: \r\n", "Authorization: Bearer\r\n", "Authorization: Bearer \r\n",
		bearerLine("wrong"), bearerLine(s.reader + "x"), bearerLine(s.reader[:len(s.reader)-1]),
		bearerLine(strings.ToLower(s.reader)), "Authorization: Basic " + s.reader + "\r\n",
		"Authorization: " + s.reader + "\r\n", bearerLine(s.reader) + bearerLine(s.reader),
		bearerLine(s.reader) + bearerLine("wrong"), bearerLine("wrong") + bearerLine(s.reader),
		"If-None-Match: " + tag + "\r\n", "If-None-Match: *\r\n", "Cookie: token=" + s.reader + "\r\n",
		"X-Forwarded-For: 127.0.0.1\r\n",
	} {
		s.wantCode(401, "/pay/1", lines)
		s.wantCode(200, "/pay/1", bearerLine(s.reader)) // and it is still in memory
	}
	s.wantCode(403, "/pay/1", bearerLine(s.editor)) // known, but not for this
	s.wantCode(200, "/pay/1", "authorization: bearer "+s.reader+"\r\n")
	s.wantCode(200, "/pay/1", "Authorization:   Bearer   "+s.reader+"  \r\n")
	a := s.ask("/pay/1", bearerLine(s.reader)+"If-None-Match: "+tag+"\r\n")
	if a.StatusCode != 304 || a.Header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("a 304: %d %v", a.StatusCode, a.Header)
	}
}

// sumOf returns the SHA-256 of a token as the configuration has it.
func sumOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// TestLoopAccess_TakenAwayAtOnce: a token, its role, and a public rule.
func TestLoopAccess_TakenAwayAtOnce(t *testing.T) {
	s := newProtectedSite(t)
	with := func(token string, roles ...string) front.Token {
		made, err := front.NewToken("x", sumOf(token), roles...)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	reader := bearerLine(s.reader)
	s.tokens.Set([]front.Token{with(s.reader, "editor")}) // another role
	s.wantCode(403, "/pay/1", reader)
	s.tokens.Set([]front.Token{with(s.reader, "reader")})
	s.wantCode(200, "/pay/1", reader)
	s.tokens.Set([]front.Token{with(s.editor, "editor")}) // taken away
	s.wantCode(401, "/pay/1", reader)
	s.tokens.Set([]front.Token{with(s.reader, "reader")})
	s.wantCode(200, "/pay/1", reader)
	s.tokens.Set(nil) // nobody is known
	s.wantCode(401, "/pay/1", reader)
	s.tokens.Set([]front.Token{with(s.reader, "reader")})
	s.wantCode(200, "/pay/1", reader)

	o := s.h.live.Load().Options
	known := o.Auth
	o.Auth = nil // a reload without tokens
	s.h.Configure(o)
	s.wantCode(401, "/pay/1", reader)
	o.Auth = known
	s.h.Configure(o)
	s.wantCode(200, "/pay/1", reader)
}

// TestLoopAccess_RuleOfAReload: a resource that was public is protected by the
// first request after the reload, and the reverse.
func TestLoopAccess_RuleOfAReload(t *testing.T) {
	s := newProtectedSite(t)
	reload := func(read resource.Rule) {
		specs := siteResources()
		specs[0].Access.Read = read
		if err := s.h.live.Load().Resources.Reload(t.Context(), specs); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		for range 3 {
			s.wantCode(200, "/depts/10", "")
		}
		reload("role:reader")
		s.wantCode(401, "/depts/10", "")
		for range 3 {
			s.wantCode(200, "/depts/10", bearerLine(s.reader))
		}
		s.wantCode(401, "/depts/10", "")
		reload("none")
		s.wantCode(403, "/depts/10", bearerLine(s.reader))
		reload("public")
	}
}

// TestLoop_OneWriteGoesBackToTheLoop: a page in a browser that writes once and reads a
// hundred times is handed over once.
func TestLoop_OneWriteGoesBackToTheLoop(t *testing.T) {
	s := newLoopSite(t)
	s.ask("/depts/10", "")
	const body = `{"loc":"OSLO"}`
	s.answers("PATCH /depts/10 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Sec-Fetch-Site: same-origin\r\n"+
		"Content-Length: 14\r\n\r\n"+body+"\r\n", "PATCH") // and an old client's empty line
	for range 100 {
		if a := s.ask("/depts/10", ""); !strings.Contains(a.body, "OSLO") {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
	}
	eventually(t, "one PATCH among 101 reads is counted", func() bool {
		st := s.over.Stats()
		return st.HandedOver == 1 && st.Returned == 1 && st.Accepted == 1
	})
}
