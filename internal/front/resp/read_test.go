package respfront

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// A talk is a command and its reply in each version of the protocol; one where both are the
// same.
type talk struct{ command, v2, v3 string }

// reads are asked of a site whose memory has nothing, and again when it has all.
var reads = []talk{
	{"GET depts:10", bulk(dept10), ""},
	{"get depts:000000000010", bulk(dept10), ""},
	{"GETEX depts:10", bulk(dept10), ""},
	{"GETEX depts:10 EX 5", "-ERR rows do not expire\r\n", ""},
	{"GET depts:99", "$-1\r\n", "_\r\n"},
	{"GET depts:ten", "$-1\r\n", "_\r\n"},
	{"GET depts:", "$-1\r\n", "_\r\n"},
	{"GET nothing:10", "$-1\r\n", "_\r\n"},
	{"GET __Booksleeve_TieBreak", "$-1\r\n", "_\r\n"},
	{"GET cities:Tulsa,OK", bulk(`{"city":"Tulsa","state":"OK","people":413066}`), ""},
	{"GET cities:a%2Cb,c/d", bulk(`{"city":"a,b","state":"c/d","people":1}`), ""},
	{"MGET depts:20 depts:99 depts:10", "*3\r\n" + bulk(dept20) + "$-1\r\n" + bulk(dept10),
		"*3\r\n" + bulk(dept20) + "_\r\n" + bulk(dept10)},
	{"EXISTS depts:20 depts:20 depts:99 x", ":2\r\n", ""},
	{"TOUCH depts:20 depts:99", ":1\r\n", ""},
	{"STRLEN depts:20", fmt.Sprintf(":%d\r\n", len(dept20)), ""},
	{"STRLEN depts:99", ":0\r\n", ""},
	{"GETRANGE depts:20 0 4", bulk(dept20[:5]), ""},
	{"SUBSTR depts:20 -3 -1", bulk(dept20[len(dept20)-3:]), ""},
	{"GETRANGE depts:20 5 x", "-ERR value is not an integer or out of range\r\n", ""},
	{"TYPE depts:10", "+string\r\n", ""},
	{"TYPE depts:99", "+none\r\n", ""},
	{"OBJECT ENCODING depts:10", bulk("raw"), ""},
	{"OBJECT ENCODING depts:99", "$-1\r\n", "_\r\n"},
	{"TTL depts:10", ":-1\r\n", ""},
	{"PTTL depts:99", ":-2\r\n", ""},
	{"EXPIRETIME depts:10", ":-1\r\n", ""},
	{"EXPIRE depts:10 5", ":0\r\n", ""},
	{"EXPIRE depts:10 5 gt XX", ":0\r\n", ""},
	{"EXPIRE depts:10 x", "-ERR value is not an integer or out of range\r\n", ""},
	{"EXPIREAT depts:10 9223372036854775808", "-ERR value is not an integer or out of range\r\n", ""},
	{"PEXPIRE depts:10 1.5", "-ERR value is not an integer or out of range\r\n", ""},
	{"PEXPIREAT depts:10 x soon", "-ERR Unsupported option soon\r\n", ""},
	{"CONFIG GET notify-keyspace-events", "*2\r\n" + bulk("notify-keyspace-events") + bulk("AKE"),
		"%1\r\n" + bulk("notify-keyspace-events") + bulk("AKE")},
	{"PERSIST depts:10", ":0\r\n", ""},
	{"HGETALL depts:10", "*8\r\n" + dept10Fields, "%4\r\n" + dept10Fields},
	{"HGETALL depts:20", "*6\r\n" + dept20Fields, "%3\r\n" + dept20Fields},
	{"HGETALL depts:99", "*0\r\n", "%0\r\n"},
	{"HGET depts:10 loc", bulk(`NEW "Y"`), ""},
	{"HGET depts:10 pic", bulk("\x00\xff"), ""},
	{"HGET depts:20 pic", "$-1\r\n", "_\r\n"},
	{"HGET depts:40 pic", bulk(""), ""},
	{"HMGET depts:20 dname nope deptNumber", "*3\r\n" + bulk("RESEARCH") + "$-1\r\n" + bulk("20"),
		"*3\r\n" + bulk("RESEARCH") + "_\r\n" + bulk("20")},
	{"HEXISTS depts:20 loc", ":1\r\n", ""},
	{"HEXISTS depts:20 pic", ":0\r\n", ""},
	{"HLEN depts:20", ":3\r\n", ""},
	{"HKEYS depts:20", "*3\r\n" + bulk("deptNumber") + bulk("dname") + bulk("loc"), ""},
	{"HVALS depts:20", "*3\r\n" + bulk("20") + bulk("RESEARCH") + bulk("DALLAS"), ""},
	{"HSTRLEN depts:20 loc", ":6\r\n", ""},
	{"HSCAN depts:20 0 MATCH d* COUNT 100", "*2\r\n" + bulk("0") + "*4\r\n" + bulk("deptNumber") +
		bulk("20") + bulk("dname") + bulk("RESEARCH"), ""},
	{"GET pay:1", "-NOPERM this user has no permissions to run the 'get' command\r\n", ""},
	{"MGET depts:10 closed:10", "-NOPERM this user has no permissions to run the 'mget' command\r\n", ""},
	{"GET", "-ERR wrong number of arguments for 'get' command\r\n", ""},
	{"EXISTS", "-ERR wrong number of arguments for 'exists' command\r\n", ""},
}

