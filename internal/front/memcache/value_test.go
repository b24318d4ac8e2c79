package memcachefront

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/row"
)

// dept20 in MessagePack.
const pack20 = "\x84\xaadeptNumber\x14\xa5dname\xa8RESEARCH\xa3loc\xa6DALLAS\xa3pic\xc0"

// Documents are read and written in the format of the configuration.
func TestFormat_OfTheConfiguration(t *testing.T) {
	s := newSite(t, func(o *Options, _ *kv.Listen) { o.Format = row.FormatMsgPack })
	c := s.dial()
	value := fmt.Sprintf("VALUE depts:20 0 %d\r\n%s\r\nEND\r\n", len(pack20), pack20)
	for range 3 {
		c.want("get depts:20", value)
		c.want("gat 0 depts:20", value)
	}
	c.want(fmt.Sprintf("set depts:20 0 0 %d\r\n%s", len(pack20), strings.Replace(pack20, "DALLAS", "AUSTIN", 1)),
		"STORED\r\n")
	c.want("get depts:20", strings.Replace(value, "DALLAS", "AUSTIN", 1))
	if got := c.do("set depts:20 0 0 2\r\n{}"); !strings.HasPrefix(got, "CLIENT_ERROR invalid value: ") {
		t.Errorf("JSON as MessagePack: %q", got)
	}
}

// A column is the value of a key, with the flags and the unique that other columns have.
func TestColumn_Commands(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		s.Exec(`INSERT INTO note (id, body, n, flags, version) VALUES (1, 'one', 41, 7, 5), (2, NULL, NULL, NULL, 1)`)
		c := s.dial()
		for range 3 { // read, and then from memory
			c.want("gets notes:1 notes:2 notes:3", "VALUE notes:1 7 3 5\r\none\r\nEND\r\n")
			c.want("get counts:1", "VALUE counts:1 0 2\r\n41\r\nEND\r\n")
			c.want("mg notes:1 v f c t s", "VA 3 f7 c5 t-1 s3\r\none\r\n")
			c.want("mg notes:2 v", "EN\r\n")
			c.want("gat 9 notes:1 notes:2", "VALUE notes:1 7 3\r\none\r\nEND\r\n")
			c.want("touch notes:1 9", "TOUCHED\r\n")
			c.want("touch notes:2 9", "NOT_FOUND\r\n")
		}
		for _, step := range [][2]string{
			{"append notes:1 0 0 1\r\n!", "STORED\r\n"}, {"prepend notes:1 0 0 1\r\n>", "STORED\r\n"},
			{"get notes:1", "VALUE notes:1 7 5\r\n>one!\r\nEND\r\n"},
			{"set notes:1 9 100 3\r\nnew", "STORED\r\n"}, {"get notes:1", "VALUE notes:1 9 3\r\nnew\r\nEND\r\n"},
			{"add notes:1 0 0 1\r\nx", "NOT_STORED\r\n"}, {"replace notes:8 0 0 1\r\nx", "NOT_STORED\r\n"},
			{"add notes:8 3 0 1\r\nx", "STORED\r\n"}, {"gets notes:8", "VALUE notes:8 3 1 1\r\nx\r\nEND\r\n"},
			{"set notes:9 0 0 1\r\ny", "STORED\r\n"}, {"get notes:9", "VALUE notes:9 0 1\r\ny\r\nEND\r\n"},
			{"add notes:2 0 0 1\r\nz", "STORED\r\n"}, {"get notes:2", "VALUE notes:2 0 1\r\nz\r\nEND\r\n"},
			{"cas notes:1 0 0 1 4\r\nc", "EXISTS\r\n"}, {"cas notes:1 0 0 1 5\r\nc", "STORED\r\n"},
			{"cas notes:7 0 0 1 5\r\nc", "NOT_FOUND\r\n"}, {"get notes:1", "VALUE notes:1 0 1\r\nc\r\nEND\r\n"},
			{"incr counts:1 5", "46\r\n"}, {"decr counts:1 40", "6\r\n"},
			{"get counts:1", "VALUE counts:1 0 1\r\n6\r\nEND\r\n"},
			{"ma counts:1 D4 v", "VA 2\r\n10\r\n"}, {"ma counts:6 N0 J3 v", "VA 1\r\n3\r\n"},
			{"incr counts:5 1", "NOT_FOUND\r\n"},
			{"incr notes:1 1", "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"},
			{"ms notes:1 2 c F4\r\nok", "HD c5\r\n"}, {"mg notes:1 v f", "VA 2 f4\r\nok\r\n"},
			{"ms notes:1 1 MA\r\n.", "HD\r\n"},
			{"set raws:1 0 0 4\r\n\x00\r\n\xff", "STORED\r\n"},
			{"get raws:1", "VALUE raws:1 0 4\r\n\x00\r\n\xff\r\nEND\r\n"},
			{"md notes:1 C4", "EX\r\n"}, {"md notes:1 C5", "HD\r\n"},
			{"get notes:1", "END\r\n"}, {"delete notes:1", "NOT_FOUND\r\n"},
			{"append depts:10 0 0 1\r\nx", "CLIENT_ERROR not supported for this resource\r\n"},
		} {
			c.want(step[0], step[1])
		}
		if got := c.do("set counts:1 0 0 1\r\nx"); !strings.HasPrefix(got, "CLIENT_ERROR invalid value") {
			t.Errorf("a text in a column of numbers: %q", got)
		}
		first := c.do("gets counts:6")
		c.want("incr counts:6 1", "4\r\n")
		if again := c.do("gets counts:6"); again == first || !strings.HasPrefix(again, "VALUE counts:6 0 1 ") {
			t.Errorf("the unique stays: %q", again)
		}
	})
}

// Counters of many clients lose nothing.
func TestColumn_NoCountIsLost(t *testing.T) {
	s := newSite(t)
	s.Exec("INSERT INTO note (id, n) VALUES (1, 0)")
	const clients, each = 4, 25
	var group sync.WaitGroup
	for range clients {
		c := s.dial()
		group.Go(func() {
			for range each {
				if got := c.do("incr counts:1 1"); strings.Contains(got, "ERROR") {
					t.Error(got)
				}
			}
		})
	}
	group.Wait()
	s.dial().want("get counts:1", fmt.Sprintf("VALUE counts:1 0 3\r\n%d\r\nEND\r\n", clients*each))
}

// A column of JSON takes JSON alone.
func TestColumn_OfJSON(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	const bad = "CLIENT_ERROR invalid value: doc: not JSON, in which a text stands in quotes\r\n"
	for _, text := range []string{`{"a":1}`, `"x"`, `7`, `null`} {
		put := fmt.Sprintf("set docs:1 0 0 %d\r\n%s", len(text), text)
		c.want(put, "STORED\r\n")
		c.want("get docs:1", value("docs:1", text)+"END\r\n")
		for _, command := range []string{"set docs:1 0 0 5\r\n{\"a\":", "add docs:2 0 0 1\r\nx",
			"append docs:1 0 0 1\r\nx", "prepend docs:1 0 0 1\r\n[", "set docs:1 0 0 0\r\n",
			"ms docs:1 1\r\nx", "ms docs:1 1 MA\r\nx"} {
			c.want(command, bad)
		}
		c.want("get docs:1 docs:2", value("docs:1", text)+"END\r\n")
	}
	c.want("set docs:1 0 0 1\r\n7", "STORED\r\n")
	c.want("append docs:1 0 0 1\r\n7", "STORED\r\n")
	c.want("incr docs:1 1", "78\r\n")
}
