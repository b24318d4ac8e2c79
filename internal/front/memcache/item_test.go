package memcachefront

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/waittest"
)

// items serves the database of items too, as the resource of keys that name none.
func items(o *Options, _ *kv.Listen) { o.Default = "kv" }

// setting returns a command with a value.
func setting(name, key string, flags, exptime int, value, more string) string {
	return fmt.Sprintf("%s %s %d %d %d%s\r\n%s\r\n", name, key, flags, exptime, len(value), more, value)
}

// tooLong is one byte longer than a value may be.
var tooLong = strings.Repeat("x", 1<<20+1)

// itemTalk are commands whose replies have to be equal to those of memcached, byte by byte.
var itemTalk = []string{
	"get a\r\n", "gets a\r\n", "delete a\r\n", "touch a 0\r\n", "gat 0 a\r\n", "incr a 1\r\n", "mg a v\r\n",
	"mg a q\r\nmn\r\n", setting("replace", "a", 0, 0, "x", ""), setting("append", "a", 0, 0, "x", ""),
	setting("prepend", "a", 0, 0, "x", ""), setting("cas", "a", 0, 0, "x", " 1"),
	setting("add", "a", 5, 0, "one", ""), "get a\r\n", setting("add", "a", 6, 0, "two", ""),
	setting("set", "a", 7, 0, "\x00\r\n\xff", ""), "get a\r\n", "gets a\r\n",
	setting("cas", "a", 8, 0, "three", " U"), "get a\r\n", setting("cas", "a", 8, 0, "four", " U"),
	"gets a b a\r\n", setting("cas", "a", 8, 0, "four", " 999999"), setting("append", "a", 1, 0, "+", ""),
	setting("prepend", "a", 1, 0, "-", ""), "get a\r\n", setting("replace", "a", 9, 0, "", ""), "get a\r\n",
	setting("set", "a", 4294967295, 0, "f", ""), "get a\r\n", setting("set", "e", 0, -1, "gone", ""),
	"get e\r\n", setting("replace", "e", 0, 0, "x", ""), "incr e 1\r\n", "touch e 5\r\n",
	setting("cas", "e", 0, 0, "x", " 5"), "delete e\r\n", setting("set", "e", 0, -1, "gone", ""),
	setting("add", "e", 0, 0, "new", ""), "get e\r\n", setting("set", "e", 0, 1000, "x", ""), "mg e t v\r\n",
	"touch e 0\r\n", "mg e t v\r\n", "gat 500 e\r\n", "mg e t\r\n", "gats 0 e\r\n", "touch e -1\r\n",
	"get e\r\n", setting("set", "n", 3, 0, "10", ""), "incr n 5\r\n", "get n\r\n", "decr n 6\r\n", "get n\r\n",
	"decr n 100\r\n", "get n\r\n", "incr n 18446744073709551615\r\n", "incr n 1\r\n", "get n\r\n",
	"incr a 1\r\n", "incr n x\r\n", "incr n 1 noreply\r\nget n\r\n", setting("set", "n", 3, 0, "7", ""),
	"ma n v\r\n", "ma n D3 v t c\r\n", "ma n MD v\r\n", "ma n q\r\nmn\r\n", "ma n k O1\r\n", "ma zz\r\n",
	"ma zz k O1\r\n", "ma zz N0 J13 v\r\n", "ma zz N0 J13 v\r\n", "ma zz T100 t\r\n", "ma a\r\n",
	"delete zz\r\n", "ms a 3 F5 T0\r\nabc\r\n", "mg a f v\r\n", "ms a 1 MA\r\nd\r\n", "ms a 1 MP\r\n0\r\n",
	"mg a s v f t\r\n", "ms zz 1 MA k\r\nx\r\n", "ms a 1 ME\r\nx\r\n", "ms zz 1 MR\r\nx\r\n",
	"ms zz 1 C1\r\nx\r\n", "ms a 1 C1\r\nx\r\n", "ms a 1 T50 q\r\nx\r\nmg a t v\r\n", "gets a\r\n",
	"ms a 3 CU k\r\nnew\r\n", "get a\r\n", "mg a T0 t v\r\n", "mg a t\r\n", "md a C1\r\n", "md a q\r\nmn\r\n",
	"md a\r\n", "mg a v\r\n", setting("set", "a", 0, 0, tooLong, ""), "get a\r\n",
	// What is too large leaves no old value behind a set, and what follows it is no command.
	setting("set", "a", 0, 0, "old", ""), setting("set", "a", 0, 0, tooLong, ""), "get a\r\n",
	setting("set", "a", 0, 0, "old", ""), setting("set", "a", 0, 0, tooLong, " noreply") + "get a\r\n",
	setting("set", "a", 0, 0, "old", ""), setting("add", "a", 0, 0, tooLong, ""), "get a\r\n",
	setting("replace", "a", 0, 0, tooLong, ""), "get a\r\n", setting("append", "a", 0, 0, tooLong, ""), "get a\r\n",
	setting("prepend", "a", 0, 0, tooLong, ""), "get a\r\n", setting("cas", "a", 0, 0, tooLong, " 1"), "get a\r\n",
	"ms a 1048577\r\n" + tooLong + "\r\n", "get a\r\n", setting("set", "a", 0, 0, "old", ""),
	"ms a 1048577 ME\r\n" + tooLong + "\r\n", "get a\r\n", setting("set", "a", 0, 0, "old", ""),
	"ms a 1048577 MA q k O7\r\n" + tooLong + "\r\n", "get a\r\n",
	setting("set", "a", 0, 0, tooLong[:700_000], ""), setting("append", "a", 0, 0, tooLong[:700_000], ""),
	"mg a s\r\n", "ms a 700000 MA\r\n" + tooLong[:700_000] + "\r\n", "mg a s\r\n", "delete a\r\n",
	"set a 0 0 2147483647\r\n", "ms a 2147483647\r\n", "cas a 0 0 1\r\n", "get a\r\n",
	setting("set", "a:b", 0, 0, "colon", ""), "get a:b\r\n", "delete a:b noreply\r\nget a:b\r\n",
	"flush_all x\r\n", setting("set", "a", 0, 0, "y", " noreply") + "get a\r\n",
}

