package memcachefront

import (
	"strings"
	"testing"
)

// unique returns the unique that gets tells of a key, "" for a miss.
func (c *client) unique(key string) string {
	c.t.Helper()
	words := strings.Fields(c.do("gets " + key))
	if len(words) < 5 {
		return ""
	}
	return words[4]
}

// TestItems_UniqueIsOfWhoeverWrites: a value or flags that SQL, or another front, has changed
// have another unique, and what it has made has one with which cas succeeds.
func TestItems_UniqueIsOfWhoeverWrites(t *testing.T) {
	s := newSite(t, items)
	c := s.dial()
	c.want("set a 0 0 1\r\na", "STORED\r\n")
	for _, change := range []string{"value = CAST('b' AS BLOB)", "flags = 7"} {
		old := c.unique("a")
		s.Exec("UPDATE kv SET " + change + " WHERE key = 'a'")
		eventually(t, change+" has another unique", func() bool { return c.unique("a") != old })
		c.want("cas a 0 0 4 "+old+"\r\nlost", "EXISTS\r\n")
		c.want("md a C"+old, "EX\r\n")
	}
	c.want("cas a 0 0 3 "+c.unique("a")+"\r\nnew", "STORED\r\n")
	c.want("get a", value("a", "new")+"END\r\n")

	s.Exec("INSERT INTO kv (key, value) VALUES ('made', CAST('v' AS BLOB))")
	eventually(t, "what SQL has made shows", func() bool { return c.unique("made") != "" })
	made := c.unique("made")
	if made == "0" {
		t.Error("the unique of what SQL has made is that of none")
	}
	c.want("mg made c", "HD c"+made+"\r\n")
	c.want("mg made v C"+made, "HD\r\n")
	c.want("ms made 3 C"+made+"\r\nnew", "HD\r\n")
	c.want("ms made 3 C"+made+"\r\nold", "EX\r\n")
}

// TestItems_UniqueThatIsToldIsThatOfTheRow: the reply to a write tells what gets tells, and
// nothing but a change of the value or the flags makes it another one.
func TestItems_UniqueThatIsToldIsThatOfTheRow(t *testing.T) {
	s := newSite(t, items)
	c := s.dial()
	last := ""
	for _, text := range []string{"ms n 2 c\r\n10", "ms n 2 c\r\n10", "ma n c MD D5", "ma n c",
		"ms n 1 MA c\r\n0", "ma zz N0 J1 c"} {
		key := strings.Fields(text)[1]
		told := strings.TrimSpace(c.do(text))
		if told != "HD c"+c.unique(key) || told == last {
			t.Errorf("%q = %q, behind %q; gets tells %q", text, told, last, c.unique(key))
		}
		last = told
	}
	was := c.unique("n")
	c.want("touch n 100", "TOUCHED\r\n")
	c.want("mg n T200 c", "HD c"+was+"\r\n")
	if got := strings.Fields(c.do("gats 300 n"))[4]; got != was {
		t.Errorf("gats = %q, want %q", got, was)
	}
	if got := c.unique("n"); got != was {
		t.Errorf("a touch has made %q of %q", got, was)
	}
}
