package respfront

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/row"
)

// The documents of dept 20 and 30 in MessagePack and CBOR.
const (
	pack20 = "\x84\xaadeptNumber\x14\xa5dname\xa8RESEARCH\xa3loc\xa6DALLAS\xa3pic\xc0"
	cbor20 = "\xa4cloc\x66DALLAScpic\xf6edname\x68RESEARCHjdeptNumber\x14"
	cbor30 = "\xa4cloc\x67CHICAGOcpic\xf6edname\x65SALESjdeptNumber\x18\x1e"
	pack50 = "\x84\xaadeptNumber\x32\xa5dname\xa5FIFTY\xa3loc\xc0\xa3pic\xc0"
)

// HOTROW.FORMAT is for one connection, until RESET; HELLO leaves it as it is.
func TestFormat_OfOneConnection(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form, lists)
		c, other := s.dial(), s.dial()
		for _, name := range []string{"", "xml", "jsonn"} {
			c.want("HOTROW.FORMAT '"+name+"'",
				"-ERR unknown format '"+name+"': want json, msgpack or cbor\r\n")
		}
		c.want("HOTROW.FORMAT", "-ERR wrong number of arguments for 'hotrow.format' command\r\n")
		c.want("GET depts:20", bulk(dept20))
		c.want("HOTROW.FORMAT CBOR", "+OK\r\n")
		for range 3 { // read, and then from memory
			c.want("GET depts:20", bulk(cbor20))
			c.want("MGET depts:20 depts:99 depts:30", "*3\r\n"+bulk(cbor20)+"$-1\r\n"+bulk(cbor30))
			c.want("GET by_name:RESEARCH", bulk("\x81"+cbor20))
			c.want("STRLEN depts:20", fmt.Sprintf(":%d\r\n", len(cbor20)))
			c.want("HMGET depts:20 dname pic", "*2\r\n"+bulk("RESEARCH")+"$-1\r\n")
			other.want("GET depts:20", bulk(dept20))
		}
		if got := c.do("HOTROW.GET depts:20"); !strings.HasSuffix(got, bulk(cbor20)) {
			t.Errorf("HOTROW.GET = %q", got)
		}
		c.do("HELLO 3")
		c.want("GET depts:20", bulk(cbor20))
		c.want("HOTROW.FORMAT msgpack", "+OK\r\n")
		c.want("GET depts:20", bulk(pack20))
		c.want("MULTI", "+OK\r\n")
		c.want("HOTROW.FORMAT json", "-ERR 'hotrow.format' is not served inside MULTI: only reads are\r\n")
		c.do("DISCARD")
		// What is written is in the format, too, and so is what SET was told of.
		c.want("SET depts:50 '"+pack50+"'", "+OK\r\n")
		other.want("GET depts:50", bulk(`{"deptNumber":50,"dname":"FIFTY","loc":null,"pic":null}`))
		c.want("SET depts:50 '"+strings.Replace(pack50, "\xa5FIFTY", "\xa550-50", 1)+"' GET", bulk(pack50))
		c.want("HSET depts:50 loc HERE", ":1\r\n")
		if got := c.do(`SET depts:50 '{"dname":"X"}'`); !strings.HasPrefix(got, "-ERR invalid value: ") {
			t.Errorf("JSON as MessagePack: %q", got)
		}
		c.want("RESET", "+RESET\r\n")
		c.want("GET depts:20", bulk(dept20))
	})
}

// The format of the configuration is the one of connections that name none; what has come
// in one pipeline in several forms is read in as many queries.
func TestFormat_OfTheConfiguration(t *testing.T) {
	s := newSite(t, lists, func(o *Options, _ *kv.Listen) { o.Format = row.FormatMsgPack })
	c := s.dial()
	before := s.f.Stats().Batches
	c.send("GET depts:20", "HGET depts:20 loc", "HOTROW.FORMAT json", "GET depts:20", "GET notes:1")
	for _, want := range []string{bulk(pack20), bulk("DALLAS"), "+OK\r\n", bulk(dept20), "$-1\r\n"} {
		if got := c.reply(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if n := s.f.Stats().Batches - before; n > 4 {
		t.Errorf("%d queries", n)
	}
	c.do("RESET")
	c.want("GET by_name:RESEARCH", bulk("\x91"+pack20))
	s.f.Configure(s.opts) // still MessagePack
	c.want("GET depts:20", bulk(pack20))
	s.opts.Format = row.FormatJSON
	s.f.Configure(s.opts)
	eventually(t, "JSON", func() bool { return c.do("GET depts:20") == bulk(dept20) })
}

// A client that keeps copies is told that they are in another format now.
func TestFormat_FlushesWhatTheClientKeeps(t *testing.T) {
	s := newSite(t)
	c := s.tracking("")
	c.want("GET depts:20", bulk(dept20))
	c.want("HOTROW.FORMAT msgpack", "+OK\r\n")
	if got := c.reply(); got != flushed {
		t.Errorf("%q, want a flush", got)
	}
	c.want("GET depts:20", bulk(pack20))
	s.Exec("UPDATE dept SET loc = 'AUSTIN' WHERE deptno = 20")
	if got := c.reply(); got != tells("depts:20") {
		t.Errorf("%q, want the key", got)
	}
}

// A column is the value of a key: as it is, and none when it is null.
func TestColumn_IsTheValue(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		s.Exec(`INSERT INTO note (id, body, n, raw) VALUES (1, 'say "hi"', 41, x'00ff0d0a'),
			(2, NULL, NULL, NULL), (3, '', -7, x'')`)
		c := s.dial()
		for i := range 3 { // read, and then from memory
			if i == 1 {
				c.do("HOTROW.FORMAT cbor") // columns are no documents
			}
			c.want("MGET notes:1 notes:2 notes:3 notes:4 counts:1 counts:3 raws:1 raws:3", "*8\r\n"+
				bulk(`say "hi"`)+"$-1\r\n"+bulk("")+"$-1\r\n"+bulk("41")+bulk("-7")+
				bulk("\x00\xff\r\n")+bulk(""))
			c.want("GET notes:1", bulk(`say "hi"`))
			c.want("EXISTS notes:1 notes:2 notes:3 notes:4", ":2\r\n")
			c.want("TYPE notes:2", "+none\r\n")
			c.want("TTL notes:1", ":-1\r\n")
			c.want("STRLEN notes:1", ":8\r\n")
			c.want("GETRANGE notes:1 0 2", bulk("say"))
			c.want("HGET notes:2 version", bulk("1"))
			c.want("HGET notes:1 n", bulk("41"))
		}
		s.Exec("UPDATE note SET body = NULL WHERE id = 1")
		eventually(t, "the column is null", func() bool { return c.do("GET notes:1") == "$-1\r\n" })
	})
}

