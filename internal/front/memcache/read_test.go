package memcachefront

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/waittest"
)

// value is the item of a get.
func value(key, body string) string {
	return fmt.Sprintf("VALUE %s 0 %d\r\n%s\r\n", key, len(body), body)
}

// reads are asked of a site whose memory has nothing, and again when it has all.
var reads = []struct{ command, reply string }{
	{"get depts:10", value("depts:10", dept10) + "END\r\n"},
	{"get depts:000000000010", value("depts:000000000010", dept10) + "END\r\n"},
	{"get depts:20 depts:99 depts:10", value("depts:20", dept20) + value("depts:10", dept10) + "END\r\n"},
	{"get depts:99", "END\r\n"}, {"get depts:ten", "END\r\n"}, {"get depts:", "END\r\n"},
	{"get nothing:10", "END\r\n"}, {"get x", "END\r\n"},
	{"get cities:Tulsa,OK", value("cities:Tulsa,OK", `{"city":"Tulsa","state":"OK","people":413066}`) + "END\r\n"},
	{"gat 60 depts:20", value("depts:20", dept20) + "END\r\n"},
	{"touch depts:20 60", "TOUCHED\r\n"}, {"touch depts:99 60", "NOT_FOUND\r\n"}, {"touch depts:20 60 noreply", ""},
	{"mg depts:20", "HD\r\n"}, {"mg depts:99", "EN\r\n"}, {"mg depts:99 q", ""},
	{"mg depts:99 k O7", "EN kdepts:99 O7\r\n"},
	{"mg depts:20 v k s t f O1", fmt.Sprintf("VA %d kdepts:20 s%[1]d t-1 f0 O1\r\n%s\r\n", len(dept20), dept20)},
	{"mg ZGVwdHM6MjA= b k s", fmt.Sprintf("HD kZGVwdHM6MjA= s%d b\r\n", len(dept20))},
	{"mg depts:20 q N30 R30 T0 E1 P1 L1", "HD\r\n"},
	{"mg cities:YSxi v", "EN\r\n"},
	{"me depts:99", "EN\r\n"}, {"me ZGVwdHM6MjA=", "EN\r\n"}, {"me ZGVwdHM6MjA= q b", "EN\r\n"},
	{"get pay:1", "CLIENT_ERROR forbidden\r\n"}, {"get depts:10 closed:10", "CLIENT_ERROR forbidden\r\n"},
	{"mg pay:1 v q", "CLIENT_ERROR forbidden\r\n"},
	{"get", "ERROR\r\n"}, {"mg depts:20 W", "CLIENT_ERROR invalid flag\r\n"}, {"nope", "ERROR\r\n"},
	{"get " + strings.Repeat("k", 251), "CLIENT_ERROR bad command line format\r\n"},
}

func TestReads_OfColdAndOfHotRows(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		c := s.dial()
		for _, round := range []string{"cold", "hot"} {
			for _, k := range reads {
				if got := c.do(k.command); got != k.reply {
					t.Errorf("%s: %s = %q, want %q", round, k.command, got, k.reply)
				}
			}
		}
		eventually(t, "a hit", func() bool { c.do("get depts:10"); return s.f.Stats().Hits > 0 })
	})
}

// TestReads_Conditional: C with the unique of the item saves the value.
func TestReads_Conditional(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	m := regexp.MustCompile(`VALUE depts:20 0 \d+ (\d+)\r\n`).FindStringSubmatch(c.do("gets depts:20"))
	if m == nil || m[1] == "0" {
		t.Fatalf("gets has no unique: %q", m)
	}
	for range 2 {
		c.want("mg depts:20 c C"+m[1]+" v", "HD c"+m[1]+"\r\n")
		c.want("mg depts:20 c C1 v", fmt.Sprintf("VA %d c%s\r\n%s\r\n", len(dept20), m[1], dept20))
		if got := c.do("me depts:20"); !strings.HasPrefix(got, "ME depts:20 exp=-1 la=0 cas="+m[1]+" fetch=") ||
			!strings.HasSuffix(got, " src=depts\r\n") {
			t.Errorf("me = %q", got)
		}
	}
	s.Exec("UPDATE dept SET loc='X' WHERE deptno=20")
	eventually(t, "another unique", func() bool { return !strings.HasPrefix(c.do("mg depts:20 C"+m[1]+" v"), "HD") })
}

