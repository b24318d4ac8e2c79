package linksfront

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/links/clicklog"
)

var home = netip.MustParseAddr("127.0.0.1").As16()

func TestRecord_EveryRedirectIsInTheLog(t *testing.T) {
	for _, road := range roads {
		t.Run(road.name, func(t *testing.T) {
			b := newBed(t, databases()[0], nil)
			b.serve(road.goroutines)
			do := func(method, path string, headers ...string) {
				b.do(method, path, append(headers, road.header...)...)
			}
			do("GET", "/plain", "User-Agent: Firefox", "Referer: https://news.example/")
			do("HEAD", "/plain")
			do("GET", "/plain", "Sec-Purpose: prefetch;prerender", "user-agent: x")
			do("GET", "/plain", "X-Purpose: preview")
			do("GET", "/plain", "Purpose: prefetch")
			do("GET", "/plain", "Sec-GPC: 1", "User-Agent: Firefox")
			do("GET", "/plain", "DNT: 1")
			do("GET", "/path/deep/er")
			do("GET", "/nothing")
			do("GET", "/over")
			do("POST", "/plain")
			do("GET", "/+")
			want := []click{
				{Link: 2, IP: home, Agent: "Firefox", Referrer: "https://news.example/"},
				{Link: 2, IP: home, Flags: clicklog.FlagHead},
				{Link: 2, IP: home, Flags: clicklog.FlagPrefetch, Agent: "x"},
				{Link: 2, IP: home, Flags: clicklog.FlagPrefetch},
				{Link: 2, IP: home, Flags: clicklog.FlagPrefetch},
				{Link: 2, Flags: clicklog.FlagPrivate, Agent: "Firefox"},
				{Link: 2, Flags: clicklog.FlagPrivate},
				{Link: 5, IP: home, Path: "deep/er"},
				{Link: 0, IP: home, Path: "/nothing"},
			}
			got := b.clicks()
			// Loads, net/http and each loop have logs of their own.
			if diff := cmp.Diff(counted1(want), counted1(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if s := b.front.Stats(); s.Recorded != uint64(len(want)) || s.Redirected != 8 ||
				s.Missed != 1 || s.Gone != 1 || s.Other != 1 {
				t.Errorf("statistics: %+v", s)
			}
		})
	}
}

// counted1 counts equal clicks.
func counted1(list []click) map[click]int {
	n := make(map[click]int)
	for _, c := range list {
		n[c]++
	}
	return n
}

func TestRecord_WhoseRequestItIs(t *testing.T) {
	trusted := func(s *Settings) {
		s.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"),
			netip.MustParsePrefix("10.0.0.0/8")}
	}
	for _, c := range []struct {
		change  func(*Settings)
		forward []string
		want    string
	}{
		{nil, []string{"1.2.3.4"}, "127.0.0.1"},
		{trusted, nil, "127.0.0.1"},
		{trusted, []string{"evil, 1.2.3.4"}, "1.2.3.4"},
		{trusted, []string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4"},
		{trusted, []string{"6.6.6.6, 1.2.3.4, 10.1.2.3 "}, "1.2.3.4"},
		{trusted, []string{"1.2.3.4, evil, 10.1.2.3"}, "10.1.2.3"},
		{trusted, []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		{trusted, []string{"2001:db8::1%eth0"}, "2001:db8::1"},
		{trusted, []string{"6.6.6.6", "1.2.3.4"}, "1.2.3.4"},
		{trusted, []string{""}, "127.0.0.1"},
	} {
		b := newBed(t, databases()[0], c.change)
		b.serve(false)
		var headers []string
		for _, f := range c.forward {
			headers = append(headers, "X-Forwarded-For: "+f)
		}
		for range 2 {
			b.do("GET", "/plain", headers...)
		}
		b.do("GET", "/plain", append(headers, "Connection: keep-alive, x")...)
		for _, one := range b.clicks() {
			if got := netip.AddrFrom16(one.IP).Unmap().String(); got != c.want {
				t.Errorf("%q: recorded %s, want %s", c.forward, got, c.want)
			}
		}
	}
}

// The seed's address did not fit its column, and the hit was lost.
func TestRecord_LongTextsAreCut(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.serve(false)
	a := b.do("GET", "/plain", "User-Agent: "+strings.Repeat("u", 5000)+"\xff\xfe",
		"Referer: javascript:alert(1)"+strings.Repeat("r", 5000))
	if a.StatusCode != 302 {
		t.Fatal(a.Status)
	}
	got := b.clicks()
	if len(got) != 1 || len(got[0].Agent) != clicklog.MaxAgent ||
		len(got[0].Referrer) != clicklog.MaxReferrer {
		t.Errorf("recorded %d", len(got))
	}
}

func TestLimit_IsExact(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.serve(false)
	for path, most := range map[string]int64{"/once": 1, "/five": 5} {
		var moved, gone atomic.Int64
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				switch a := b.do("GET", path); a.StatusCode {
				case 302:
					moved.Add(1)
				case 410:
					gone.Add(1)
				}
			})
		}
		all.Wait()
		if moved.Load() != most || gone.Load() != 200-most {
			t.Errorf("%s: %d redirects and %d times 410 of 200, want %d", path, moved.Load(),
				gone.Load(), most)
		}
	}
	if got := len(b.clicks()); got != 6 {
		t.Errorf("%d recorded, want 6", got)
	}
	if n := b.asked.Load(); n != 2 {
		t.Errorf("counted %d times, want once for each link", n)
	}
}

