package respfront

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front/kv"
)

// member is a text or number and numbers of a reply of HOTROW.EXPLAIN, by name.
var member = regexp.MustCompile(`\$\d+\r\n([a-z_]+)\r\n(?:\$\d+\r\n([^\r]*)|:(\d+)|(\$-1|_))\r\n`)

// explainedMembers returns the members of a reply; "": nil.
func explainedMembers(t testing.TB, reply string) map[string]string {
	t.Helper()
	if !strings.HasPrefix(reply, "*34\r\n") && !strings.HasPrefix(reply, "%17\r\n") {
		t.Fatalf("no explanation: %q", reply)
	}
	all := make(map[string]string)
	for _, m := range member.FindAllStringSubmatch(reply, -1) {
		if _, twice := all[m[1]]; !twice {
			all[m[1]] = m[2] + m[3]
		}
	}
	return all
}

// explains waits until what is said of a key has these members, and returns the reply. A
// value of "+" is any text.
func (c *client) explains(text string, want map[string]string) (reply string) {
	c.t.Helper()
	eventually(c.t, text, func() (said bool) {
		reply, said = c.explained(text, want)
		return said
	})
	return reply
}

// reads does a command until what is said of a key has these members: a load beside a commit
// is not kept, and nothing but the next read loads the key again.
func (c *client) reads(command, text string, want map[string]string) (reply string) {
	c.t.Helper()
	eventually(c.t, command, func() (said bool) {
		c.do(command)
		reply, said = c.explained(text, want)
		return said
	})
	return reply
}

// explained returns what is said of a key, and whether it has these members.
func (c *client) explained(text string, want map[string]string) (reply string, said bool) {
	c.t.Helper()
	reply = c.do("HOTROW.EXPLAIN " + text)
	got := explainedMembers(c.t, reply)
	for name, value := range want {
		if have, there := got[name]; !there || have != value && (value != "+" || have == "") {
			return reply, false
		}
	}
	return reply, true
}

// The states of a row: not read, read, changed, not there; an explanation loads nothing.
func TestExplain_Row(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		c := s.dial()
		for _, version := range []string{"HELLO 2", "HELLO 3"} {
			c.do(version)
			s.Exec("UPDATE dept SET loc = '" + version + "' WHERE deptno = 10")
			for range 3 {
				c.explains("depts:010", map[string]string{"resource": "depts", "key": "depts:10", "query": "",
					"format": "json", "state": "absent", "kept": "", "rows": "", "etag": "", "index": "",
					"position": "+", "lag_ms": "+", "changed_ms": "+"})
			}
			eventually(t, "the new row", func() bool { return strings.Contains(c.do("GET depts:10"), version) })
			c.reads("GET depts:10", "depts:10", map[string]string{"state": "hit", "kept": "good", "rows": "1",
				"bytes": "+", "etag": "+"})
		}
		c.reads("GET depts:99", "depts:99", map[string]string{"state": "hit", "rows": "0", "etag": ""})
		c.explains("depts:ten", map[string]string{"state": "invalid", "key": "", "kept": ""})
	})
}

// The states of a list, and on what it depends.
func TestExplain_List(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form, lists)
		c := s.dial()
		const key = "by_name:SALES"
		for range 3 { // who asks what is kept has not asked for the list
			c.explains(key, map[string]string{"resource": "depts", "key": key, "query": "+", "state": "absent",
				"kept": "", "format": "json"})
		}
		c.do("GET " + key)
		c.explains(key, map[string]string{"state": "once", "rows": ""})
		got := c.reads("GET "+key, key, map[string]string{"state": "hit", "kept": "good", "rows": "1", "etag": "+"})
		for _, want := range []string{"dname", "depends\r\n*", "words\r\n*", "unsettled\r\n:0\r\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q does not have %q", got, want)
			}
		}
		s.Exec("UPDATE dept SET loc = 'X' WHERE dname = 'SALES'")
		c.explains(key, map[string]string{"state": "moved", "kept": "outdated"})
	})
}

// A key is explained as it is read: one column, or with HASH the row.
func TestExplain_Column(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	s.Exec("INSERT INTO note (id, body) VALUES (1, 'x')")
	eventually(t, "the note", func() bool { return c.do("GET notes:1") == bulk("x") })
	c.reads("GET notes:1", "notes:1", map[string]string{"state": "hit", "format": "column"})
	c.explains("notes:1 HASH", map[string]string{"state": "absent", "format": "json"})
	c.reads("HGETALL notes:1", "notes:1 hash", map[string]string{"state": "hit", "format": "json"})
	c.want("HOTROW.FORMAT msgpack", "+OK\r\n")
	c.explains("depts:10", map[string]string{"state": "absent", "format": "msgpack"})
}

func TestExplain_Errors(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form, lists)
		c := s.dial()
		for text, want := range map[string]string{
			"":                 "-ERR wrong number of arguments for 'hotrow.explain' command\r\n",
			"depts:10 x":       "-ERR syntax error\r\n",
			"depts:10 HASH x":  "-ERR syntax error\r\n",
			"nothing:1":        "-ERR no resource",
			"nowhere:1":        "-ERR no resource",
			"by_name:A HASH":   "-WRONGTYPE ",
			"pay:1":            "-NOPERM ",
			"pays:1":           "-NOPERM ",
			"wrong:1":          "-ERR invalid value: ",
			"'by_name:\xff'":   "-ERR invalid value: ",
			"depts:1,2,3":      "",
			"'depts:\x00\xff'": "",
		} {
			got := c.do("HOTROW.EXPLAIN " + text)
			if want == "" {
				if state := explainedMembers(t, got)["state"]; state != "invalid" {
					t.Errorf("%q is %s", text, state)
				}
			} else if !strings.HasPrefix(got, want) {
				t.Errorf("%q = %q, want %q", text, got, want)
			}
		}
		if got := c.do("COMMAND DOCS HOTROW.EXPLAIN"); !strings.Contains(got, "Says what memory has of a key") {
			t.Errorf("COMMAND DOCS = %q", got)
		}
		c.want("PING", "+PONG\r\n")
	})
}
