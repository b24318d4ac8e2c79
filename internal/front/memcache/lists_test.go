package memcachefront

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front/kv"
)

// Keys of a query are lists, by the text protocol and by meta commands.
func TestLists_ByName(t *testing.T) {
	s := newSite(t, func(o *Options, _ *kv.Listen) {
		o.Queries = map[string]*kv.Query{"by_name": {Resource: "depts", Before: "dname=eq."},
			"wrong": {Resource: "depts", Before: "nope=eq."}}
	})
	c := s.dial()
	list := "[" + dept20 + "]"
	for range 3 {
		c.want("get by_name:RESEARCH by_name:NOBODY depts:20", fmt.Sprintf(
			"VALUE by_name:RESEARCH 0 %d\r\n%s\r\nVALUE depts:20 0 %d\r\n%s\r\nEND\r\n",
			len(list), list, len(dept20), dept20))
		c.want("mg by_name:RESEARCH s v t", fmt.Sprintf("VA %d s%[1]d t0\r\n%s\r\n", len(list), list))
		c.want("mg by_name:NOBODY v", "EN\r\n")
		if got := c.do("get wrong:1"); !strings.HasPrefix(got, "CLIENT_ERROR invalid value: ") {
			t.Errorf("a column that is not there: %q", got)
		}
	}
	if st := s.f.Stats(); st.Hits < 4 {
		t.Errorf("%d hits", st.Hits)
	}
	c.want("delete by_name:RESEARCH", "NOT_FOUND\r\n")
	c.want("set by_name:RESEARCH 0 0 2\r\n{}", "CLIENT_ERROR the key names no resource\r\n")
}