// A limit is what is left of it, after a restart too, and HEAD takes nothing.
func TestLimit_BeginsWithWhatWasTaken(t *testing.T) {
	b := newBed(t, databases()[0], nil)
	b.serve(false)
	b.taken.Store(3)
	for i, want := range []struct {
		method string
		code   int
	}{{"HEAD", 302}, {"GET", 302}, {"HEAD", 302}, {"GET", 302}, {"HEAD", 410}, {"GET", 410}} {
		if a := b.do(want.method, "/five"); a.StatusCode != want.code {
			t.Errorf("request %d: %s = %s, want %d", i, want.method, a.Status, want.code)
		}
	}
}

// A limit is for people: bots, and browsers that ask ahead, spend nothing of it, and
// once it is spent they are told so like everybody.
func TestLimit_IsSpentByPeopleOnly(t *testing.T) {
	for _, goroutines := range []bool{false, true} {
		b := newBed(t, databases()[0], nil)
		b.front.Bot = func(agent []byte) bool { return string(agent) != "Firefox" }
		b.taken.Store(4) // of five
		b.serve(goroutines)
		const bot, person, ahead = "User-Agent: Slackbot", "User-Agent: Firefox", "Sec-Purpose: prefetch"
		for i, want := range []struct {
			header []string
			code   int
		}{{[]string{bot}, 302}, {nil, 302}, {[]string{person, ahead}, 302}, {[]string{bot}, 302},
			{[]string{person}, 302}, {[]string{person}, 410}, {[]string{bot}, 410}} {
			if a := b.do("GET", "/five", want.header...); a.StatusCode != want.code {
				t.Errorf("request %d, %v: %s, want %d", i, want.header, a.Status, want.code)
			}
		}
	}
}

func TestMiss_IsLimited(t *testing.T) {
	b := newBed(t, databases()[0], func(s *Settings) { s.MissRate = 5 })
	b.serve(false)
	limited := 0
	for i := range 20 {
		a := b.do("GET", fmt.Sprintf("/no-%d", i))
		if a.StatusCode == 429 && a.Header.Get("Retry-After") != "" {
			limited++
		}
	}
	if limited < 10 { // a new minute may have begun
		t.Errorf("%d of 20 misses limited, want 15", limited)
	}
	if a := b.do("GET", "/plain"); a.StatusCode != 302 {
		t.Errorf("a hit = %s: hits have no limit", a.Status)
	}
}