var dept10Fields = bulk("deptNumber") + bulk("10") + bulk("dname") + bulk("ACCOUNTING") + bulk("loc") +
	bulk(`NEW "Y"`) + bulk("pic") + bulk("\x00\xff")

var dept20Fields = bulk("deptNumber") + bulk("20") + bulk("dname") + bulk("RESEARCH") + bulk("loc") +
	bulk("DALLAS")

func (k *talk) reply(v int) string {
	if v == 3 && k.v3 != "" {
		return k.v3
	}
	return k.v2
}

func TestReads_OfColdAndOfHotRows(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		for v := 2; v <= 3; v++ {
			s := newSite(t, form)
			c := s.dial()
			c.do(fmt.Sprintf("HELLO %d", v))
			for _, round := range []string{"cold", "hot"} {
				for _, k := range reads {
					if got := c.do(k.command); got != k.reply(v) {
						t.Errorf("%s, version %d: %s = %q, want %q", round, v, k.command, got, k.reply(v))
					}
				}
			}
			eventually(t, "a hit", func() bool { c.do("GET depts:10"); return s.f.Stats().Hits > 0 })
		}
	})
}

// TestReads_CutAnywhere sends all reads at once, in two parts, with every cut.
func TestReads_CutAnywhere(t *testing.T) {
	s := newSite(t)
	var all, want strings.Builder
	for _, k := range reads[:12] {
		all.WriteString(encode(k.command))
		want.WriteString(k.v2)
	}
	text := all.String()
	for cut := range text {
		c := s.dial()
		c.raw(text[:cut])
		c.raw(text[cut:])
		got := ""
		for range 12 {
			got += c.reply()
		}
		if got != want.String() {
			t.Fatalf("cut at %d: %q, want %q", cut, got, want.String())
		}
		_ = c.nc.Close()
	}
}

func TestPipeline_MissesAreOneQuery(t *testing.T) {
	// What has come when the first miss is met is one query. A loop reads all of it at once,
	// or in two parts; a client of TLS sends it in records, one after the other; a goroutine
	// begins with a small buffer.
	t.Run("loop", func(t *testing.T) { testColdPipeline(t, newSite(t), 2) })
	t.Run("tls", func(t *testing.T) { testColdPipeline(t, newSecureSite(t), 4) })
	t.Run("goroutine", func(t *testing.T) { testColdPipeline(t, newSite(t, goroutines), 12) })
}

