package respfront

import (
	"context"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
)

// TestSite_TablesBecomeKnownDuringALookup: what is not found while nobody knows the tables is
// an error, and not nil.
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
	for _, text := range []string{"GET depts:10", "MGET depts:10 depts:20", "EXISTS depts:10",
		"HGETALL depts:10", "HGET depts:10 loc", "DEL depts:10", "HSET depts:10 loc X", "HDEL depts:10 loc"} {
		known(nil)
		got := c.do(text)
		if !strings.HasPrefix(got, "-LOADING") && !strings.Contains(got, "ACCOUNTING") {
			t.Errorf("%s = %q, want LOADING or the row", text, got)
		}
		if got := c.do(strings.Replace(text, "depts:10", "depts:20", 1)); strings.HasPrefix(got, "-LOADING") {
			t.Errorf("%s of what is known: %q", text, got)
		}
	}
	c.want("GET nothing:10", "$-1\r\n")
}
