package memcachefront

import (
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
)

// leaseTalk are commands about leases whose replies have to be equal to those of memcached. U is
// the unique that was told last, V the one before it.
var leaseTalk = []string{
	// N: a stub is made, for one who makes the item.
	"mg a v N30", "mg a v N30", "mg a v t c N30", "mg a k O7 v", "mg a v q N30", "get a", "ms a 3\r\nabc",
	"mg a v N30", "md a", "mg a s t N30 t v f k O1", "mg a t", "md a q", "mg a q N30 v", "mg a q v", "md a",
	"mg a N0 t", "mg a v t", "md a", "mg a N-1 v", "mg a v",
	"mg a N30 T50 t", "mg a t T60 t", "mg a t", "md a", "mg a N", "mg a Nx", "mg a R", "mg a Rx", "mg a R-1",
	"mg a N30", "add a 0 0 1\r\nx", "ms a 1 ME\r\nx", "ms a 1 MA\r\ny", "mg a v", "mg a v N30", "md a",
	"mg a N30 c", "ms a 1 CU\r\nz", "mg a v", "md a", "mg a N30", "incr a 1", "delete a", "mg a v",
	// R: one is told so whose item soon expires.
	"ms a 1 T30\r\nx", "mg a v R10", "mg a v R60", "mg a v R60", "mg a v R10", "mg a v", "ms a 1 T30\r\ny",
	"mg a v R60 N10 t", "mg a v R60 N10 t", "ms a 1\r\nz", "mg a v R60", "mg a v R4000000000",
	"ms a 1 T30\r\nx",
	"mg a R60 T900 t", "mg a R60", "ms a 1 T30\r\nx", "mg a T900 R60 t", "mg a t", "ms a 1 T30\r\nx",
	"mg a q R60", "touch a 900",
	"mg a t R60", "md a",
	// I: what is stale is served, and one makes it anew.
	"md a I", "md a I q", "ms a 3 F5 T90\r\nabc", "md a I k O3", "mg a v", "mg a v", "mg a v f t N30 R30",
	"get a",
	"gets a", "touch a 800", "mg a v t", "md a I", "mg a v q k", "mg a v q k", "ms a 1\r\nn", "mg a v",
	"md a I T30", "mg a v t", "mg a t", "md a I T0 q", "mg a t v", "mg a t v", "md a C1 I", "mg a c",
	"md a CU I T20", "mg a c t v",
	// A value whose unique is older is taken, and stays stale.
	"ms a 1 CV I\r\no", "mg a v t c", "mg a v t c", "ms a 1 CV\r\np", "ms a 1 CU\r\nq", "mg a v t c",
	"ms a 1 CU I T40\r\nr",
	"mg a v t c", "md a I", "mg a c v", "mg a v c", "ms a 2 CV I c\r\nst", "mg a v", "mg a v",
	"ms a 1 CV I MA\r\nx",
	"ms a 1 CV I MR\r\nx", "ms a 1 CV I ME\r\nx", "mg a v c", "md a CV I", "md a CV", "md a CU",
	"ms a 1 CU I\r\nx",
	// What is appended to is another item; what is touched is not.
	"ms n 2 T90\r\n10", "md n I", "ms n 1 MA\r\n0", "mg n v", "md n I", "append n 0 0 1\r\n1", "mg n v",
	"md n I", "gat 700 n",
	"mg n v t", "md n",
}

// uniqueSaid is a unique that a reply tells.
var uniqueSaid = regexp.MustCompile(`(?: c|VALUE \S+ \d+ \d+ )(\d+)`)

// times are the numbers of N, R and T that are no edges.
var times = regexp.MustCompile(` ([NRT])([1-9]\d{0,3})\b`)

// sameButForTime reports whether two replies are equal but for a minute that an item has left:
// the servers are asked one after the other, on a machine that may be busy.
func sameButForTime(a, b string) bool {
	if left.ReplaceAllString(a, " t") != left.ReplaceAllString(b, " t") {
		return false
	}
	x, y := left.FindStringSubmatch(a), left.FindStringSubmatch(b)
	if x == nil {
		return true
	}
	m, err := strconv.Atoi(x[1])
	n, err2 := strconv.Atoi(y[1])
	return err == nil && err2 == nil && max(m-n, n-m) <= 60
}

// A leaseClient is a connection whose commands name the uniques that it was told.
type leaseClient struct {
	*client
	told map[string][2]string // by key: the last, and the one before it
}

// say returns the reply to a command, without its numbers.
func (c *leaseClient) say(text string) string {
	words := strings.Fields(text)
	key := words[1]
	if words[0] == "gat" {
		key = words[2]
	}
	told, ok := c.told[key]
	if !ok {
		told = [2]string{"1", "1"}
	}
	text = times.ReplaceAllString(text, " $1${2}0") // no decision is near
	text = strings.NewReplacer(" CU", " C"+told[0], " CV", " C"+told[1]).Replace(text)
	got := c.do(text)
	if m := uniqueSaid.FindStringSubmatch(got); m != nil && m[1] != told[0] && m[1] != "0" {
		c.told[key] = [2]string{m[1], told[0]}
	}
	return uniqueOfMeta.ReplaceAllString(uniques.ReplaceAllString(got, "$1 U"), " cU")
}

