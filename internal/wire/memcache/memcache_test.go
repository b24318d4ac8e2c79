package memcache

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/waittest"
)

var limits = Limits{Line: 64 << 10, Value: 100}

// A parsed is a Command as a test can compare it.
type parsed struct {
	Op                      string
	Keys, Data, Fault, Mode string
	Flags                   uint32
	Exptime                 int64
	Unique, Delta, Initial  uint64
	Noreply                 bool
	Swallow                 int
}

func of(c *Command) parsed {
	p := parsed{Op: c.Op.String(), Data: string(c.Data), Fault: c.Fault, Flags: c.Flags,
		Exptime: c.Exptime, Unique: c.Unique, Delta: c.Delta, Initial: c.Initial,
		Noreply: c.Noreply, Swallow: c.Swallow, Keys: string(bytes.Join(c.Keys, []byte("|")))}
	if c.Mode != 0 {
		p.Mode = string(c.Mode)
	}
	return p
}

// long is a key that is one byte too long.
var long = strings.Repeat("k", 251)

var commands = []struct {
	in   string
	want parsed
}{
	{"get a\r\n", parsed{Op: "get", Keys: "a"}},
	{"  get  a   b \n", parsed{Op: "get", Keys: "a|b"}},
	{"get\r\n", parsed{Op: "get", Fault: Error}},
	{"get a " + long + "\r\n", parsed{Op: "get", Keys: "a", Fault: BadLine}},
	{"gets a\r\n", parsed{Op: "gets", Keys: "a"}},
	{"gat 5 a b\r\n", parsed{Op: "gat", Keys: "a|b", Exptime: 5}},
	{"gats x a\r\n", parsed{Op: "gats", Fault: BadExptime}},
	{"touch a 0 noreply\r\n", parsed{Op: "touch", Keys: "a", Noreply: true}},
	{"touch a\r\n", parsed{Op: "touch", Fault: Error}},
	{"set a 7 -1 3\r\nabc\r\n", parsed{Op: "set", Keys: "a", Flags: 7, Exptime: -1, Data: "abc"}},
	{"add a 0 0 0\r\n\r\n", parsed{Op: "add", Keys: "a"}},
	{"replace a 0 0 4 noreply\r\n\r\n\r\n\r\n", parsed{Op: "replace", Keys: "a", Data: "\r\n\r\n", Noreply: true}},
	{"append a 0 0 1\r\nx\r\n", parsed{Op: "append", Keys: "a", Data: "x"}},
	{"prepend a 0 0 1\r\nx\r\n", parsed{Op: "prepend", Keys: "a", Data: "x"}},
	{"cas a 0 0 1 18446744073709551615\r\nx\r\n", parsed{Op: "cas", Keys: "a", Unique: 1<<64 - 1, Data: "x"}},
	{"cas a 0 0 1\r\n", parsed{Op: "cas", Fault: Error}},
	{"set a 0 0 3\r\nabcde", parsed{Op: "set", Keys: "a", Data: "abc", Fault: BadData}},
	{"set a 0 0 101\r\n", parsed{Op: "set", Keys: "a", Fault: TooLarge, Swallow: 103}},
	{"set a 0 0 101 noreply\r\n", parsed{Op: "set", Keys: "a", Fault: TooLarge, Swallow: 103, Noreply: true}},
	{"set a 0 0 -1\r\n", parsed{Op: "set", Keys: "a", Fault: BadLine}},
	{"set a -1 0 1\r\n", parsed{Op: "set", Keys: "a", Fault: BadLine}},
	{"set a 0 0 99999999999\r\n", parsed{Op: "set", Keys: "a", Fault: BadLine}},
	{"set " + long + " 0 0 1\r\n", parsed{Op: "set", Fault: BadLine}},
	{"set a 0 0 1 noreply x\r\n", parsed{Op: "set", Fault: Error}},
	{"incr a 5\r\n", parsed{Op: "incr", Keys: "a", Delta: 5}},
	{"decr a x\r\n", parsed{Op: "decr", Keys: "a", Fault: "CLIENT_ERROR invalid numeric delta argument"}},
	{"delete a\r\n", parsed{Op: "delete", Keys: "a"}},
	{"delete a 0 noreply\r\n", parsed{Op: "delete", Keys: "a", Noreply: true}},
	{"delete a 5\r\n", parsed{Op: "delete", Fault: BadLine + ".  Usage: delete <key> [noreply]"}},
	{"flush_all\r\n", parsed{Op: "flush_all"}},
	{"flush_all 5 noreply\r\n", parsed{Op: "flush_all", Exptime: 5, Noreply: true}},
	{"verbosity 1\r\n", parsed{Op: "verbosity"}},
	{"verbosity\r\n", parsed{Op: "verbosity", Fault: Error}},
	{"quit\r\n", parsed{Op: "quit"}},
	{"get_all\r\n", parsed{Op: "unknown", Fault: Error}},
	{"\r\n", parsed{Op: "unknown", Fault: Error}},
	{"mn\r\n", parsed{Op: "mn"}},
	{"me\r\n", parsed{Op: "me", Fault: BadLine}},
	{"me a b\r\n", parsed{Op: "me", Keys: "a", Fault: BadLine}}, {"me YQ== q b\r\n", parsed{Op: "me", Keys: "YQ=="}},
	{"me YQ== b q\r\n", parsed{Op: "me", Keys: "a"}}, {"me YQ== bq\r\n", parsed{Op: "me", Keys: "YQ=="}},
	{"mg a v O1 q k\r\n", parsed{Op: "mg", Keys: "a", Noreply: true}},
	{"mg YQ== b v\r\n", parsed{Op: "mg", Keys: "a"}},
	{"mg Y!Q b v\r\n", parsed{Op: "mg", Keys: "Y!Q", Fault: "CLIENT_ERROR error decoding key"}},
	{"mg a v v\r\n", parsed{Op: "mg", Keys: "a", Fault: Double}},
	{"mg a !\r\n", parsed{Op: "mg", Keys: "a", Fault: BadFlag}},
	{"mg a C17 N30 R30 T0\r\n", parsed{Op: "mg", Keys: "a", Unique: 17}},
	{"mg a" + strings.Repeat(" v", 22) + "\r\n", parsed{Op: "mg", Fault: TooMany}},
	{"mg a O" + strings.Repeat("x", 32) + "\r\n",
		parsed{Op: "mg", Keys: "a", Fault: "CLIENT_ERROR opaque token too long"}},
	{"mg\r\n", parsed{Op: "mg", Fault: Error}},
	{"ms a 3 F5 T9 Ms C4\r\nabc\r\n",
		parsed{Op: "ms", Keys: "a", Flags: 5, Exptime: 9, Mode: "S", Unique: 4, Data: "abc"}},
	{"ms a 3 MX\r\nabc\r\n",
		parsed{Op: "ms", Keys: "a", Fault: "CLIENT_ERROR invalid mode for ms M token", Swallow: 5}},
	{"ms a S3\r\n", parsed{Op: "ms", Keys: "a", Fault: BadLine}},
	{"ms a\r\n", parsed{Op: "ms", Keys: "a", Fault: BadLine}},
	{"md a q C3\r\n", parsed{Op: "md", Keys: "a", Noreply: true, Unique: 3}},
	{"md a v\r\n", parsed{Op: "md", Keys: "a", Fault: BadOrDouble}},
	{"ma a M- D3 J7 N0\r\n", parsed{Op: "ma", Keys: "a", Mode: "D", Delta: 3, Initial: 7}},
	{"ma a Dx\r\n", parsed{Op: "ma", Keys: "a", Fault: BadOrDouble}},
}

