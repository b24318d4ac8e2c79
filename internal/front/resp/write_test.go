package respfront

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/front/kv"
)

// writes are conversations that have to be equal to those with redis-server, byte by byte,
// as far as rows are values: the documents are in the form in which hotrow returns them.
var writes = [][]string{
	{"SET depts:50 '" + dept50 + "'", "GET depts:50", "SET depts:50 '" + dept50 + "' NX",
		"SET depts:51 {} XX", "SET depts:50 '" + dept50b + "' GET", "SET depts:50 '" + dept50 + "' XX GET",
		"SET depts:50 '" + dept50b + "' NX GET",
		"GET depts:50", "SET depts:50 '" + dept50 + "' KEEPTTL", "EXISTS depts:50", "DEL depts:50 depts:51 depts:50",
		"GET depts:50", "DEL depts:50", "UNLINK depts:50", "DEL", "SET depts:50", "SET depts:50 x NX XX",
		"SET depts:50 x nope", "SET depts:50 x EX", "SET depts:50 x EX a", "SET depts:50 x EX 0",
		"SET depts:50 x EX 1 PX 1",
		"SET depts:50 x KEEPTTL EX 1", "SET depts:50 '" + dept50 + "' NX", "GET depts:50", "UNLINK depts:50 depts:51"},
	{"HSET depts:60 deptNumber 60 dname X", "HSET depts:60 dname Y", "HSET depts:60 loc A dname Z loc B",
		"HGETALL depts:60", "HDEL depts:60 loc nope", "HDEL depts:60 loc", "HGET depts:60 loc", "HLEN depts:60",
		"HDEL depts:61 loc", "HSET depts:60 a", "HSET depts:60 loc A dname", "HDEL depts:60", "DEL depts:60",
		"HGETALL depts:60"},
}

const (
	dept50  = `{"deptNumber":50,"dname":"FIFTY","loc":"X","pic":null}`
	dept50b = `{"deptNumber":50,"dname":"FIFTY","loc":"Y","pic":"AP8="}`
)

func TestGolden_WritesAreThoseOfRedis(t *testing.T) {
	redis := dbtest.NewRedis(t)
	s := newSite(t)
	for _, v := range []string{"2", "3"} {
		for _, talk := range writes {
			a, b := dialAt(t, "tcp", redis.Addr(), nil), s.dial()
			for _, c := range []*client{a, b} {
				c.do("HELLO " + v)
			}
			for _, text := range talk {
				if want, got := a.do(text), b.do(text); got != want {
					t.Errorf("version %s: %s = %q, Redis %q", v, text, got, want)
				}
			}
		}
	}
}

// refused are writes that are not done, with the reasons.
var refused = []talk{
	{"SET depts:70 nope", "-ERR invalid value: ", ""},
	{"SET depts:70 '{\"nope\":1}'", "-ERR invalid value: ", ""},
	{"SET depts:70 '{\"deptNumber\":71,\"dname\":\"X\"}'", "-ERR invalid value: deptNumber", ""},
	{"SET depts:x '{\"dname\":\"X\"}'", "-ERR invalid value: ", ""},
	{"SET depts:70 '{}'", "-", ""}, // dname is NOT NULL
	{"SET depts:70 '{\"dname\":\"SALES\"}'", "-CONFLICT ", ""},
	{"SET nothing:1 '{}'", "-ERR no resource for the key 'nothing:1'\r\n", ""},
	{"SET depts:10 '{}' EX 5", "-ERR rows do not expire\r\n", ""},
	{"HSET nothing:1 a b", "-ERR no resource for the key 'nothing:1'\r\n", ""},
	{"HSET codes:1 n NaN", "-ERR invalid value: n", ""},
	{"HSET codes:1 n 1.5", "-ERR invalid value: n", ""},
	{"HSET codes:1 n 1,\"id\":2", "-ERR invalid value: n", ""},
	{"HSET codes:1 nope 1", "-ERR invalid value: there is no member", ""},
	{"HSET depts:10 deptNumber 11", "-ERR invalid value: deptNumber", ""},
	{"HDEL depts:10 dname", "-", ""},
	{"SET log:10 '{}'", "-NOPERM this user has no permissions to run the 'set' command\r\n", ""},
	{"HSET closed:10 loc X", "-NOPERM this user has no permissions to run the 'hset' command\r\n", ""},
	// Who may not write does not hear which columns there are.
	{"HDEL pay:1 nope", "-NOPERM this user has no permissions to run the 'hdel' command\r\n", ""},
	{"HDEL closed:10 nope", "-NOPERM this user has no permissions to run the 'hdel' command\r\n", ""},
	{"HDEL log:10 nope", "-NOPERM this user has no permissions to run the 'hdel' command\r\n", ""},
	{"HSET pay:1 nope x", "-NOPERM this user has no permissions to run the 'hset' command\r\n", ""},
	{"HSET pay:1 sal x", "-NOPERM this user has no permissions to run the 'hset' command\r\n", ""},
	{"HDEL pay:1 sal", "-NOPERM this user has no permissions to run the 'hdel' command\r\n", ""},
	{"DEL pay:1", "-NOPERM this user has no permissions to run the 'del' command\r\n", ""},
	{"UNLINK log:10", "-NOPERM this user has no permissions to run the 'unlink' command\r\n", ""},
}

