package httpfront

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// configure changes the options of a running site.
func (s *site) configure(change func(*Options)) {
	o := s.h.live.Load().Options
	change(&o)
	s.h.Configure(o)
}

// What the loop answers in a coding, net/http answers too: the same
// representation under the same tag, and the same conditions hold.
func TestLoop_CodedAsNetHTTPDoes(t *testing.T) {
	s := newLoopSite(t)
	s.configure(compressed)
	s.fatten("x")
	gz := s.coded("/depts/10", "gzip").Header.Get("ETag")
	zs := s.coded("/depts/10", "zstd").Header.Get("ETag")
	plain := strings.Replace(gz, "+gzip", "", 1)
	var headers []string
	for _, takes := range []string{"gzip", "zstd", "gzip, deflate, br, zstd", "identity", "", "br",
		"gzip;q=0.5, zstd;q=0.4", "gzip, identity;q=0", "*", "*;q=0", "GZip;Q=1", "gzip;q=bad",
		"gzip;x=" + strings.Repeat("y", front.EncodingBytes)} {
		headers = append(headers, "Accept-Encoding: "+takes+"\r\n",
			"Accept-Encoding: "+takes+"\r\nAccept-Encoding: zstd;q=0\r\n")
		for _, tag := range []string{gz, zs, plain, `"x"`, "*", "W/" + gz} {
			headers = append(headers, "Accept-Encoding: "+takes+"\r\nIf-None-Match: "+tag+"\r\n")
		}
	}
	headers = append(headers, "", "If-None-Match: "+gz+"\r\n", "If-None-Match: "+plain+"\r\n")
	for _, h := range headers {
		for _, method := range []string{"GET", "HEAD"} {
			raw := method + " /depts/10 HTTP/1.1\r\nHost: localhost\r\n" + h
			fast, full, _ := s.both(raw, method)
			for _, a := range []reply{fast, full} {
				a.Header.Del("Date")
				a.Header.Del("Hotrow-Position")
				a.Header.Del("Server-Timing")
			}
			if f, w := fmt.Sprint(fast.Header, fast.Status, fast.body),
				fmt.Sprint(full.Header, full.Status, full.body); f != w {
				t.Errorf("%s %q:\nloop %s\nfull %s", method, h, f, w)
			}
		}
	}
}

// Compression that a reload turns off, or turns round, is so on open
// connections too.
func TestLoop_CompressionChanges(t *testing.T) {
	s := newLoopSite(t)
	s.fatten("x")
	get := func() string {
		return s.answers("GET /depts/10 HTTP/1.1\r\nHost: localhost\r\n"+
			"Accept-Encoding: gzip, zstd\r\n\r\n", "GET")[0].Header.Get("Content-Encoding")
	}
	for _, list := range [][]row.Coding{{row.Zstd, row.Gzip}, {row.Gzip, row.Zstd}, {row.Gzip},
		{row.Zstd}, {row.Gzip, row.Zstd}} {
		s.configure(func(o *Options) { o.Compression = list })
		eventually(t, fmt.Sprint(list), func() bool { return get() == list[0].String() })
	}
	s.configure(func(o *Options) { o.Compression = nil })
	eventually(t, "none", func() bool { return get() == "" })
	for range 10 {
		if got := get(); got != "" {
			t.Errorf("turned off: Content-Encoding %q", got)
		}
	}
}

// Many connections read in all codings while the row changes: each body is that
// of a state, whole, and in the end the last.
func TestLoop_CodedWhileTheRowChanges(t *testing.T) {
	s := newLoopSite(t)
	s.configure(compressed)
	s.fatten("a")
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for _, coding := range []string{"gzip", "zstd", "identity", "gzip, zstd"} {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				body := s.plain(s.do("GET", "/depts/10", "", "Accept-Encoding: "+coding))
				at := strings.Index(body, `"loc":"`)
				if at < 0 || strings.Count(body[at+7:], body[at+7:at+8]) < 3000 {
					t.Errorf("%s: %.80s", coding, body)
					return
				}
			}
		})
	}
	for i := range 50 {
		s.fatten(string(rune('A' + i%26)))
	}
	s.coded("/depts/10", "gzip")
	close(stop)
	readers.Wait()
	eventually(t, "the last state", func() bool {
		return strings.Contains(s.plain(s.coded("/depts/10", "zstd")), "XXX")
	})
}

