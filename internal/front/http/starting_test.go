package httpfront

import (
	"testing"

	"github.com/hotrow/hotrow/internal/front/fronttest"
)

// TestSite_TablesBecomeKnownDuringALookup: no request finds a resource neither among those
// that are known nor missing because they are not known yet.
func TestSite_TablesBecomeKnownDuringALookup(t *testing.T) {
	var forget func()
	s := newServer(t, func(o *Options) {
		forget, o.Starting = fronttest.BecomeKnown(t, o.Resources, siteResources())
	})
	for _, ask := range []struct{ method, path, body string }{
		{"GET", "/depts/10", ""}, {"HEAD", "/depts/10", ""}, {"GET", "/depts?limit=1", ""},
		{"PATCH", "/depts/10", `{"loc":"X"}`}, {"DELETE", "/depts/40", ""},
		{"POST", "/depts", `{"deptNumber":50,"dname":"FIFTY"}`},
	} {
		forget()
		if a := s.do(ask.method, ask.path, ask.body, "Content-Type: application/json"); a.StatusCode == 404 {
			t.Errorf("%s %s: 404", ask.method, ask.path)
		}
	}
	if a := s.do("GET", "/nothing/10", ""); a.StatusCode != 404 {
		t.Errorf("what is not served: %d", a.StatusCode)
	}
}
