package respfront

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/front/kv"
)

// TestSite_TablesBecomeKnownDuringALookup: what is not found while nobody knows the tables is
// an error, and not nil.
func TestSite_TablesBecomeKnownDuringALookup(t *testing.T) {
	var forget func()
	s := newSite(t, func(o *Options, _ *kv.Listen) {
		forget, o.Starting = fronttest.BecomeKnown(t, o.Resources, fronttest.Resources())
	})
	c := s.dial()
	for _, text := range []string{"GET depts:10", "MGET depts:10 depts:20", "EXISTS depts:10",
		"HGETALL depts:10", "HGET depts:10 loc", "DEL depts:10", "HSET depts:10 loc X", "HDEL depts:10 loc"} {
		forget()
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
