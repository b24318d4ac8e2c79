package clicks

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/links/clicklog"
)

// A crawler is an entry of crawler-user-agents.
type crawler struct {
	Pattern   string
	Instances []string
}

func crawlerList(t testing.TB) []crawler {
	t.Helper()
	f, err := os.Open("testdata/crawlers.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var list []crawler
	if err := json.NewDecoder(z).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list
}

func mustBots(t testing.TB) *bots {
	t.Helper()
	b, err := newBots(crawlers)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBots_FindEveryExampleOfTheList(t *testing.T) {
	b, n := mustBots(t), 0
	var patterns []string
	for _, c := range crawlerList(t) {
		patterns = append(patterns, c.Pattern)
		for _, ua := range c.Instances {
			n++
			if !b.match(ua) {
				t.Errorf("%q, an example of %s, is taken for a human", ua, c.Pattern)
			}
		}
	}
	if n < 2000 {
		t.Errorf("only %d examples", n)
	}
	if diff := cmp.Diff(patterns, strings.Split(strings.TrimSpace(crawlers), "\n")); diff != "" {
		t.Errorf("crawlers.txt is not the list's patterns:\n%s", diff)
	}
}

// The look-up of literals says what the patterns themselves say.
func TestBots_AgreeWithThePatterns(t *testing.T) {
	b := mustBots(t)
	var all []*regexp.Regexp
	var texts []string
	for _, c := range crawlerList(t) {
		all = append(all, regexp.MustCompile(c.Pattern))
		texts = append(texts, c.Instances...)
	}
	texts = append(texts, lines(t, "browsers.txt.gz")...)
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		s := []byte(texts[r.IntN(len(texts))])
		if len(s) > 10 { // one changed byte, or a part of it
			s[r.IntN(len(s))] ^= 1 << r.IntN(6)
			s = s[r.IntN(len(s)/2):]
		}
		want := false
		for _, re := range all {
			want = want || re.Match(s)
		}
		if got := b.match(string(s)); got != want {
			t.Errorf("%q: a bot %v, the patterns say %v", s, got, want)
		}
	}
}

func TestBots_LetBrowsersBe(t *testing.T) {
	b, wrong := mustBots(t), 0
	agents := lines(t, "browsers.txt.gz")
	for _, ua := range agents {
		if b.match(ua) {
			wrong++
			t.Logf("taken for a bot: %s", ua)
		}
	}
	if wrong > len(agents)/200 {
		t.Errorf("%d of %d browsers are taken for bots", wrong, len(agents))
	}
}

func TestKind(t *testing.T) {
	d, err := newDictionary()
	if err != nil {
		t.Fatal(err)
	}
	chrome := "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) " +
		"Chrome/142.0.0.0 Safari/537.36"
	for _, test := range []struct {
		ua    string
		flags clicklog.Flags
		want  Kind
	}{
		{chrome, 0, Human}, {chrome, clicklog.FlagHead, Head}, {chrome, clicklog.FlagPrefetch, Prefetch},
		{"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", 0, Bot}, {"", 0, Bot}, {"curl/8.5.0", 0, Bot},
		{"Twitterbot/1.0", 0, Bot}, {"Twitterbot/1.0", clicklog.FlagHead, Head}, {"Wget/1.21", 0, Bot},
		{"python-requests/2.32", 0, Bot}, {"Mozilla/5.0", 0, Human}, {"\xff\xfe", 0, Human},
	} {
		if got := kindOf(test.flags, d.agent([]byte(test.ua), false).bot); got != test.want {
			t.Errorf("%q, flags %d: %v, want %v", test.ua, test.flags, got, test.want)
		}
	}
	a := d.agent([]byte(chrome), false)
	if a.browser != "Chrome" || a.os != "Windows" || a.device != "desktop" {
		t.Errorf("%+v", a)
	}
	if again := d.agent([]byte(chrome), false); again != a || d.parsings > 12 {
		t.Error("a user agent is parsed twice")
	}
}

func TestHostOf(t *testing.T) {
	for ref, want := range map[string]string{
		"":                                       Direct,
		"https://news.ycombinator.com/item?id=1": "news.ycombinator.com",
		"HTTP://User:pw@EXAMPLE.com:8080?q":      "example.com",
		"https://example.com.":                   "example.com",
		"https://[2001:db8::1]:443/x":            "[2001:db8::1]",
		"android-app://com.slack/":               "com.slack",
		"javascript:alert(1)":                    DimOther,
		`https://x/"><img src=x onerror=1>`:      "x",
		`https://"><img src=x>/`:                 DimOther,
		"https://":                               DimOther,
		"about:blank":                            DimOther,
		"https://" + strings.Repeat("a", 300):    DimOther,
	} {
		if got := hostOf(ref); got != want {
			t.Errorf("%q: %q, want %q", ref, got, want)
		}
	}
	for ref, want := range map[string]string{
		"https://u:p@mail.example/in/7?me": "https://mail.example/", "javascript:x": "", "": "",
	} {
		if got := originOf(ref); got != want {
			t.Errorf("the origin of %q: %q, want %q", ref, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "plain", "\xff\xfe", "a\x00b", "жж", "\u0085", "\xed\xa0\x80", "😀😀"} {
		f.Add([]byte(s), 5)
	}
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		n = max(0, min(n, 2000))
		got := clean(b, n)
		if len(got) > n || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\r\n\x7f") {
			t.Fatalf("%q within %d bytes: %q", b, n, got)
		}
		if host := hostOf(got); host == "" || !utf8.ValidString(host) || strings.ContainsAny(host, `"<>& `) {
			t.Fatalf("the host of %q is %q", got, host)
		}
		originOf(got)
	})
}

