package memcachefront

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// golden are commands whose replies have to be equal to those of memcached 1.6, byte by
// byte. depts:10 and depts:20 are there.
var golden = []string{
	"get depts:10\r\n", "get depts:99\r\n", "get  depts:10  depts:99 depts:20 depts:10 \r\n", "get\r\n",
	"gets\r\n", "get depts:10\nget depts:20\n", " get depts:10\r\n", "gets depts:10\r\n",
	"gets depts:10 depts:20 depts:99\r\n", "gat 0 depts:10 depts:99\r\n", "gats 0 depts:10\r\n",
	"gat x depts:10\r\n", "gat 0\r\n", "gat\r\n", "get " + strings.Repeat("k", 251) + "\r\n",
	"get depts:10 " + strings.Repeat("k", 251) + "\r\n", "get " + strings.Repeat("k", 250) + "\r\n",
	"touch depts:10 0\r\n", "touch depts:99 0\r\n", "touch depts:10 x\r\n", "touch depts:10\r\n",
	"touch depts:10 0 noreply\r\nmn\r\n", "mg depts:10\r\n", "mg depts:10 v\r\n",
	"mg depts:10 s v f k t O123 q u\r\n", "mg depts:10 v h l\r\n", "mg depts:99 v k O1\r\n",
	"mg depts:99 q\r\nmn\r\n", "mg depts:99 q k O1\r\nmn\r\n", "mg depts:10 q k\r\nmn\r\n", "mg\r\n",
	"mg depts:10 !\r\n", "mg depts:10 Z\r\n", "mg depts:10 W\r\n", "mg depts:10 vv\r\n", "mg depts:10 v v\r\n",
	"mg Y!Q b v k\r\n", "mg depts:99 O\r\n", "mg depts:99 O" + strings.Repeat("1", 31) + "\r\n",
	"mg depts:99 O" + strings.Repeat("1", 32) + "\r\n", "mg depts:10 " + strings.Repeat("v ", 21) + "\r\n",
	"mg depts:10 " + strings.Repeat("v ", 30) + "\r\n", "mg " + strings.Repeat("k", 251) + "\r\n", "mn\r\n",
	"mn x\r\n", "me depts:99\r\n", "me\r\n", "me ZGVwdHM6OTk= b\r\n",
	"me Y!Q b\r\n", "me x b q\r\n", "me depts:99 b\r\n", "me ZGVwdHM6MjA= bq\r\n",
	"mx\r\n", "m\r\n", "\r\n", "\n", "foo\r\n", "foo bar baz\r\n",
	"verbosity\r\n", "verbosity 1\r\n", "verbosity 1 noreply\r\nmn\r\n", "verbosity x\r\n",
	"verbosity 1 2 3\r\n", "shutdown\r\n", "quit\r\nget depts:10\r\n", "bget depts:99\r\n", "set\r\n",
	"set a\r\n", "set a 0 0\r\n", "set a 0 0 x\r\n", "set a 0 0 -1\r\n", "set a -1 0 3\r\nabc\r\n",
	"set a 0 x 3\r\nabc\r\n", "set a 0 0 1 noreply x\r\n1\r\n",
	"set " + strings.Repeat("k", 251) + " 0 0 3\r\nabc\r\n", "add a 0 0 x noreply\r\nmn\r\n",
	"cas a 0 0 1 x\r\nx\r\n", "cas a 0 0 1\r\nx\r\n", "cas\r\n", "add\r\n", "a\r\n",
	"set a 0 0 3\r\nabcd\r\nget depts:99\r\n",
	"set a 0 0 2000000\r\n" + strings.Repeat("x", 2_000_000) + "\r\nmn\r\n",
	"set a 0 0 2000000 noreply\r\n" + strings.Repeat("x", 2_000_000) + "\r\nmn\r\n",
	"ms a 2000000\r\n" + strings.Repeat("x", 2_000_000) + "\r\nmn\r\n", "ms a S3\r\nabc\r\n", "ms a\r\n",
	"ms a x\r\n", "ms a -1\r\n", "ms\r\n", "ms a 3 !\r\nabc\r\n", "ms a 3 MX\r\nabc\r\n",
	"ms a 3\r\nabcde\r\n", "ms " + strings.Repeat("k", 251) + " 3\r\nabc\r\n", "md\r\n", "md a !\r\n",
	"ma\r\n", "ma a MX\r\n", "ma a Dx\r\n", "incr a x\r\n", "incr a\r\n", "delete\r\n", "delete a b c d\r\n",
	"delete a 5\r\n", "delete a x\r\n", "md " + strings.Repeat("k", 251) + "\r\n", "flush_all x\r\n",
	"flush_all 0 0 0 0\r\n", "stats reset\r\n", "stats nope\r\n", "stats detail on\r\n", "stats detail\r\n",
	"stats detail x\r\n", "stats sizes\r\n", "cache_memlimit x\r\n", strings.Repeat("x", 3000) + "\r\n",
	"get " + strings.Repeat("x ", 1500) + "\r\n", "mg " + strings.Repeat("x ", 1000) + "\r\n",
}

// uniques are numbers that are another one for each server: those of items, and how many
// seconds have passed since an item was read.
var uniques = regexp.MustCompile(`(VALUE \S+ \d+ \d+ |VA \d+ h1 l)\d+`)

func TestGolden_ConversationsAreThoseOfMemcached(t *testing.T) {
	server := dbtest.NewMemcached(t)
	server.Set("depts:10", dept10)
	server.Set("depts:20", dept20)
	s := newSite(t)
	s.dial().do("get depts:10 depts:20")
	for _, text := range golden {
		a, b := dialAt(t, "tcp", server.Addr(), nil), s.dial()
		var said [2]string
		for i, c := range []*client{a, b} {
			c.raw(text + "quit\r\n")
			said[i] = uniques.ReplaceAllString(c.read(1<<20), "${1}U")
			_ = c.nc.Close()
		}
		if said[0] != said[1] {
			t.Errorf("%.60q = %q, memcached %q", text, said[1], said[0])
		}
	}
}