// TestReads_CutAnywhere sends all reads at once, in two parts, with every cut.
func TestReads_CutAnywhere(t *testing.T) {
	s := newSite(t)
	var all, want strings.Builder
	for _, k := range reads[:14] {
		all.WriteString(k.command + "\r\n")
		want.WriteString(k.reply)
	}
	text := all.String()
	for cut := range text {
		c := s.dial()
		c.raw(text[:cut])
		c.raw(text[cut:])
		if got := c.read(want.Len()); got != want.String() {
			t.Fatalf("cut at %d: %q, want %q", cut, got, want.String())
		}
		_ = c.nc.Close()
	}
}

// codes fills a table.
func (s *site) codes(n int) {
	s.t.Helper()
	s.Exec(fmt.Sprintf(`INSERT INTO codes WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL
		SELECT i+1 FROM c WHERE i < %d) SELECT i, i*7 FROM c`, n))
	eventually(s.t, "the feed is fresh", func() bool { return s.Set.Ready() == nil })
}

// TestBurst_MissesAreOneQuery: of one get, and of a burst of mg.
func TestBurst_MissesAreOneQuery(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		const n = 1000
		burst := func(from int) (text, want string) {
			for i := from; i < from+n; i++ {
				text += fmt.Sprintf("mg codes:%d v q k\r\n", i)
				if body := fmt.Sprintf(`{"id":%d,"n":%d}`, i, i*7); i <= n {
					want += fmt.Sprintf("VA %d kcodes:%d\r\n%s\r\n", len(body), i, body)
				}
			}
			return text + "mn\r\n", want + "MN\r\n"
		}
		many := func(int) (text, want string) {
			text = "get"
			for i := 1; i <= n; i++ {
				text += fmt.Sprintf(" codes:%d", i)
				want += value(fmt.Sprintf("codes:%d", i), fmt.Sprintf(`{"id":%d,"n":%d}`, i, i*7))
			}
			return text + "\r\n", want + "END\r\n"
		}
		for name, f := range map[string]func(int) (string, string){"mg": burst, "get": many} {
			s := newSite(t, form)
			s.codes(n)
			text, want := f(1)
			before := s.f.Stats().Batches
			c := s.dial()
			c.raw(text)
			if got := c.read(len(want)); got != want {
				t.Fatalf("%s: %q, want %q", name, got, want)
			}
			// A goroutine begins with a small buffer.
			most := uint64(2)
			if strings.HasSuffix(t.Name(), "goroutine") && name == "mg" {
				most = 16
			}
			if made := s.f.Stats().Batches - before; made > most {
				t.Errorf("%s: %d queries for %d cold keys, want %d at most", name, made, n, most)
			}
		}
		s := newSite(t, form)
		s.codes(n)
		text, want := burst(n / 2) // half of them are not there, and say nothing
		c := s.dial()
		c.raw(text)
		if got := c.read(len(want)); got != want {
			t.Errorf("with quiet misses: %q, want %q", got, want)
		}
	})
}

// TestOutage_IsNeverAMiss: a program that is told of a miss writes a new row.
func TestOutage_IsNeverAMiss(t *testing.T) {
	s := newSite(t)
	s.dial().want("get depts:10", value("depts:10", dept10)+"END\r\n")
	if err := s.Src.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"get depts:30", "get depts:30 depts:40", "gets depts:30", "gat 0 depts:30",
		"touch depts:30 0", "mg depts:30 v", "mg depts:30 v q", "me depts:30"} {
		want := unavailable + "\r\nMN\r\n"
		if strings.HasPrefix(text, "g") {
			want = "" // and the end: an error is a miss to some clients
		}
		s.dial().want(text+"\r\nmn", want)
	}
}