func TestEncodings_AreBounded(t *testing.T) {
	var e encodings
	o := &settings{Options: Options{Compression: offered}}
	for i := range 1000 {
		for range 2 {
			a := e.of(o, fmt.Appendf(nil, "gzip;n=%d", i))
			if a.n != 1 || len(e.known) > front.Encodings {
				t.Fatalf("%d: %+v, %d known", i, a, len(e.known))
			}
		}
		if a := e.of(o, nil); a != plainOnly {
			t.Fatalf("the empty header takes %+v", a)
		}
	}
	long := []byte("gzip;x=" + strings.Repeat("y", front.EncodingBytes))
	if a := e.of(o, long); a.n != 1 || e.known[string(long)] != nil {
		t.Errorf("a long header takes %+v, or is remembered", a)
	}
	two := [][]byte{[]byte("gzip, deflate, br, zstd"), []byte("gzip")}
	n := testing.AllocsPerRun(100, func() {
		for _, header := range two {
			if a := e.of(o, header); a.n == 0 {
				t.Fatal("not read")
			}
		}
	})
	if n != 0 {
		t.Errorf("two headers in turn allocate %v times", n)
	}
	plain := &settings{}
	if a := e.of(plain, []byte("gzip;n=999")); a.n != 0 {
		t.Errorf("after a reload: %+v", a)
	}
}

// codedHandler serves depts/10 with 3 KiB, and with a copy in each of codings.
func codedHandler(tb testing.TB, codings []row.Coding) *Handler {
	tb.Helper()
	set, src := openSet(tb)
	err := src.Exec(tb.Context(), "UPDATE dept SET loc = '"+strings.Repeat("x", 3000)+
		"' WHERE deptno = 10")
	if err != nil {
		tb.Fatal(err)
	}
	r, _ := set.Lookup("depts")
	eventually(tb, "copies", func() bool {
		a, err := r.Get(tb.Context(), "10", resource.Options{})
		if err != nil {
			tb.Fatal(err)
		}
		made := a.Origin == resource.HitMemory
		for _, c := range codings {
			if a.Origin == resource.HitMemory {
				r.AskCopy("10", a.Doc, c)
			}
			made = made && a.Doc.Copy(c) != nil
		}
		return made
	})
	return New(Options{Resources: set, Compression: offered})
}

// codedHits are requests that memory answers, by what they say of codings.
var codedHits = []struct {
	name, headers, part string
	codings             []row.Coding
}{
	{"no header", "", "xxxx", nil},
	{"identity", "Accept-Encoding: identity\r\n", "xxxx", nil},
	{"none pays", "Accept-Encoding: br\r\n", "xxxx", nil},
	{"gzip", "Accept-Encoding: gzip\r\n", "+gzip\"", offered},
	{"browser", "Accept-Encoding: gzip, deflate, br, zstd\r\n", "+zstd\"", offered},
}

func codedRequest(headers string) []byte {
	return []byte("GET /depts/10 HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n")
}

func TestLoop_CodedHitAllocatesNothing(t *testing.T) {
	if os.Getenv("HOTROW_TEST_ROAD") != "" {
		return // there are no sockets here
	}
	for _, tt := range codedHits {
		s := newStepper(t, codedHandler(t, tt.codings))
		in := codedRequest(tt.headers)
		n := s.allocs(t, in, func(got []byte) bool { return bytes.Contains(got[:400], []byte(tt.part)) })
		if n != 0 {
			t.Errorf("%s: a hit allocates %v times", tt.name, n)
		}
	}
}

// BenchmarkLoop_Coded is BenchmarkLoop_Step for a document of 3 KB, by what the
// request says of codings.
func BenchmarkLoop_Coded(b *testing.B) {
	for _, tt := range codedHits {
		b.Run(strings.ReplaceAll(tt.name, " ", "-"), func(b *testing.B) {
			s := newStepper(b, codedHandler(b, tt.codings))
			in := codedRequest(tt.headers)
			s.bench(b, in, 16)
		})
	}
}