func TestWrites_AreRefusedWithTheReason(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		c := s.dial()
		c.do("HSET codes:1 n 7")
		before := c.do("GET depts:10") + c.do("GET codes:1")
		for _, k := range refused {
			if got := c.do(k.command); !strings.HasPrefix(got, k.v2) {
				t.Errorf("%s = %q, want %q", k.command, got, k.v2)
			}
		}
		c.want("DEL nothing:1 depts:x", ":0\r\n")
		c.want("GET depts:70", "$-1\r\n")
		if after := c.do("GET depts:10") + c.do("GET codes:1"); after != before {
			t.Errorf("a refused write has changed a row: %q, before %q", after, before)
		}
		// Within MULTI a write is refused when it is queued.
		c.want("MULTI", "+OK\r\n")
		c.want("DEL depts:10", "-ERR 'del' is not served inside MULTI: only reads are\r\n")
		c.want("EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n")
		c.want("EXISTS depts:10", ":1\r\n")
	})
}

func TestWrites_GoByRoles(t *testing.T) {
	s := newSite(t)
	s.Allow(map[string]string{"ann": "reader", "eve": "editor"})
	c := s.dial()
	c.want("AUTH secret-ann", "+OK\r\n")
	c.want("HSET pay:1 sal 5", "-NOPERM this user has no permissions to run the 'hset' command\r\n")
	c.want("AUTH secret-eve", "+OK\r\n")
	c.want("HSET pay:1 sal 5", ":0\r\n")
	c.want("SET pay:2 '{\"sal\":6}'", "+OK\r\n")
	c.want("SET pay:2 '{\"sal\":6}' GET", "-NOPERM this user has no permissions to run the 'set' command\r\n")
	c.want("AUTH secret-ann", "+OK\r\n")
	c.want("GET pay:1", bulk(`{"id":1,"sal":5}`))
	c.want("GET pay:2", bulk(`{"id":2,"sal":6}`))
	// A listener that is open takes no anonymous writes.
	o := s.opts
	o.Open = true
	s.f.Configure(o)
	c = s.dial()
	c.want("DEL depts:40", "-NOPERM this user has no permissions to run the 'del' command\r\n")
}

// TestWrites_WhatWasReadIsWrittenBack: a row whose fields are written as they were read is
// the same row, of every type.
func TestWrites_WhatWasReadIsWrittenBack(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	pic := "\x00\xff\"\\"
	c.want("HSET depts:80 dname 'a\"b\\c \u00e9\n' loc '"+`{"x":1}`+"' pic '"+pic+"'", ":3\r\n")
	c.want("HGET depts:80 pic", bulk(pic))
	c.want("HGET depts:80 dname", bulk("a\"b\\c \u00e9\n"))
	was := c.do("GET depts:80")
	for _, name := range []string{"dname", "loc", "pic", "deptNumber"} {
		value := c.do("HGET depts:80 " + name)
		value = value[strings.Index(value, "\r\n")+2 : len(value)-2]
		if got := c.do("HSET depts:80 " + name + " '" + value + "'"); got != ":0\r\n" {
			t.Errorf("HSET of %s as it was read = %q", name, got)
		}
	}
	c.want("GET depts:80", was)
	c.want("SET depts:80 '"+was[strings.Index(was, "\r\n")+2:len(was)-2]+"'", "+OK\r\n")
	c.want("GET depts:80", was)
}

// TestWrites_InAPipeline: each command sees what those before it have done, and replies
// come in order, wherever a write stands among hits and misses.
func TestWrites_InAPipeline(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		c := s.dial()
		var commands, want []string
		for i := range 50 {
			id := 1000 + i
			doc := fmt.Sprintf(`{"id":%d,"n":%d}`, id, i)
			commands = append(commands, fmt.Sprintf("GET codes:%d", id), fmt.Sprintf("SET codes:%d '%s'", id, doc),
				fmt.Sprintf("GET codes:%d", id), "CLIENT REPLY SKIP", fmt.Sprintf("HSET codes:%d n 7", id),
				fmt.Sprintf("HGET codes:%d n", id))
			want = append(want, "$-1\r\n", "+OK\r\n", bulk(doc), bulk("7"))
		}
		c.send(commands...)
		for i, w := range want {
			if got := c.reply(); got != w {
				t.Fatalf("reply %d = %q, want %q", i, got, w)
			}
		}
	})
}