// testColdPipeline asks for 1,000 rows in one pipeline, which may take so many queries.
func testColdPipeline(t *testing.T, s *site, most uint64) {
	const n = 1000
	s.Exec(fmt.Sprintf(`INSERT INTO codes WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL
		SELECT i+1 FROM c WHERE i < %d) SELECT i, i*7 FROM c`, n))
	eventually(t, "the feed is fresh", func() bool { return s.Set.Ready() == nil })
	c := s.dial()
	var text strings.Builder
	for i := range n {
		text.WriteString(encode(fmt.Sprintf("GET codes:%d", i+1)))
		if i%100 == 0 {
			text.WriteString(encode("PING") + encode("NOPE"))
		}
	}
	before := s.f.Stats().Batches
	c.raw(text.String())
	for i := range n {
		want := bulk(fmt.Sprintf(`{"id":%d,"n":%d}`, i+1, (i+1)*7))
		if got := c.reply(); got != want {
			t.Fatalf("reply %d = %q, want %q", i, got, want)
		}
		if i%100 == 0 {
			if a, b := c.reply(), c.reply(); a != "+PONG\r\n" || !strings.HasPrefix(b, "-ERR unknown") {
				t.Fatalf("between the reads came %q and %q", a, b)
			}
		}
	}
	if made := s.f.Stats().Batches - before; made > most {
		t.Errorf("%d queries for %d cold keys in one pipeline, want %d at most", made, n, most)
	}
}

// TestOutage_IsNeverNil: a program that is told nil writes a new row.
func TestOutage_IsNeverNil(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	c.want("GET depts:10", bulk(dept10))
	if err := s.Src.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"GET depts:30", "MGET depts:30 depts:40", "EXISTS depts:30", "HGETALL depts:30",
		"TTL depts:30", "SCAN 0"} {
		if got := c.do(text); !strings.HasPrefix(got, "-UNAVAILABLE ") && !strings.HasPrefix(got, "-ERR internal") {
			t.Errorf("%s without the database = %q", text, got)
		}
	}
	c.want("PING", "+PONG\r\n")
	if got := c.do("INFO persistence"); !strings.Contains(got, "loading:0\r\n") {
		t.Errorf("INFO = %q", got)
	}
}

func TestTTL_OfAResourceWithTimeToLive(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	for range 2 {
		c.want("GET brief:10", bulk(`{"deptno":10,"dname":"ACCOUNTING","loc":"NEW \"Y\"","pic":"AP8="}`))
		if got := c.do("TTL brief:10"); got != ":3599\r\n" && got != ":3600\r\n" {
			t.Errorf("TTL = %q", got)
		}
		if got := c.do("PTTL brief:10"); !strings.HasPrefix(got, ":359") {
			t.Errorf("PTTL = %q", got)
		}
	}
}

func TestMulti_OfReads(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		c := s.dial()
		for _, round := range []string{"cold", "hot"} {
			c.send("MULTI", "GET depts:10", "PTTL depts:10", "PING", "GET depts:99", "EXEC", "PING")
			want := "+OK\r\n" + strings.Repeat("+QUEUED\r\n", 4) + "*4\r\n" + bulk(dept10) + ":-1\r\n+PONG\r\n$-1\r\n" +
				"+PONG\r\n"
			got := ""
			for range 7 {
				got += c.reply()
			}
			if got != want {
				t.Errorf("%s: %q, want %q", round, got, want)
			}
		}
		for _, k := range []talk{
			{"EXEC", "-ERR EXEC without MULTI\r\n", ""}, {"DISCARD", "-ERR DISCARD without MULTI\r\n", ""},
			{"MULTI", "+OK\r\n", ""}, {"MULTI", "-ERR MULTI calls can not be nested\r\n", ""},
			{"DISCARD", "+OK\r\n", ""}, {"MULTI", "+OK\r\n", ""},
			{"GET", "-ERR wrong number of arguments for 'get' command\r\n", ""},
			{"EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n", ""},
			{"MULTI", "+OK\r\n", ""}, {"SCAN 0", "-ERR 'scan' is not served inside MULTI: only reads are\r\n", ""},
			{"EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n", ""},
			{"MULTI", "+OK\r\n", ""}, {"EXEC", "*0\r\n", ""},
			{"WATCH depts:10", "-ERR WATCH is not served\r\n", ""}, {"UNWATCH", "+OK\r\n", ""},
		} {
			c.want(k.command, k.v2)
		}
	})
}

// walk reads all keys by SCAN.
func (c *client) walk(options string) (keys []string) {
	c.t.Helper()
	for cursor, steps := "0", 0; ; steps++ {
		lines := strings.Split(c.do("SCAN "+cursor+" "+options), "\r\n")
		if len(lines) < 4 || lines[0] != "*2" || steps > 100 {
			c.t.Fatalf("SCAN %s %s = %q after %d steps", cursor, options, lines, steps)
		}
		for i := 5; i < len(lines); i += 2 {
			keys = append(keys, lines[i])
		}
		if cursor = lines[2]; cursor == "0" {
			return keys
		}
	}
}

