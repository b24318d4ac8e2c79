package httpfront

import (
	"context"
	"testing"

	"github.com/hotrow/hotrow/internal/resource"
)

// TestSite_TablesBecomeKnownDuringALookup: no request finds a resource neither among those
// that are known nor missing because they are not known yet.
func TestSite_TablesBecomeKnownDuringALookup(t *testing.T) {
	var set *resource.Set
	known := func(specs []resource.Spec) {
		if err := set.Reload(context.Background(), specs); err != nil {
			t.Error(err)
		}
	}
	s := newServer(t, func(o *Options) {
		set = o.Resources
		o.Starting = func() bool { // the look-up has failed, and now they are known
			known(siteResources())
			return false
		}
	})
	for _, ask := range []struct{ method, path, body string }{
		{"GET", "/depts/10", ""}, {"HEAD", "/depts/10", ""}, {"GET", "/depts?limit=1", ""},
		{"PATCH", "/depts/10", `{"loc":"X"}`}, {"DELETE", "/depts/40", ""},
		{"POST", "/depts", `{"deptNumber":50,"dname":"FIFTY"}`},
	} {
		known(nil)
		if a := s.do(ask.method, ask.path, ask.body, "Content-Type: application/json"); a.StatusCode == 404 {
			t.Errorf("%s %s: 404", ask.method, ask.path)
		}
	}
	if a := s.do("GET", "/nothing/10", ""); a.StatusCode != 404 {
		t.Errorf("what is not served: %d", a.StatusCode)
	}
}