func TestOrphans_AreBounded(t *testing.T) {
	o, now := newOrphans(), time.Now()
	named := 0
	for i := range 3 * front.OrphanPaths {
		if string(o.name(fmt.Appendf(nil, "/%d", i), now)) != otherOrphans {
			named++
		}
	}
	if named != front.OrphanPaths || string(o.name([]byte("/7"), now)) != "/7" {
		t.Errorf("%d recorded by name, want %d", named, front.OrphanPaths)
	}
	if got := string(o.name([]byte("/new"), now.Add(48*time.Hour))); got != "/new" {
		t.Errorf("the next day: %s", got)
	}
}

// A stepper is the event loop without a socket.
type stepper struct {
	l    *Protocol
	s    *scope
	conn *eventloop.Conn
}

func newStepper(b *bed) *stepper {
	s := &stepper{l: &Protocol{b.front}, s: b.front.newScope().(*scope)}
	s.conn = eventloop.NewTestConn(s.s)
	s.l.Open(s.conn, nil)
	s.s.BeginTurn(time.Now())
	return s
}

// The head that a browser sends.
const browser = "GET /asdf HTTP/1.1\r\nHost: localhost:9999\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
	"Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Referer: https://news.example.com/item?id=1\r\nConnection: keep-alive\r\n" +
	"Upgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n" +
	"Sec-Fetch-Site: cross-site\r\nSec-GPC: 0\r\nPriority: u=0, i\r\n\r\n"

// wrkGet is what wrk sends.
const wrkGet = "GET /asdf HTTP/1.1\r\nHost: localhost:9999\r\n\r\n"

// warm makes memory hold a document.
func (b *bed) warm(paths ...string) {
	b.t.Helper()
	b.serve(false)
	for _, path := range paths {
		b.do("GET", path)
	}
}

func TestLoop_HitAllocatesNothing(t *testing.T) {
	b := newBed(t, databases()[0], func(s *Settings) {
		s.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	b.warm("/asdf", "/path", "/five", "/query")
	for _, in := range []string{wrkGet, browser, strings.Replace(browser, "/asdf", "/PaTh/x?y=1", 1),
		strings.Replace(browser, "/asdf", "/query?x=1&z=2", 1), strings.Replace(wrkGet, "/asdf", "/five", 1),
		strings.Replace(wrkGet, "\r\n\r\n", "\r\nX-Forwarded-For: 1.2.3.4, 2001:db8::1\r\n\r\n", 1)} {
		s, bytes, out := newStepper(b), []byte(in), make([]byte, 0, 64<<10)
		n := testing.AllocsPerRun(1000, func() {
			used, answer, _ := s.l.Step(s.conn, bytes, out)
			if used != len(bytes) || len(answer) < 100 {
				t.Fatalf("%q: %d bytes used, %q", in, used, answer)
			}
		})
		if n != 0 {
			t.Errorf("%.40q: %v allocations, want none", in, n)
		}
	}
}

// BenchmarkLane_Hit is a redirect from bytes to bytes: with the log, and what it
// costs without.
func BenchmarkLane_Hit(b *testing.B) {
	for name, in := range map[string]string{"wrk": wrkGet, "browser": browser} {
		for _, recorded := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/recorded=%v", name, recorded), func(b *testing.B) {
				d := newBed(b, databases()[0], nil)
				d.warm("/asdf")
				s, bytes, out := newStepper(d), []byte(in), make([]byte, 0, 64<<10)
				d.forget()
				if !recorded {
					d.front.log = nil
				}
				b.ReportAllocs()
				for b.Loop() {
					s.l.Step(s.conn, bytes, out)
				}
			})
		}
	}
}

// BenchmarkRecord is what recording a hit costs by itself: reading who it is
// from the head, and the append.
func BenchmarkRecord(b *testing.B) {
	for name, in := range map[string]string{"wrk": wrkGet, "browser": browser} {
		b.Run(name, func(b *testing.B) {
			d := newBed(b, databases()[0], nil)
			d.warm("/asdf")
			s, bytes := newStepper(d), []byte(in)
			s.l.Step(s.conn, bytes, nil)
			d.forget()
			b.ReportAllocs()
			for b.Loop() {
				s.s.x.fields.scan(bytes)
				s.s.x.append()
			}
			if n := d.front.Stats().Dropped; n > 0 {
				b.Errorf("%d records found no room: not what is to be measured", n)
			}
		})
	}
}
