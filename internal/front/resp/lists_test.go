package respfront

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front/kv"
)

// lists are names of keys that ask for lists.
func lists(o *Options, _ *kv.Listen) {
	o.Queries = map[string]*kv.Query{
		"by_name": {Resource: "depts", Before: "dname=eq."},
		"from":    {Resource: "depts", Before: "deptNumber=gte.", After: "&order=deptNumber.desc&limit=2"},
		"pays":    {Resource: "pay", Before: "id=eq."},
		"nowhere": {Resource: "nothing", Before: "id=eq."},
		"wrong":   {Resource: "depts", Before: "nope=eq."},
	}
}

// Keys of a query are lists, read and then from memory, in both forms and versions.
func TestLists_ByName(t *testing.T) {
	one := func(docs ...string) string { return bulk("[" + strings.Join(docs, ",") + "]") }
	wrongType := "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form, lists)
		c := s.dial()
		for range 3 { // the second miss is kept, the third is from memory
			c.want("GET by_name:ACCOUNTING", one(dept10))
			c.want("GET by_name:NOBODY", "$-1\r\n")
			c.want("MGET by_name:RESEARCH depts:10 by_name:x from:20", "*4\r\n"+one(dept20)+bulk(dept10)+
				"$-1\r\n"+one(`{"deptNumber":40,"dname":"OPERATIONS","loc":null,"pic":""}`,
				`{"deptNumber":30,"dname":"SALES","loc":"CHICAGO","pic":null}`))
			c.want("EXISTS by_name:SALES by_name:x", ":1\r\n")
			c.want("TYPE by_name:SALES", "+string\r\n")
			c.want("HGET by_name:SALES loc", wrongType)
			c.want("HGETALL by_name:x", "*0\r\n")
			c.want("GET pays:1", "-NOPERM this user has no permissions to run the 'get' command\r\n")
			c.want("GET nowhere:1", "$-1\r\n")
			if got := c.do("GET wrong:1"); !strings.HasPrefix(got, "-ERR invalid value: ") ||
				!strings.Contains(got, "nope") {
				t.Errorf("a column that is not there: %q", got)
			}
			// What a value may not do: leave its place in the query.
			for _, value := range []string{"x&deptNumber=gt.0", "x%26deptNumber=gt.0", "*",
				`"ACCOUNTING"`, "a b", ""} {
				c.want("GET 'by_name:"+value+"'", "$-1\r\n")
			}
			if got := c.do("GET 'by_name:\xff'"); !strings.HasPrefix(got, "-ERR invalid value: ") {
				t.Errorf("a text that no column has: %q", got)
			}
		}
		if st := s.f.Stats(); st.Hits < 5 {
			t.Errorf("%d hits", st.Hits)
		}
		if got := c.do("SET by_name:ACCOUNTING '{}'"); !strings.HasPrefix(got, "-ERR") {
			t.Errorf("a write of a list: %q", got)
		}
		c.want("DEL by_name:ACCOUNTING", ":0\r\n")
		s.Exec("UPDATE dept SET dname = 'A&B', loc = 'X' WHERE deptno = 10")
		changed := strings.Replace(strings.Replace(dept10, "ACCOUNTING", "A&B", 1), `NEW \"Y\"`, "X", 1)
		eventually(t, "the new row", func() bool { return c.do("GET by_name:A&B") == one(changed) })
		eventually(t, "no row any more", func() bool { return c.do("GET by_name:ACCOUNTING") == "$-1\r\n" })
	})
}

// A list from memory allocates nothing, takes no query of the database, and a pipeline of
// misses is answered in order.
func TestLists_PipelinedAndFromMemory(t *testing.T) {
	s := newSite(t, lists)
	c := s.dial()
	for range 3 {
		var sent []string
		for range 50 {
			sent = append(sent, "GET by_name:SALES", "GET depts:20", "GET by_name:none")
		}
		c.send(sent...)
		for i := range 50 {
			if got := c.reply(); !strings.Contains(got, `"SALES"`) {
				t.Fatalf("reply %d: %q", 3*i, got)
			}
			if got := c.reply(); got != bulk(dept20) {
				t.Fatalf("reply %d: %q", 3*i+1, got)
			}
			if got := c.reply(); got != "$-1\r\n" {
				t.Fatalf("reply %d: %q", 3*i+2, got)
			}
		}
	}
	eventually(t, "it comes from memory", func() bool { // while the feed is late nothing does
		before := s.f.Stats()
		c.want("GET by_name:none", "$-1\r\n")
		after := s.f.Stats()
		return after.Misses == before.Misses && after.Hits == before.Hits+1
	})
}

// Who keeps copies is told at once that nobody may keep a list.
func TestLists_NobodyKeepsThem(t *testing.T) {
	s := newSite(t, lists)
	c := s.dial()
	c.do("HELLO 3")
	c.want("CLIENT TRACKING ON", "+OK\r\n")
	for range 3 {
		c.send("GET by_name:SALES")
		if got := c.reply() + c.reply(); !strings.Contains(got, `"SALES"`) ||
			!strings.Contains(got, "invalidate") || !strings.Contains(got, "by_name:SALES") {
			t.Errorf("%q", got)
		}
	}
	c.want("PTTL by_name:SALES", ":60000\r\n")
}