// uniqueOfMeta is a unique in a reply to a meta command.
var uniqueOfMeta = regexp.MustCompile(` c\d+`)

// padded is a counter: memcached fills up one that has got shorter, unless somebody looks at it.
var padded = regexp.MustCompile(`VALUE n 3 \d+\r\n(\d+) *\r\n`)

// left is how many seconds an item has left, in a reply to a meta command.
var left = regexp.MustCompile(` t(\d+)`)

// alike reports whether two replies are equal but for a second that an item has left: the
// two servers' clocks do not tick together.
func alike(a, b string) bool {
	times := [2][][]string{left.FindAllStringSubmatch(a, -1), left.FindAllStringSubmatch(b, -1)}
	if left.ReplaceAllString(a, " t") != left.ReplaceAllString(b, " t") {
		return false
	}
	for i := range times[0] {
		x, errX := strconv.Atoi(times[0][i][1])
		y, errY := strconv.Atoi(times[1][i][1])
		if errX != nil || errY != nil || max(x, y)-min(x, y) > 1 {
			return false
		}
	}
	return true
}

func TestGolden_ItemsAreThoseOfMemcached(t *testing.T) {
	server := dbtest.NewMemcached(t)
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form, items)
		a, b := dialAt(t, "tcp", server.Addr(), nil), s.dial()
		a.do("delete a\r\ndelete e\r\ndelete n\r\ndelete zz")
		unique := regexp.MustCompile(`VALUE \S+ \d+ \d+ (\d+)`)
		var last [2]string
		for _, text := range itemTalk {
			var said [2]string
			for i, c := range []*client{a, b} {
				command := strings.ReplaceAll(text, " U\r\n", " "+last[i]+"\r\n")
				command = strings.ReplaceAll(command, " CU ", " C"+last[i]+" ")
				got := c.do(strings.TrimSuffix(command, "\r\n"))
				if m := unique.FindStringSubmatch(got); m != nil {
					last[i] = m[1]
				}
				got = padded.ReplaceAllString(got, "VALUE n 3 N\r\n$1\r\n")
				said[i] = uniqueOfMeta.ReplaceAllString(uniques.ReplaceAllString(got, "$1 U"), " cU")
			}
			if !alike(said[0], said[1]) {
				t.Errorf("%.80q = %.200q, memcached %.200q", text, said[1], said[0])
			}
		}
	})
}

// TestItems_CountersLoseNothing: many clients count at the same time.
func TestItems_CountersLoseNothing(t *testing.T) {
	s := newSite(t, items)
	s.dial().want("set n 0 0 1\r\n0", "STORED\r\n")
	var group sync.WaitGroup
	const clients, times = 4, 50
	for range clients {
		c := s.dial()
		group.Go(func() {
			for range times {
				if got := c.do("incr n 1"); strings.Contains(got, "ERROR") {
					t.Errorf("incr = %q", got)
				}
			}
		})
	}
	group.Wait()
	s.dial().want("get n", fmt.Sprintf("VALUE n 0 3\r\n%d\r\nEND\r\n", clients*times))
}