func TestScan_WalksOverWhatMayBeListed(t *testing.T) {
	s := newSite(t)
	s.Exec(`INSERT INTO codes WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 25)
		SELECT i, i FROM c`)
	s.Allow(map[string]string{"ann": "reader"})
	c := s.dial()
	all := c.walk("")
	if len(all) != 4*3+2+25+1 { // depts, brief, log, cities, codes, big
		t.Errorf("%d keys: %q", len(all), all)
	}
	if got := c.walk("MATCH depts:* COUNT 1"); strings.Join(got, " ") != "depts:10 depts:20 depts:30 depts:40" {
		t.Errorf("keys of depts: %q", got)
	}
	if got := c.walk("MATCH *:1? COUNT 3"); strings.Join(got, " ") != "brief:10 codes:10 codes:11 codes:12 codes:13 "+
		"codes:14 codes:15 codes:16 codes:17 codes:18 codes:19 depts:10 log:10" {
		t.Errorf("keys by a pattern: %q", got)
	}
	if got := c.walk("TYPE hash"); len(got) != 0 {
		t.Errorf("hashes: %q", got)
	}
	if got := c.walk("MATCH cities:*"); strings.Join(got, " ") != "cities:Tulsa,OK cities:a%2Cb,c/d" {
		t.Errorf("cities: %q", got)
	}
	if got := c.walk("MATCH pay:*"); len(got) != 0 {
		t.Errorf("somebody unknown lists %q", got)
	}
	c.want("AUTH ann secret-ann", "+OK\r\n")
	if got := c.walk("MATCH pay:*"); strings.Join(got, " ") != "pay:1" {
		t.Errorf("a reader lists %q", got)
	}
	c.want("SCAN 77", "-ERR invalid cursor\r\n")
	c.want("SCAN x", "-ERR invalid cursor\r\n")
	c.want("SCAN 0 COUNT 0", "-ERR syntax error\r\n")
	c.want("SCAN 0 MATCH", "-ERR syntax error\r\n")
}

// A stepper calls Step without a socket.
type stepper struct {
	f    *Front
	conn *eventloop.Conn
}

func newStepper(f *Front) *stepper {
	scope := f.NewScope()
	s := &stepper{f: f, conn: eventloop.NewTestConn(scope)}
	scope.BeginTurn(time.Now())
	f.Open(s.conn, nil)
	return s
}

// TestPipeline_OfHitsIsAnsweredInOrder: GETs that have come together are looked up together,
// whatever each finds, up to a flush; each is answered once, and counted once.
func TestPipeline_OfHitsIsAnsweredInOrder(t *testing.T) {
	s := newSite(t)
	long := strings.Repeat("x", eventloop.FlushSize/5)
	s.Exec(`INSERT INTO dept (deptno, dname) VALUES (77, '` + long + `')`)
	eventually(t, "the feed is fresh", func() bool { return s.Set.Ready() == nil })
	c := s.dial()
	keys := []string{"depts:10", "nope:1", "depts:99", "depts:20", "plain", "depts:77", "pay:1",
		"depts:010"}
	want := make(map[string]string)
	for _, k := range keys {
		eventually(t, k+" is in memory", func() bool {
			want[k] = c.do("GET " + k)
			st := newStepper(s.f)
			defer s.f.End(st.conn)
			_, out, next := s.f.Step(st.conn, []byte(encode("GET "+k)), nil)
			return next == eventloop.More && string(out) == want[k]
		})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		var in []byte
		var expect strings.Builder
		hits := uint64(0)
		for range n {
			k := keys[r.IntN(len(keys))]
			in = append(in, encode("GET "+k)...)
			expect.WriteString(want[k])
			if strings.HasPrefix(k, "depts") {
				hits++
			}
		}
		st := newStepper(s.f)
		before := s.f.Stats()
		var got []byte
		for next := eventloop.Flush; next == eventloop.Flush && len(in) > 0; {
			var used int
			var out []byte
			if used, out, next = s.f.Step(st.conn, in, nil); next == eventloop.Parked {
				t.Fatalf("a pipeline of %d hits is parked", n)
			}
			got, in = append(got, out...), in[used:]
		}
		s.f.End(st.conn)
		if string(got) != expect.String() || len(in) > 0 {
			t.Fatalf("%d GETs: %d bytes, %d left, want %d bytes", n, len(got), len(in), expect.Len())
		}
		if made := s.f.Stats().Hits - before.Hits; made != hits {
			t.Errorf("%d GETs count %d hits, want %d", n, made, hits)
		}
	}
}

