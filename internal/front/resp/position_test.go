package respfront

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front/kv"
)

// A position is what HTTP sends as Hotrow-Position.
var hasPosition = regexp.MustCompile(`hr1\.main\.[^.\r\n]+\.[0-9a-f]+`)

// answered is the reply of HOTROW.GET to depts:10: its origin, entity tag and body.
var answered = regexp.MustCompile(`(?s)state\r\n\$5\r\nfound\r\n\$6\r\norigin\r\n\$\d+\r\n(\w+)\r\n` +
	`\$3\r\nkey\r\n\$8\r\ndepts:10\r\n\$4\r\netag\r\n\$\d+\r\n("[^"]+")\r\n` +
	`\$8\r\nposition\r\n\$\d+\r\nhr1\.main\.\S+\r\n\$6\r\nlag_ms\r\n:\d+\r\n\$4\r\nbody\r\n(.*)$`)

// HOTROW.GET says what HTTP says in headers, in both versions and forms.
func TestOwn_Get(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		c := s.dial()
		for _, version := range []string{"HELLO 2", "HELLO 3"} {
			c.do(version)
			null, head := "$-1\r\n", "*14\r\n"
			if version == "HELLO 3" {
				null, head = "_\r\n", "%7\r\n"
			}
			tag := ""
			for _, origin := range []string{"", "memory"} {
				got := c.do("HOTROW.GET depts:010")
				m := answered.FindStringSubmatch(got)
				if m == nil || m[3] != bulk(dept10) || !strings.HasPrefix(got, head) {
					t.Fatalf("%s: %q", version, got)
				}
				if tag = m[2]; origin != "" && m[1] != origin {
					t.Errorf("%s: from %s, want %s", version, m[1], origin)
				}
			}
			for text, wants := range map[string][]string{
				"HOTROW.GET depts:10 IFNONEMATCH " + tag:      {"unmodified", tag, "body\r\n" + null},
				"HOTROW.GET depts:10 IFNONEMATCH \"x\"":       {"found", "ACCOUNTING"},
				"HOTROW.GET depts:10 NOCACHE":                 {"found", "requested"},
				"HOTROW.GET depts:99":                         {"absent", "etag\r\n" + null, "body\r\n" + null},
				"HOTROW.GET depts:ten":                        {"absent"},
				"HOTROW.GET depts:30 ONLYIFCACHED":            {"-UNAVAILABLE memory has no fresh copy\r\n"},
				"HOTROW.GET nothing:1":                        {"-ERR no resource"},
				"HOTROW.GET pay:1":                            {"-NOPERM"},
				"HOTROW.GET depts:10 NOCACHE ONLYIFCACHED":    {"-ERR syntax error"},
				"HOTROW.GET depts:10 MIN":                     {"-ERR syntax error"},
				"HOTROW.GET depts:10 MIN x":                   {"-ERR invalid position"},
				"HOTROW.GET depts:10 WAIT x":                  {"-ERR value is not an integer"},
				"HOTROW.GET":                                  {"-ERR wrong number of arguments"},
				"HOTROW.POSITION depts:10":                    {"hr1.main."},
				"HOTROW.POSITION a b":                         {"-ERR wrong number"},
				"HOTROW.MIN nope":                             {"-ERR invalid position"},
				"HOTROW.MIN hr1.main.x.1 -5":                  {"-ERR value is not an integer"},
				"HOTROW.GET depts:10 MIN hr1.other.x.ffff":    {"found", "bypassed"},
				"HOTROW.GET depts:10 MIN hr1.main.x.1 WAIT 1": {"found"},
			} {
				got := c.do(text)
				for _, want := range wants {
					if !strings.Contains(got, want) {
						t.Errorf("%s: %s = %q, want %q", version, text, got, want)
					}
				}
			}
		}
	})
}

// A connection that says with which position it goes on never reads what was before it,
// whatever it reads by.
func TestOwn_Min(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form, lists)
		writer, reader := s.dial(), s.dial()
		writer.want("HOTROW.POSITION", "$-1\r\n")
		for i := range 50 {
			writer.want(fmt.Sprintf("HSET depts:10 loc place-%d-", i), ":0\r\n")
			at := hasPosition.FindString(writer.do("HOTROW.POSITION"))
			if at == "" {
				t.Fatal("a write has no position")
			}
			reader.want("HOTROW.MIN "+at+" 500", "+OK\r\n")
			for _, text := range []string{"GET depts:10", "HGET depts:10 loc", "MGET depts:20 depts:10",
				"GET from:10", "GET by_name:ACCOUNTING", "HOTROW.GET depts:10"} {
				got := reader.do(text)
				if text != "GET from:10" && !strings.Contains(got, fmt.Sprintf("place-%d-", i)) {
					t.Fatalf("%s after write %d: %q", text, i, got)
				}
			}
		}
		// A position of another origin is one that is never reached: the database is asked.
		reader.want("HOTROW.MIN hr1.main.nobody.ffffffff 1", "+OK\r\n")
		reader.want("GET depts:20", bulk(dept20))
		reader.want("HOTROW.MIN hr1.other.x.1", "+OK\r\n") // of another source: nothing here
		reader.want("GET depts:20", bulk(dept20))
		reader.want("RESET", "+RESET\r\n")
		reader.want("GET depts:20", bulk(dept20))
		writer.do("RESET")
		writer.want("HOTROW.POSITION", "$-1\r\n")
		writer.do("MULTI")
		if got := writer.do("HOTROW.GET depts:10"); !strings.HasPrefix(got, "-ERR") {
			t.Errorf("within MULTI: %q", got)
		}
	})
}