func TestTTL_OfAResourceWithTimeToLive(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	for range 2 {
		if got := c.do("mg brief:10 t"); got != "HD t3599\r\n" && got != "HD t3600\r\n" {
			t.Errorf("t = %q", got)
		}
	}
}

// TestAnswer_ComesInPieces: a long answer is made as its peer takes it, from memory or the
// database; what it would have to read, or to keep, is bounded.
func TestAnswer_ComesInPieces(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		unsent := front.NewOutputBudget(0, 0)
		s := newSite(t, form, func(o *Options, _ *kv.Listen) { o.Unsent = unsent })
		c, other := s.dial(), s.dial()
		one := c.do("get big:1")
		value := strings.TrimSuffix(one, "END\r\n")
		if len(value) < 100_000 {
			t.Fatalf("one value: %d bytes", len(value))
		}
		size := int64(3000*len(value) + len("END\r\n"))
		for range 2 {
			if err := c.nc.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
				t.Fatal(err)
			}
			c.raw("get" + strings.Repeat(" big:1", 3000) + "\r\nmn\r\n") // 300 MB
			if _, err := c.r.Peek(1); err != nil {
				t.Fatal(err)
			}
			other.want("mn", "MN\r\n")
			if got := unsent.Stats().Bytes; got > 4<<20 {
				t.Errorf("%d bytes wait for one peer", got)
			}
			_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
			if n, err := io.CopyN(io.Discard, c.r, size); err != nil {
				t.Fatalf("%v, behind %d bytes of %d", err, n, size)
			}
			if line, err := c.r.ReadString('\n'); err != nil || line != "MN\r\n" {
				t.Fatalf("%q, %v behind the answer", line, err)
			}
		}
		c.want("get"+strings.Repeat(" x", 10_001), "SERVER_ERROR too many keys\r\n")
		eventually(t, "nothing waits", func() bool { return unsent.Stats().Bytes == 0 })
	})
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

// TestStep_HitAllocatesNothing: from the bytes of the command to those of the reply.
func TestStep_HitAllocatesNothing(t *testing.T) {
	s := newSite(t)
	res, _ := s.Set.Lookup("depts")
	eventually(t, "the row is in memory", func() bool {
		_ = res.Load(context.Background(), []row.Key{"10"}, resource.Options{})
		kept, _ := res.Kept("10")
		return kept
	})
	c := s.dial()
	c.do("set kv:item 5 0 3\r\nabc\r\nset notes:1 0 0 1\r\nx")
	eventually(t, "item and column are in memory", func() bool {
		hits := s.f.Stats().Hits
		c.do("get kv:item notes:1")
		return s.f.Stats().Hits >= hits+2
	})
	for _, text := range []string{"get kv:item", "mg kv:item v t f c", "gets notes:1", "get depts:10", "gets depts:10",
		"get depts:000000000010", "get nothing:1", "get depts:10 depts:10 x", "mg depts:10 v t c k O1", "mg x q",
		"mn"} {
		const burst = 100
		in, out := []byte(strings.Repeat(text+"\r\n", burst)), make([]byte, 0, 128<<10)
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
		f.Add([]byte(k.command + "\r\n"))
	}
	f.Add([]byte("set a 0 0 3\r\nabc\r\nstats\r\nstats settings\r\nversion\r\nquit\r\n"))
	f.Add([]byte("ms depts:10 3 T0\r\nabc\r\nmd depts:10 q\r\nma depts:10\r\ncas a 0 0 1 5\r\nx\r\n"))
	f.Add([]byte("set a 0 0 2000000\r\nabcdefg"))
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
		c.do("get depts:10")
	}
	const burst = 100
	in, out := []byte(strings.Repeat("get depts:10\r\n", burst)), make([]byte, 0, 128<<10)
	st := newStepper(s.f)
	for b.Loop() {
		st.conn.Scope().(*scope).BeginTurn(time.Now())
		if used, _, _ := s.f.Step(st.conn, in, out[:0]); used != len(in) {
			b.Fatal(used)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/burst, "ns/hit")
}
