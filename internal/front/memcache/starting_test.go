package memcachefront

import (
	"context"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
)

// TestSite_TablesBecomeKnownDuringALookup: what is not found while nobody knows the tables is
// an error, and no miss.
func TestSite_TablesBecomeKnownDuringALookup(t *testing.T) {
	var set *resource.Set
	known := func(specs []resource.Spec) {
		if err := set.Reload(context.Background(), specs); err != nil {
			t.Error(err)
		}
	}
	s := newSite(t, func(o *Options, _ *kv.Listen) {
		set = o.Resources
		o.Starting = func() bool { // the look-up has failed, and now they are known
			known(fronttest.Resources())
			return false
		}
	})
	c := s.dial()
	for _, text := range []string{"get depts:10", "gets depts:10 depts:20", "mg depts:10 v",
		"gat 60 depts:10", "touch depts:10 60", "delete depts:10", "md depts:10", "md depts:10 I",
		"set depts:10 0 0 2\r\n{}", "ms depts:10 2\r\n{}", "incr depts:10 1"} {
		known(nil)
		if got := c.do(text); got != starting+"\r\n" && !strings.Contains(got, "ACCOUNTING") {
			t.Errorf("%q = %q, want %q or the row", text, got, starting)
		}
	}
	c.want("get nothing:10", "END\r\n")
}