func TestCountries(t *testing.T) {
	dir := t.TempDir()
	four, six := filepath.Join(dir, "4.csv"), filepath.Join(dir, "6.csv")
	if err := os.WriteFile(four, []byte("# comment\n1.0.4.0,1.0.7.255,AU\n1.0.0.0,1.0.0.255,cn\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(six, []byte("2001:200::,2001:200:ffff:ffff:ffff:ffff:ffff:ffff,JP\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadCountries(four, six)
	if err != nil || c.Len() != 3 {
		t.Fatal(c.Len(), err)
	}
	for ip, want := range map[string]string{
		"1.0.0.0": "CN", "1.0.0.255": "CN", "1.0.1.0": "??", "1.0.5.9": "AU", "1.0.7.255": "AU", "1.0.8.0": "??",
		"0.255.255.255": "??", "2001:200::1": "JP", "2001:201::": "??", "::ffff:1.0.4.1": "AU", "255.255.255.255": "??",
	} {
		a, err := parseAddr(ip)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Find(a.As16()); got != want {
			t.Errorf("%s: %s, want %s", ip, got, want)
		}
	}
	var none *Countries
	if none.Find([16]byte{}) != Nowhere || none.Len() != 0 {
		t.Error("without a file an address has a country")
	}
	for _, bad := range []string{"x", "1.0.0.0,1.0.0.1", "1.0.0.9,1.0.0.1,DE", "1.0.0.0,1.0.0.1,D1", "1,2,DE"} {
		if err := os.WriteFile(four, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadCountries(four); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := LoadCountries(filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there is no error")
	}
}

func FuzzCountries(f *testing.F) {
	f.Add([]byte("1.0.0.0,1.0.0.255,CN\n"))
	f.Add([]byte("2001::,2002::,\"JP\"\n#\n\n"))
	f.Add([]byte("1.0.0.0,::,CN"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &Countries{}
		if err := c.read(bytes.NewReader(b)); err != nil {
			return
		}
		c.sort()
		for _, r := range c.ranges {
			if got := c.Find(r.first.As16()); len(got) != 2 {
				t.Fatalf("%v: %q", r.first, got)
			}
		}
	})
}

func TestSketch_Estimates(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := &sketch{}
	for n := 1; n <= 200_000; n++ {
		v := r.Uint64()
		s.add(v)
		s.add(v)
		switch n {
		case 1, 10, 500, 513, 2000, 10_000, 12_000, 50_000, 200_000:
			got := float64(s.estimate())
			if got < 0.94*float64(n) || got > 1.06*float64(n) || n <= 500 && got != float64(n) {
				t.Errorf("%d visitors are estimated as %v", n, got)
			}
			b := s.append(nil)
			if len(b) > packedRegisters+1 || n <= 500 && len(b) != 1+4*n {
				t.Errorf("%d visitors take %d bytes", n, len(b))
			}
			if Visitors(b) != s.estimate() {
				t.Errorf("%d visitors: %d after encoding", n, Visitors(b))
			}
		}
	}
}

func TestSketch_MergesToTheUnion(t *testing.T) {
	for _, n := range []int{5, 400, 3000} {
		for _, m := range []int{5, 400, 3000} {
			r := rand.New(rand.NewPCG(uint64(n), uint64(m)))
			a, b, both := &sketch{}, &sketch{}, &sketch{}
			for range n {
				v := r.Uint64()
				a.add(v)
				both.add(v)
			}
			for range m {
				v := r.Uint64()
				b.add(v)
				both.add(v)
			}
			a.merge(b)
			if a.estimate() != both.estimate() {
				t.Errorf("%d and %d: merged %d, together %d", n, m, a.estimate(), both.estimate())
			}
		}
	}
}

func FuzzSketch(f *testing.F) {
	s := &sketch{}
	f.Add(s.append(nil))
	s.add(1 << 63)
	s.add(1 << 40)
	f.Add(s.append(nil))
	for i := range uint64(600) {
		s.add(i * 0x9e3779b97f4a7c15)
	}
	f.Add(s.append(nil))
	f.Add([]byte{9})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseSketch(b)
		if err != nil {
			return
		}
		if got := s.append(nil); len(b) > 0 && !bytes.Equal(got, b) {
			t.Fatalf("%x became %x", b, got)
		}
		s.add(12345 << 32)
		s.estimate()
	})
}

func TestRecent_ForgetsTheOldest(t *testing.T) {
	r := newRecent[int, int](10)
	for i := range 100 {
		r.put(i, i)
		if v, ok := r.get(0); !ok || v != 0 {
			t.Fatalf("after %d: what is asked for is forgotten", i)
		}
	}
	if _, ok := r.get(50); ok {
		t.Error("nothing is forgotten")
	}
	if _, ok := r.get(98); !ok {
		t.Error("the last but one is forgotten")
	}
}

func BenchmarkBotMatch(b *testing.B) {
	bots := mustBots(b)
	ua := typicalAgent
	for b.Loop() {
		bots.match(ua)
	}
}

const typicalAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
	"Chrome/142.0.0.0 Safari/537.36"

// BenchmarkRead measures what one record costs until it is a click.
func BenchmarkRead(b *testing.B) {
	words, err := newDictionary()
	if err != nil {
		b.Fatal(err)
	}
	m := &meanings{words: words}
	m.salted([]byte("salt"))
	rec := visit(1, 1)
	var c click
	b.ReportAllocs()
	for b.Loop() {
		m.read(rec, &c)
	}
}