// leaseClients returns a client of memcached and one of ours, of items that are not there.
func leaseClients(t *testing.T, form func(*site) *client) (memcached, ours *leaseClient) {
	t.Helper()
	server := dbtest.NewMemcached(t)
	a := dialAt(t, "tcp", server.Addr(), nil)
	s := newSite(t, items)
	a.do("delete a\r\ndelete b\r\ndelete n")
	return &leaseClient{a, make(map[string][2]string)}, &leaseClient{form(s), make(map[string][2]string)}
}

// TestLease_AsMemcached: N, R, md with I and ms with I, and their replies.
func TestLease_AsMemcached(t *testing.T) {
	a, b := leaseClients(t, (*site).dial)
	for i, text := range leaseTalk {
		want, got := a.say(text), b.say(text)
		if !sameButForTime(want, got) {
			t.Errorf("%d: %q = %q, memcached %q", i, text, got, want)
		}
	}
}

// TestLease_RandomAsMemcached: any sequence of commands and flags.
func TestLease_RandomAsMemcached(t *testing.T) {
	a, b := leaseClients(t, (*site).dial)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	some := func(of ...string) (flags string) {
		random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		for _, f := range of[:random.IntN(min(len(of), 5))] {
			flags += " " + f
		}
		return flags
	}
	var log []string
	for range 3000 {
		key, text := pick("a", "b"), ""
		switch random.IntN(7) {
		case 0, 1, 2:
			text = "mg " + key + some("v", "t", "c", "k", "q", "s", "f", "O1", pick("N30", "N500"),
				pick("R5", "R100"), pick("T20", "T300"))
		case 3:
			value := pick("", "x", "yy")
			text = fmt.Sprintf("ms %s %d%s\r\n%s", key, len(value), some("c", "k", "q", "O2", "F7", "I",
				pick("CU", "CV"), pick("T20", "T300"), pick("MS", "ME", "MR")), value)
		case 4:
			text = "md " + key + some("k", "q", "O3", "I", "I", pick("CU", "CV"), "T40")
		case 5:
			text = pick("get "+key, "gets "+key, "touch "+key+" 500", "gat 600 "+key, "delete "+key)
		case 6:
			text = pick("ms "+key+" 1 T90\r\n7", "append "+key+" 0 0 1\r\n1",
				"ms "+key+" 1 MP"+some("k", "c")+"\r\n1", "md "+key+" I")
		}
		if strings.Count(text, " I") > 1 {
			continue
		}
		log = append(log, text)
		want, got := a.say(text), b.say(text)
		if !sameButForTime(want, got) {
			t.Fatalf("%q = %q, memcached %q, behind %q", text, got, want, log[max(0, len(log)-12):])
		}
	}
}

// TestLease_HasOneWinner: of all who ask for an item that is not there, one makes it, and the
// others hear so; and so it is with one that is stale.
func TestLease_HasOneWinner(t *testing.T) {
	s := newSite(t, items)
	for _, stale := range []bool{false, true} {
		if stale {
			s.dial().want("ms a 1\r\nx\r\nmd a I", "HD\r\nHD\r\n")
		}
		var mu sync.Mutex
		said := make(map[string]int)
		var group sync.WaitGroup
		for range 20 {
			c := s.dial()
			group.Go(func() {
				got := c.do("mg a N30")
				mu.Lock()
				defer mu.Unlock()
				said[got]++
			})
		}
		group.Wait()
		won, sent := "HD W\r\n", "HD Z\r\n"
		if stale {
			won, sent = "HD X W\r\n", "HD Z X\r\n"
		}
		if said[won] != 1 || said[sent] != 19 {
			t.Errorf("stale %v: %v", stale, said)
		}
	}
}

// TestLease_OfCounters: a change in place keeps the lease, a number that has become longer is
// another item. memcached does so, too, unless one of its own threads holds the item.
func TestLease_OfCounters(t *testing.T) {
	s := newSite(t, items)
	c := s.dial()
	c.want("ms n 2\r\n98\r\nmd n I\r\nincr n 1\r\nmg n v\r\nmg n v",
		"HD\r\nHD\r\n99\r\nVA 2 X W\r\n99\r\nVA 2 Z X\r\n99\r\n")
	c.want("ma n\r\nmg n v", "HD\r\nVA 3\r\n100\r\n")
}

// TestLease_NoneOfRows: hotrow loads a row itself, once for all. A row that is not there is a
// plain miss, and md with I drops its copy.
func TestLease_NoneOfRows(t *testing.T) {
	s := newSite(t, items)
	c := s.dial()
	c.want("mg depts:99 v N30", "EN\r\n")
	c.want("mg depts:99 v N30 q", "")
	c.want("mg depts:10 N30 R90 s", fmt.Sprintf("HD s%d\r\n", len(dept10)))
}

// TestLease_NeedsTheRightToWrite: who may not write gets plain misses and stale values.
func TestLease_NeedsTheRightToWrite(t *testing.T) {
	db := fronttest.Open(t, fronttest.More{StaleAfter: time.Minute,
		Tables:    []string{kv.StoreTable, "INSERT INTO kv VALUES ('a', x'78', 1<<32, 0, 1)"},
		Resources: []resource.Spec{kv.StoreSpec("main", resource.Access{Read: "public", Write: "role:editor"})}})
	f := New(Options{Options: kv.Options{Resources: db.Set, Default: "kv"}})
	defer f.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site, err := f.Serve(l, kv.Listen{})
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	c := dialAt(t, "tcp", l.Addr().String(), nil)
	for range 2 {
		c.want("mg b v N30", "EN\r\n")
		c.want("mg a v N30", "VA 1 X\r\nx\r\n")
	}
}