// TestItems_ManyChangeOne: however many clients change one item at the same time, none is
// told to try again, and nothing is lost, be the commands what they may.
func TestItems_ManyChangeOne(t *testing.T) {
	s := newSite(t, items)
	s.dial().want("set n 0 0 1\r\n0", "STORED\r\n")
	s.dial().want("set text 0 0 0\r\n", "STORED\r\n")
	commands := []string{"incr n 1", "ma n", "append text 0 0 1\r\nx", "ms text 1 MA\r\nx", "touch n 0"}
	var group sync.WaitGroup
	const clients, times = 100, 8
	for i := range clients {
		c := s.dial()
		group.Go(func() {
			for range times {
				if got := c.do(commands[i%len(commands)]); strings.Contains(got, "ERROR") {
					t.Errorf("%s = %q", commands[i%len(commands)], got)
				}
			}
		})
	}
	group.Wait()
	const sum = clients / 5 * 2 * times
	c := s.dial()
	c.want("get n", fmt.Sprintf("VALUE n 0 3\r\n%d\r\nEND\r\n", sum))
	c.want("get text", fmt.Sprintf("VALUE text 0 %d\r\n%s\r\nEND\r\n", sum, strings.Repeat("x", sum)))
	s.f.turns.mu.Lock()
	defer s.f.turns.mu.Unlock()
	if n := len(s.f.turns.of); n != 0 {
		t.Errorf("turns at %d rows are kept", n)
	}
}

// TestTurns_AreGivenUpWhenTheirTimeIsOver: whoever has waited for long goes on all the same.
func TestTurns_AreGivenUpWhenTheirTimeIsOver(t *testing.T) {
	var of turns
	n := rowName{key: "a"}
	first := of.take(t.Context(), n, true, time.Minute)
	of.take(t.Context(), n, true, time.Minute)() // shared
	late := of.take(t.Context(), n, false, time.Millisecond)
	late()
	of.take(t.Context(), rowName{key: "b"}, false, time.Minute)()
	first()
	of.take(t.Context(), n, false, time.Minute)()
	if len(of.of) != 0 {
		t.Errorf("turns at %d rows are kept", len(of.of))
	}
}

func TestItems_Expire(t *testing.T) {
	s := newSite(t, items)
	c := s.dial()
	c.want("set a 0 1 1\r\nx", "STORED\r\n")
	began := time.Now()
	eventually(t, "it expires", func() bool { return c.do("get a") == "END\r\n" })
	if took := time.Since(began); waittest.Late(took, 5*time.Second) {
		t.Errorf("it took %v", took)
	}
	c.want("mg a v", "EN\r\n")
	// Rows of others do not.
	c.want("touch depts:10 5", "TOUCHED\r\n")
	c.want("gat 5 depts:20 a depts:99", value("depts:20", dept20)+"END\r\n")
}

// TestItems_KeysThatAreNoText: the table keeps texts.
func TestItems_KeysThatAreNoText(t *testing.T) {
	s := newSite(t, items)
	c := s.dial()
	c.want("get \xff", "END\r\n")
	if got := c.do("set \xff 0 0 1\r\nx"); !strings.HasPrefix(got, "CLIENT_ERROR invalid value: ") {
		t.Errorf("set = %q", got)
	}
	c.want("delete \xff", "NOT_FOUND\r\n")
}

// me takes a key in base64, and shows it as memcached does: as it is, unless no line can have
// it.
func TestGolden_DebugOfAKeyInBase64(t *testing.T) {
	server := dbtest.NewMemcached(t)
	s := newSite(t, items)
	a, b := dialAt(t, "tcp", server.Addr(), nil), s.dial()
	rest := regexp.MustCompile(` exp=.*`)
	for _, text := range []string{"set depts 0 0 1\r\nx", "ms YSBi 1 b k\r\nx", "me depts", "me ZGVwdHM= b",
		"me YSBi b", "me YSBi b q", "me YSBi", "me YQ== b"} {
		want, got := rest.ReplaceAllString(a.do(text), ""), rest.ReplaceAllString(b.do(text), "")
		if got != want {
			t.Errorf("%q = %q, memcached %q", text, got, want)
		}
	}
	a.do("delete depts")
	a.do("md YSBi b")
}
