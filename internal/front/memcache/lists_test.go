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

// A key with the name of a query, and no value behind it, is one of the default as every
// other: what is written by it is read by it.
func TestDefault_OfTheNameOfAQuery(t *testing.T) {
	for _, prefix := range []string{"", "my:", "my-"} {
		s := newSite(t, func(o *Options, _ *kv.Listen) {
			o.Default, o.Prefix = "kv", prefix
			o.Queries = map[string]*kv.Query{"by_name": {Resource: "depts", Before: "dname=eq."}}
		})
		c := s.dial()
		for _, key := range []string{"by_name", "by_nam", "by_names:1", "x", "a:b", "my", "kv:a"} {
			key = prefix + key
			c.want("set "+key+" 0 0 1\r\n1", "STORED\r\n")
			for range 2 {
				c.want("get "+key, value(key, "1")+"END\r\n")
				c.want("gat 0 "+key, value(key, "1")+"END\r\n")
				c.want("mg "+key+" v", "VA 1\r\n1\r\n")
			}
			c.want("delete "+key, "DELETED\r\n")
			c.want("get "+key, "END\r\n")
		}
		list := "[" + dept20 + "]"
		key := prefix + "by_name:RESEARCH"
		c.want("set "+key+" 0 0 1\r\n1", "CLIENT_ERROR the key names no resource\r\n")
		c.want("get "+key, value(key, list)+"END\r\n")
		if prefix != "" { // every key has it
			c.want("set x 0 0 1\r\n1", "CLIENT_ERROR the key names no resource\r\n")
			c.want("get x by_name:RESEARCH", "END\r\n")
		}
	}
}

// gat of items and of what does not expire, in one command: each is read as get reads it.
func TestGat_OfItemsListsAndRows(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form, func(o *Options, _ *kv.Listen) {
			o.Default = "kv"
			o.Queries = map[string]*kv.Query{"by_name": {Resource: "depts", Before: "dname=eq."},
				"pays": {Resource: "pay", Before: "id=eq."}}
		})
		s.Exec("INSERT INTO note (id, body, flags, version) VALUES (1, 'one', 7, 5), (2, NULL, 1, 1)")
		c := s.dial()
		c.want("set a 3 0 1\r\n1", "STORED\r\n")
		list := value("by_name:RESEARCH", "["+dept20+"]")
		for range 3 { // read, and then from memory
			c.want("gat 100 a by_name:RESEARCH depts:20 b by_name:NOBODY depts:99 depts:x notes:1 notes:2 depts:10",
				"VALUE a 3 1\r\n1\r\n"+list+value("depts:20", dept20)+"VALUE notes:1 7 3\r\none\r\n"+
					value("depts:10", dept10)+"END\r\n")
			got := c.do("gats 100 by_name:RESEARCH a depts:20")
			c.want("gets by_name:RESEARCH a depts:20", got)
			c.want("gat 0 a pay:1", "CLIENT_ERROR forbidden\r\n")
			c.want("gat 0 pays:1 a", "CLIENT_ERROR forbidden\r\n")
		}
		if got := c.do("mg a t"); got == "HD t-1\r\n" {
			t.Error("what was refused has touched the item")
		}
		if st := s.f.Stats(); st.Hits < 10 {
			t.Errorf("%d hits", st.Hits)
		}
		_ = s.Src.Close()
		if got := c.do("gat 0 depts:98 a"); got != "" {
			t.Errorf("without the database: %q, and not closed", got)
		}
	})
}