// TestWrites_OwnInvalidationsComeFirst is rule 3: what a write of this connection has
// touched is told in front of its reply, the documents that its rows are part of, too.
func TestWrites_OwnInvalidationsComeFirst(t *testing.T) {
	s := newSite(t)
	s.hot("depts:10")
	for _, options := range []string{"", "BCAST PREFIX depts:"} {
		c := s.tracking(options)
		for i, text := range []string{"HSET depts:10 loc %d", `SET depts:10 '{"dname":"ACCOUNTING","loc":"x%d"}'`,
			"HDEL depts:10 loc", "DEL depts:10", `SET depts:10 '{"dname":"ACCOUNTING","loc":"y%d"}'`} {
			c.send("GET depts:10")
			for got := c.reply(); strings.HasPrefix(got, ">"); got = c.reply() {
			} // of the write before, by the feed
			if strings.Contains(text, "%d") {
				text = fmt.Sprintf(text, i)
			}
			c.send(text)
			if got := c.reply(); got != tells("depts:10") {
				t.Errorf("%s: in front of the reply to %s: %q", options, text, got)
			}
			for strings.HasPrefix(c.reply(), ">") {
			}
		}
		_ = c.nc.Close()
	}
}

// TestWrites_NoLoop: who has asked for that does not hear of its own writes, hears of those
// of others, and goes on to hear of them.
func TestWrites_NoLoop(t *testing.T) {
	for _, options := range []string{"NOLOOP", "BCAST NOLOOP PREFIX depts:"} {
		s := newSite(t)
		s.hot("depts:10")
		c, writes := s.tracking(options), 0
		for i := range 10 {
			// A write that does not return in time is told of, as somebody else's is.
			eventually(t, "a write that is not told", func() bool {
				writes++
				c.do("GET depts:10")
				c.want(fmt.Sprintf("HSET depts:10 loc %d", writes), ":0\r\n")
				<-time.After(20 * time.Millisecond)
				if got := c.do("ECHO silence"); got == bulk("silence") {
					return true
				}
				c.reply()
				return false
			})
			s.rename(10, fmt.Sprint("other", i))
			if got := c.reply(); got != tells("depts:10") {
				t.Fatalf("%s: after a change of somebody else: %q", options, got)
			}
		}
	}
}

// TestWrites_AnOutageIsNeverNil: a write that cannot be done says so.
func TestWrites_AnOutageIsNeverNil(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	c.want("HSET depts:10 loc X", ":0\r\n")
	_ = s.Src.Close()
	for _, text := range []string{"SET depts:10 '{\"dname\":\"X\"}'", "SET depts:10 '{\"dname\":\"X\"}' XX GET",
		"HSET depts:10 loc Y", "HDEL depts:10 loc", "DEL depts:10", "GET depts:98"} {
		if got := c.do(text); !strings.HasPrefix(got, "-UNAVAILABLE ") {
			t.Errorf("%s without a database = %q", text, got)
		}
	}
}

// TestWrites_OfGeneratedColumns: they are passed over, as over HTTP, and the replies count what
// has changed.
func TestWrites_OfGeneratedColumns(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	for _, step := range [][2]string{
		{"HSET notes:1 n 4 body x", ":2\r\n"}, {"HGET notes:1 twice", bulk("8")},
		{"HDEL notes:1 twice", ":0\r\n"}, {"HGET notes:1 twice", bulk("8")},
		{"HSET notes:1 twice 99", ":0\r\n"}, {"HGET notes:1 twice", bulk("8")},
		{"HDEL notes:1 twice body nope", ":1\r\n"}, {"HDEL notes:1 twice body", ":0\r\n"},
		{"HSET notes:1 twice 99 body y", ":1\r\n"}, {"HSET notes:1 twice 99 body z", ":0\r\n"},
		{"HDEL notes:1 n", ":1\r\n"}, {"HEXISTS notes:1 twice", ":0\r\n"},
		{"HSET notes:1 twice 99", ":0\r\n"}, {"HEXISTS notes:1 twice", ":0\r\n"},
		{"HSET notes:2 twice 99 body x id 2", ":2\r\n"}, {"HEXISTS notes:2 twice", ":0\r\n"},
		{"HSET docs:1 doc 7", ":1\r\n"}, {"HSET docs:1 doc null", ":0\r\n"}, {"SET docs:1 null", "+OK\r\n"},
		{"HDEL docs:1 doc", ":0\r\n"}, {"SET docs:1 null", "+OK\r\n"}, {"HSET docs:1 doc 7", ":1\r\n"},
		{"HDEL docs:1 doc", ":1\r\n"},
	} {
		c.want(step[0], step[1])
	}
}
