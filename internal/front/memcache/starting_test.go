package memcachefront

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/front/kv"
)

// TestSite_TablesBecomeKnownDuringALookup: what is not found while nobody knows the tables is
// an error, and no miss.
func TestSite_TablesBecomeKnownDuringALookup(t *testing.T) {
	var forget func()
	s := newSite(t, func(o *Options, _ *kv.Listen) {
		forget, o.Starting = fronttest.BecomeKnown(t, o.Resources, fronttest.Resources())
	})
	for _, text := range []string{"get depts:10", "gets depts:10 depts:20", "mg depts:10 v",
		"gat 60 depts:10", "touch depts:10 60", "delete depts:10", "md depts:10", "md depts:10 I",
		"set depts:10 0 0 2\r\n{}", "ms depts:10 2\r\n{}", "incr depts:10 1"} {
		forget()
		want := starting + "\r\n"
		if strings.HasPrefix(text, "g") {
			want = "" // the connection is closed
		}
		if got := s.dial().do(text); got != want && !strings.Contains(got, "ACCOUNTING") {
			t.Errorf("%q = %q, want %q or the row", text, got, want)
		}
	}
	s.dial().want("get nothing:10", "END\r\n")
}
