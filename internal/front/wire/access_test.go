package wirefront

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// These tests hold with the document in memory and on open connections: that is
// where a loop could answer what it must not.

// newProtectedSite is a site whose pay/1 is in memory, with tokens "r" of a
// reader and "e" of an editor.
func newProtectedSite(t *testing.T, change ...func(*Options, *Listen)) *site {
	t.Helper()
	s := newSite(t, change...)
	s.tokens.set(map[string]front.Principal{
		"r": {Name: "r", Roles: []string{"reader"}}, "e": {Name: "e", Roles: []string{"editor"}},
	})
	s.dial("r").hot("pay", "1")
	return s
}

// wantCode reads a document by GET and by GETM. Nobody who is refused may see
// anything of the row.
func (p *peer) wantCode(code gofast.Code, res, key string) {
	p.t.Helper()
	many := rows.GetMulti{Resource: res, Keys: []string{key}}
	for id, payload := range map[uint64][]byte{
		rows.IDGet:      (&rows.Get{Resource: res, Key: key}).Append(nil),
		rows.IDGetMulti: many.Append(nil),
		rows.IDQuery:    (&rows.Query{Resource: res}).Append(nil),
	} {
		data, fault := p.call(id, payload)
		got := gofast.OK
		if fault != nil {
			got = fault.Code
		}
		if got != code || code != gofast.OK && (len(data) != 0 && strings.Contains(string(data), "sal") ||
			strings.Contains(fault.Text, "sal")) {
			p.t.Errorf("message %d of %s/%s: %v %q, want %v", id, res, key, got, data, code)
		}
	}
}

func TestAccess_WhoMayNotReadGetsNothing(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newProtectedSite(t, form)
		for _, token := range []string{"", " ", "x", "rr", "R", "r ", " r", "Bearer r", "\x00", "r\x00",
			strings.Repeat("r", 300)} {
			s.dial(token).wantCode(gofast.Unauthenticated, "pay", "1")
		}
		s.dial("r").wantCode(gofast.OK, "pay", "1") // and it is still in memory
		s.dial("e").wantCode(gofast.PermissionDenied, "pay", "1")
		s.dial("r").wantCode(gofast.PermissionDenied, "closed", "10")
		old := s.dialAs(gofast.Config{Legacy: true, Token: []byte("r")})
		if st, _, _ := old.old(rows.IDGet, (&rows.Get{Resource: "pay", Key: "1"}).Append(nil)); st !=
			rows.Status(gofast.Unauthenticated) {
			t.Errorf("an old peer: %v", st)
		}
		// The tag of the document proves nothing.
		tag := s.dial("r").hot("pay", "1").ETag
		if _, code := s.dial("").get(rows.Get{Resource: "pay", Key: "1", IfNoneMatch: tag}); code !=
			gofast.Unauthenticated {
			t.Errorf("with the entity tag: %v", code)
		}
	})
}

// TestAccess_TakenAwayAtOnce: a token, its role, and all tokens.
func TestAccess_TakenAwayAtOnce(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newProtectedSite(t, form)
		p := s.dial("r")
		with := func(token, role string) {
			s.tokens.set(map[string]front.Principal{token: {Name: "x", Roles: []string{role}}})
		}
		for range 2 {
			p.wantCode(gofast.OK, "pay", "1")
			with("r", "editor") // another role
			p.wantCode(gofast.PermissionDenied, "pay", "1")
			with("e", "reader") // taken away
			p.wantCode(gofast.Unauthenticated, "pay", "1")
			with("r", "reader")
			p.wantCode(gofast.OK, "pay", "1")
			s.tokens.set(nil) // nobody is known
			p.wantCode(gofast.Unauthenticated, "pay", "1")
			with("r", "reader")
		}
		o := s.opts
		o.Auth = nil // a reload without tokens
		s.f.Configure(o)
		p.wantCode(gofast.Unauthenticated, "pay", "1")
		s.f.Configure(s.opts)
		p.wantCode(gofast.OK, "pay", "1")
	})
}

// TestAccess_RuleOfAReload: a resource that was public is protected for the first
// message after the reload, and the reverse.
func TestAccess_RuleOfAReload(t *testing.T) {
	s := newProtectedSite(t)
	nobody, reader := s.dial(""), s.dial("r")
	reload := func(read resource.Rule) {
		specs := siteResources()
		specs[0].Access.Read = read
		if err := s.set.Reload(t.Context(), specs); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		nobody.wantCode(gofast.OK, "depts", "10")
		reload("role:reader")
		nobody.wantCode(gofast.Unauthenticated, "depts", "10")
		reader.wantCode(gofast.OK, "depts", "10")
		reload("none")
		reader.wantCode(gofast.PermissionDenied, "depts", "10")
		reload("public")
	}
}

// TestAccess_Writes: who may read may not write for that, nor the reverse.
func TestAccess_Writes(t *testing.T) {
	s := newProtectedSite(t)
	write := func(token string) ([]byte, *gofast.Error) {
		w := rows.Write{Resource: "pay", Key: "1", Body: []byte(`{"sal":7}`)}
		return s.dial(token).call(rows.IDPatch, w.Append(nil))
	}
	p := s.dial("")
	_, fault := write("")
	p.want(fault, gofast.Unauthenticated, "unauthorized")
	_, fault = write("r")
	p.want(fault, gofast.PermissionDenied, "forbidden")
	data, fault := write("e") // may write, but not read
	var done rows.Written
	if fault != nil || done.Decode(data) != nil || len(done.Answer.Body) != 0 {
		t.Errorf("the editor: %+v %v", done, fault)
	}
}

// TestAccess_OpenIsForReading: a listener that other machines reach takes no
// anonymous write, whatever the rule, nor from this machine: a proxy may be here.
func TestAccess_OpenIsForReading(t *testing.T) {
	s := newProtectedSite(t, func(o *Options, _ *Listen) { o.Open = true })
	write := func(token string) *gofast.Error {
		w := rows.Write{Resource: "depts", Key: "10", Body: []byte(`{"loc":"X"}`)}
		_, fault := s.dial(token).call(rows.IDPatch, w.Append(nil))
		return fault
	}
	s.dial("").want(write(""), gofast.Unauthenticated, "unauthorized")
	if fault := write("r"); fault != nil {
		t.Errorf("with a token: %v", fault)
	}
}

// TestAccess_EndsWatches of those who may not read any more.
func TestAccess_EndsWatches(t *testing.T) {
	s := newProtectedSite(t)
	p := s.dial("r")
	w := p.watch(rows.Watch{Resource: "pay"})
	p.event(w, rows.Ready)
	s.tokens.set(nil)
	s.f.Configure(s.opts)
	h := p.next(w)
	if h.Type != gofast.EventFinish || h.Err == nil || h.Err.Code != gofast.Unauthenticated {
		t.Errorf("%v %v", h.Type, h.Err)
	}
	w = p.watch(rows.Watch{Resource: "pay"})
	if h = p.next(w); h.Err == nil || h.Err.Code != gofast.Unauthenticated {
		t.Errorf("a watch without a token: %v %v", h.Type, h.Err)
	}
}