func TestNext_ReadsCommands(t *testing.T) {
	for _, tt := range commands {
		var c Command
		n, _, err := Next([]byte(tt.in), &c, &limits)
		if err != nil || n == 0 || n > len(tt.in) {
			t.Errorf("%q: %d bytes, %v", tt.in, n, err)
			continue
		}
		if diff := cmp.Diff(tt.want, of(&c)); diff != "" {
			t.Errorf("%q:\n%s", tt.in, diff)
		}
		if diff := cmp.Diff(of(&c), of(c.Clone())); diff != "" {
			t.Errorf("the clone of %q:\n%s", tt.in, diff)
		}
	}
}

// TestNext_CutAtEveryByte gives what has come of a command byte by byte: it is whole at its
// last byte, and what is wanted is never more than there will be.
func TestNext_CutAtEveryByte(t *testing.T) {
	for _, tt := range commands {
		var whole Command
		n, _, err := Next([]byte(tt.in), &whole, &limits)
		if err != nil {
			t.Fatal(err)
		}
		want := of(&whole)
		var c Command
		for i := range n {
			used, least, err := Next([]byte(tt.in[:i]), &c, &limits)
			if err != nil || used != 0 || least <= i || least > n {
				t.Fatalf("%q cut at %d: %d bytes, wants %d, %v", tt.in, i, used, least, err)
			}
		}
		if used, _, err := Next([]byte(tt.in[:n]), &c, &limits); used != n || err != nil {
			t.Fatalf("%q alone: %d bytes, %v", tt.in, used, err)
		}
		if diff := cmp.Diff(want, of(&c)); diff != "" {
			t.Errorf("%q alone:\n%s", tt.in, diff)
		}
	}
}