// TestStep_HitAllocatesNothing: from the bytes of the command to those of the reply.
func TestStep_HitAllocatesNothing(t *testing.T) {
	s := newSite(t, lists)
	s.Exec("INSERT INTO note (id, body) VALUES (1, 'text'), (2, NULL)")
	res, _ := s.Set.Lookup("depts")
	eventually(t, "row and lists are in memory", func() bool {
		_ = res.Load(context.Background(), []row.Key{"10"}, resource.Options{})
		kept, _ := res.Kept("10")
		c, before := s.dial(), s.f.Stats().Misses
		c.do("MGET by_name:SALES 'by_name:no body' notes:1 notes:2")
		return kept && s.f.Stats().Misses == before
	})
	for _, text := range []string{"GET by_name:SALES", "GET 'by_name:no body'", "GET notes:1", "GET notes:2",
		"GET depts:10", "GET depts:000000000010", "get nothing:1",
		"MGET depts:10 depts:10 x", "EXISTS depts:10", "TTL depts:10", "PING"} {
		const burst = 100
		in, out := []byte(strings.Repeat(encode(text), burst)), make([]byte, 0, 128<<10)
		st := newStepper(s.f)
		n := testing.AllocsPerRun(50, func() {
			st.conn.Scope().(*scope).BeginTurn(time.Now())
			used, _, next := s.f.Step(st.conn, in, out[:0])
			if used != len(in) || next != eventloop.More {
				t.Fatalf("%s: %d of %d bytes, next %d", text, used, len(in), next)
			}
		})
		// The feed of the database allocates meanwhile. A hit that did would make a hundred.
		if n > burst/5 {
			t.Errorf("%s: %v allocations for %d hits", text, n, burst)
		}
		s.f.End(st.conn)
	}
}

// FuzzStep: whatever is sent, Step consumes no more than there is, and does not panic.
func FuzzStep(f *testing.F) {
	s := newSite(f)
	for _, k := range reads {
		f.Add([]byte(encode(k.command)))
	}
	f.Add([]byte("MULTI\r\nGET depts:10\r\nHGETALL depts:10\r\nEXEC\r\nCLIENT REPLY SKIP\r\nPING\r\n"))
	f.Add([]byte("HELLO 3 SETNAME a\r\nCLIENT LIST ID 1 2\r\nCOMMAND INFO get nope\r\nINFO all\r\nRESET\r\n"))
	f.Add([]byte("SCAN 0 MATCH * COUNT 5\r\nCOMMAND GETKEYS MGET a b\r\nCONFIG GET *\r\nQUIT\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		st := newStepper(s.f)
		defer s.f.End(st.conn)
		for len(in) > 0 {
			n, _, next := s.f.Step(st.conn, in, nil)
			if n > len(in) || n == 0 && next == eventloop.Flush {
				t.Fatalf("%q: %d bytes, next %d", in, n, next)
			}
			if in = in[n:]; n == 0 || next != eventloop.Flush {
				return // what is parked is resumed without a socket
			}
		}
	})
}

// BenchmarkStep is a burst of hits.
func BenchmarkStep(b *testing.B) {
	s := newSite(b)
	c := s.dial()
	for range 10 {
		c.do("GET depts:10")
	}
	const burst = 100
	in, out := []byte(strings.Repeat(encode("GET depts:10"), burst)), make([]byte, 0, 128<<10)
	st := newStepper(s.f)
	for b.Loop() {
		st.conn.Scope().(*scope).BeginTurn(time.Now())
		if used, _, _ := s.f.Step(st.conn, in, out[:0]); used != len(in) {
			b.Fatal(used)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/burst, "ns/hit")
}