// SET writes the column alone, and makes a row that is not there.
func TestColumn_Set(t *testing.T) {
	s := newSite(t)
	s.Exec(`INSERT INTO note (id, body, n) VALUES (1, 'one', 41)`)
	c := s.dial()
	for _, step := range [][2]string{
		{"SET notes:1 uno", "+OK\r\n"}, {"GET notes:1", bulk("uno")}, {"GET counts:1", bulk("41")},
		{"SET notes:1 x NX", "$-1\r\n"}, {"SET notes:9 x XX", "$-1\r\n"}, {"SET notes:1 eins XX", "+OK\r\n"},
		{"SET notes:1 1 GET", bulk("eins")}, {"SET notes:2 new", "+OK\r\n"}, {"GET notes:2", bulk("new")},
		{"HGET notes:2 version", bulk("1")}, {"SET notes:3 new NX", "+OK\r\n"},
		{"SET notes:4 new GET", "$-1\r\n"}, {"SET counts:4 7", "+OK\r\n"}, {"GET counts:4", bulk("7")},
		{"GET notes:4", bulk("new")}, {"SET 'raws:4' '\xff\x00'", "+OK\r\n"}, {"GET raws:4", bulk("\xff\x00")},
		{"HOTROW.FORMAT msgpack", "+OK\r\n"}, {"SET notes:4 plain", "+OK\r\n"}, {"GET notes:4", bulk("plain")},
		{"DEL notes:4", ":1\r\n"}, {"GET raws:4", "$-1\r\n"},
	} {
		c.want(step[0], step[1])
	}
	c.want("SET pay:1 5 GET", "-NOPERM this user has no permissions to run the 'set' command\r\n")
	// A client that keeps copies is told of its own write of the column, in front of the reply.
	k := s.tracking("")
	k.want("GET notes:1", bulk("1"))
	k.send("SET notes:1 two")
	if got := k.reply() + k.reply(); got != tells("notes:1")+"+OK\r\n" {
		t.Errorf("%q", got)
	}
}

// A column of JSON takes JSON alone, and what is written is read back, null too.
func TestColumn_OfJSON(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	const bad = "-ERR invalid value: doc: not JSON, in which a text stands in quotes\r\n"
	for _, text := range []string{`{"a": [1, 2]}`, `"x"`, `1`, `true`, `[]`, `null`, `""`} {
		for range 2 { // what has made the row, and what was read
			c.want("SET docs:1 '"+text+"'", "+OK\r\n")
			c.want("GET docs:1", bulk(text))
		}
		for _, none := range []string{`{"a":`, `x`, ``, `nul`, `1 2`} {
			for _, command := range []string{"SET docs:1 '%s'", "SET docs:1 '%s' XX", "SET docs:2 '%s'",
				"SET docs:2 '%s' NX", "HSET docs:1 doc '%s'", "HSET docs:2 n 1 doc '%s'"} {
				c.want(fmt.Sprintf(command, none), bad)
			}
		}
		c.want("GET docs:1", bulk(text))
		c.want("EXISTS docs:2 notes:2", ":0\r\n")
		c.want("DEL docs:1", ":1\r\n")
	}
	// As a field null is no value, as in a document.
	c.want("HSET docs:1 doc '\"x\"' body null", ":2\r\n")
	c.want("HGET docs:1 doc", bulk(`"x"`))
	c.want("GET notes:1", bulk("null"))
	c.want("HSET docs:1 doc null", ":0\r\n")
	c.want("HEXISTS docs:1 doc", ":0\r\n")
	c.want("GET docs:1", "$-1\r\n")
}