func TestNext_EndsWithWhatIsNotTheProtocol(t *testing.T) {
	for in, want := range map[string]error{
		"\x80\x00\x00\x05":                            ErrBinary,
		"\x16\x03\x01\x00\x05":                        ErrTLS,
		"GET / HTTP/1.1\r\n":                          ErrHTTP,
		"POST /a HTTP/1.1\r\n":                        ErrHTTP,
		"Host: a\r\n":                                 ErrHTTP,
		strings.Repeat("x", 2049):                     ErrLine,
		"get " + strings.Repeat("x", 64<<10):          ErrLine,
		"get " + strings.Repeat("x", 64<<10) + "\r\n": ErrLine,
	} {
		var c Command
		if n, _, err := Next([]byte(in), &c, &limits); n != 0 || err != want {
			t.Errorf("%.30q: %d bytes, %v, want %v", in, n, err, want)
		}
	}
	var c Command
	long := "gets " + strings.Repeat("abc ", 5000)
	if n, want, err := Next([]byte(long), &c, &limits); n != 0 || want != len(long)+1 || err != nil {
		t.Errorf("a long get: %d bytes, wants %d, %v", n, want, err)
	}
	if n, _, err := Next([]byte(long+"\n"), &c, &limits); n == 0 || len(c.Keys) != 5000 || err != nil {
		t.Errorf("a long get: %d bytes, %d keys, %v", n, len(c.Keys), err)
	}
}

func TestNext_AllocatesNothing(t *testing.T) {
	var c Command
	for _, in := range []string{"get depts:10 depts:20 depts:30\r\n", "mg depts:10 v t O1\r\n",
		"set depts:10 0 0 3\r\nabc\r\n"} {
		in := []byte(in)
		if n := testing.AllocsPerRun(100, func() { _, _, _ = Next(in, &c, &limits) }); n != 0 {
			t.Errorf("%q: %v allocations", in, n)
		}
	}
}

// TestNext_TimeGrowsWithTheInput holds what a peer can make the parser do.
func TestNext_TimeGrowsWithTheInput(t *testing.T) {
	in := []byte("get " + strings.Repeat(" a", 30<<10) + "\r\n")
	var c Command
	begin := time.Now()
	for range 10 {
		if n, _, err := Next(in, &c, &limits); n != len(in) || err != nil {
			t.Fatal(n, err)
		}
	}
	if took := time.Since(begin); waittest.Late(took, 2*time.Second) {
		t.Errorf("ten took %v", took)
	}
}

func TestAppend_Replies(t *testing.T) {
	it := Item{Key: []byte("a"), Value: []byte("xyz"), Flags: 5, Unique: 9, TTL: -1, Stale: true}
	var c Command
	_, _, _ = Next([]byte("mg YQ== b s f c t h l k O7 v\r\n"), &c, &limits)
	for _, tt := range [][2]string{
		{string(AppendValue(nil, &it, false)), "VALUE a 5 3\r\nxyz\r\n"},
		{string(AppendValue(nil, &it, true)), "VALUE a 5 3 9\r\nxyz\r\n"},
		{string(AppendMeta(nil, &c, &it, true)), "VA 3 s3 f5 c9 t-1 h1 l0 kYQ== O7 b X\r\nxyz\r\n"},
		{string(AppendMeta(nil, &c, &it, false)), "HD s3 f5 c9 t-1 h1 l0 kYQ== O7 b X\r\n"},
		{string(AppendCode(nil, &c, "EN")), "EN kYQ== O7 b\r\n"},
		{string(AppendStat(nil, "pid", "1")), "STAT pid 1\r\n"},
	} {
		if tt[0] != tt[1] {
			t.Errorf("%q, want %q", tt[0], tt[1])
		}
	}
}

func FuzzNext(f *testing.F) {
	for _, tt := range commands {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var c, k Command
		kept := bytes.Clone(in)
		for len(in) > 0 {
			n, want, err := Next(in, &c, &limits)
			if n > len(in) || n == 0 && err == nil && want <= len(in) {
				t.Fatalf("%q: %d bytes, wants %d", in, n, want)
			}
			if n == 0 {
				break
			}
			for _, key := range c.Keys {
				if len(key) > maxKey {
					t.Fatalf("a key of %d bytes", len(key))
				}
			}
			// The same bytes alone are the same command.
			m, _, err := Next(in[:n], &k, &limits)
			if m != n || err != nil || fmt.Sprint(of(&k)) != fmt.Sprint(of(&c)) {
				t.Fatalf("%q alone: %d bytes, %v, %+v", in[:n], m, err, of(&k))
			}
			if c.Op.Meta() && c.Fault == "" {
				AppendMeta(nil, &c, &Item{}, true)
			}
			in = in[n:]
		}
		if !bytes.Equal(kept[len(kept)-len(in):], in) {
			t.Fatal("the input was written to")
		}
	})
}
