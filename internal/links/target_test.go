package links

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

// rules returns the rules of o at https://s.example.
func rules(t testing.TB, o Options) *Rules {
	t.Helper()
	if o.BaseURL == "" {
		o.BaseURL = "https://s.example"
	}
	r, err := NewRules(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refusedTargets are targets that cannot be stored, whatever is configured.
var refusedTargets = []string{
	"javascript:alert(1)", "JaVaScRiPt:alert(1)", "javascript://%0aalert(1)",
	"data:text/html,<script>alert(1)</script>", "vbscript:msgbox(1)", "file:///etc/passwd",
	"blob:https://a/b", "view-source:https://a/", "about:blank",
	" javascript:alert(1)", "java\tscript:alert(1)", "\x01javascript:alert(1)",
	"https://example.com/\x1f", "https://example.com/\x7f", " https://example.com/",
	"https://example.com/ ", "https://example.com/a b",
	"https://example.com/\r\nSet-Cookie: a=b", "https://example.com/\nX: y",
	"https://example.com/\x00", "https://example.com/\xff\xfe",
	"//evil.com/x", "/relative", "example.com", "https:/example.com", "https:example.com",
	"https://", "http://?x", "https://#", "https:///x", "https://:80/", "", "   ",
	"https://user:pw@example.com/", "https://paypal.com@evil.com/", "https://@example.com/",
	`https://example.com\@evil.com`, "https://exa mple.com/", "http://[::1", "http://f:999999/",
	"http://f:0/", "http://f:+80/", "http://f:8a/", "http://f:/", "http://%31%32%37.0.0.1/",
	"http://[::1%25eth0]/", "http://[127.0.0.1]/", "http://a..b/", "http://.a/", "http://a,b/",
	"http://exa\u00admple\u2028.com/", "https://example.com:80:90/", "1https://example.com/",
	"ftp://example.com/", "gopher://example.com/", "https://" + strings.Repeat("a", 64) + ".com/",
	"https://s.example/x", "HTTPS://S.EXAMPLE:443/x", "https://s.example./x", "http://s.example/x",
	"https://alias.example:8443/x", "https://\uff53.example/x",
}

func TestTarget_RefusesWhatLeadsAstray(t *testing.T) {
	r := rules(t, Options{Aliases: []string{"alias.example:8443"}})
	for _, raw := range refusedTargets {
		got, err := r.Target("url", raw)
		var field *FieldError
		if !errors.As(err, &field) || field.Field != "url" {
			t.Errorf("Target(%q) = %q, %v; want a FieldError", raw, got, err)
		}
		if own := strings.Contains(strings.ToLower(raw), "s.example") ||
			strings.Contains(raw, "alias") || strings.Contains(raw, "\uff53.example"); err != nil &&
			field.Loop != own {
			t.Errorf("Target(%q): loop %t, want %t: %v", raw, field.Loop, own, err)
		}
	}
}

func TestTarget_StoresTheBytesThatWereMeant(t *testing.T) {
	long := "https://example.com/" + strings.Repeat("a", maxTarget-20)
	tests := []struct{ raw, want string }{ // want "": as it is
		{"https://example.com/%0d%0aSet-Cookie:%20a=b", ""},
		{"https://example.com", ""}, {"https://example.com?x", ""}, {"https://example.com#f", ""},
		{"HTTPS://Example.COM:8443/Path?Q=1#F", "https://example.com:8443/Path?Q=1#F"},
		{"https://example.com./a", ""}, {"https://a_b.example.com/%zz{}|^", ""},
		{"https://example.com//a/../b/./%2e%2e/", ""},
		{"https://пример.рф/путь?q=ж",
			"https://xn--e1afmkfd.xn--p1ai/%D0%BF%D1%83%D1%82%D1%8C?q=%D0%B6"},
		{"https://аррӏе.com", "https://xn--80ak6aa92e.com"},
		{"https://bücher.example:81/", "https://xn--bcher-kva.example:81/"},
		{`https://example.com/"<a>` + "`", "https://example.com/%22%3Ca%3E%60"},
		{"http://127.0.0.1/", ""}, {"http://169.254.169.254/latest/meta-data/", ""},
		{"http://[::ffff:127.0.0.1]/", ""}, {"http://2130706433/", ""}, {"http://0x7f.1/", ""},
		{"https://s.example:8443/x", ""}, {"https://not-s.example/", ""},
		{long, ""}, {"https://example.com/" + strings.Repeat("b", 1016-20), ""},
	}
	r := rules(t, Options{})
	for _, test := range tests {
		if test.want == "" {
			test.want = test.raw
		}
		got, err := r.Target("url", test.raw)
		if err != nil || got != test.want {
			t.Errorf("Target(%.80q) = %.80q, %v; want %.80q", test.raw, got, err, test.want)
		}
	}
	for _, raw := range []string{long + "a", "https://example.com/" + strings.Repeat("ж", 4000)} {
		if got, err := r.Target("url", raw); err == nil {
			t.Errorf("a target of %d bytes was taken", len(got))
		}
	}
}

func TestTarget_DeniesPrivateNetworks(t *testing.T) {
	r := rules(t, Options{DenyPrivate: true})
	for _, host := range []string{
		"127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0x7f000001", "10.1.2.3",
		"192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "0.1.2.3", "[::1]",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[fe80::1]", "[fd00::1]", "[::]", "224.0.0.1",
		"localhost", "localhost.", "a.localhost", "db.internal", "printer.local", "router.lan",
	} {
		if got, err := r.Target("url", "http://"+host+"/"); err == nil {
			t.Errorf("%s was taken as %s", host, got)
		}
	}
	for _, host := range []string{
		"example.com", "8.8.8.8", "[2001:db8::1]", "134744072", "localhost.example.com", "1.2.3.4.5",
		"256.1.1.1", "08.8.8.8",
	} {
		if _, err := r.Target("url", "http://"+host+"/"); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestNewRules_RefusesWhatIsUnsafe(t *testing.T) {
	for _, o := range []Options{
		{Schemes: []string{"https", "JavaScript"}}, {Schemes: []string{"data"}},
		{Schemes: []string{"file"}}, {Schemes: []string{""}}, {Schemes: []string{"a b"}},
		{BaseURL: "s.example"}, {BaseURL: "ftp://s.example"}, {BaseURL: "https://s.example/path"},
		{BaseURL: "https://u@s.example"}, {BaseURL: "https://s.example/?x"},
		{Status: 200}, {Aliases: []string{"a b"}},
	} {
		if _, err := NewRules(o); err == nil {
			t.Errorf("NewRules(%+v) succeeded", o)
		}
	}
	r := rules(t, Options{Schemes: []string{"https", "magnet", "ftp"}})
	if _, err := r.Target("url", "ftp://example.com/"); err != nil {
		t.Errorf("a scheme that is allowed: %v", err)
	}
	if _, err := r.Target("url", "http://example.com/"); err == nil {
		t.Error("a scheme that is not configured was taken")
	}
}

func TestTarget_LoopOfALocalListener(t *testing.T) {
	r := rules(t, Options{BaseURL: "http://127.0.0.1:9999/"})
	for raw, loop := range map[string]bool{
		"http://127.0.0.1:9999/a": true, "http://localhost:9999/a": true, "http://[::1]:9999/a": true,
		"http://2130706433:9999/a": true, "http://127.0.0.1/": false, "http://127.0.0.1:8080/": false,
	} {
		_, err := r.Target("url", raw)
		if (err != nil) != loop {
			t.Errorf("%s: %v, want loop %t", raw, err, loop)
		}
	}
	if got := r.ShortURL("a"); got != "http://127.0.0.1:9999/a" {
		t.Errorf("short URL %q", got)
	}
}

func FuzzTarget(f *testing.F) {
	for _, raw := range refusedTargets {
		f.Add(raw)
	}
	for _, raw := range []string{"https://пример.рф/путь?q=ж", "http://[2001:db8::1]:80/?#",
		"https://a:1/\"", "http://0x7f.1/", "https://a@b/"} {
		f.Add(raw)
	}
	plain, err := NewRules(Options{BaseURL: "https://s.example"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := plain.Target("url", raw)
		if err != nil {
			return
		}
		for i := range len(got) {
			if c := got[i]; c <= ' ' || c >= 0x7f || c == '\\' || c == '"' || c == '<' || c == '>' {
				t.Fatalf("%q became %q, which cannot stand in a header", raw, got)
			}
		}
		if !strings.HasPrefix(got, "http://") && !strings.HasPrefix(got, "https://") {
			t.Fatalf("%q became %q", raw, got)
		}
		again, err := plain.Target("url", got)
		if err != nil || again != got {
			t.Fatalf("%q became %q, and that %q, %v", raw, got, again, err)
		}
		// Whoever else reads it must see the same host.
		u, err := url.Parse(got)
		if err != nil {
			return // net/url refuses bad escapes, which are sent as they are
		}
		if host := hostOf(got); !strings.EqualFold(u.Host, host) || u.User != nil {
			t.Fatalf("%q has host %q, net/url says %q", got, host, u.Host)
		}
	})
}

// hostOf returns the authority of an absolute URL.
func hostOf(s string) string {
	_, rest, _ := strings.Cut(s, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// What is refused is said in the words of who has typed it.
func TestTarget_SaysWhatIsWrong(t *testing.T) {
	r, err := NewRules(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"javascript:alert(1)":    "url: a link cannot lead to javascript:",
		"mailto:ana@example.com": "url: a link cannot lead to mailto:",
		"example.com/page":       "url: it has no scheme; write https:// in front",
		"example.com:8080/page":  "url: it has no scheme; write https:// in front",
		"https:example.com":      "url: it has no :// behind its scheme, as https://example.com has",
		"ftp://example.com/":     `url: its scheme is "ftp"; allowed are http, https`,
	} {
		if _, err := r.Target("url", target); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", target, err, want)
		}
	}
}

// A link says whether it leads anywhere now, and if not, why.
func TestLink_State(t *testing.T) {
	const now = 1000
	for _, c := range []struct {
		link Link
		want string
	}{
		{Link{Enabled: true}, StateOn},
		{Link{ExpiresAt: 1}, StateOff},
		{Link{Enabled: true, ExpiresAt: now}, StateExpired},
		{Link{Enabled: true, ExpiresAt: now + 1, StartsAt: now}, StateOn},
		{Link{Enabled: true, StartsAt: now + 1}, StateScheduled},
		{Link{Enabled: true, MaxClicks: 2, Clicks: 1, Bots: 9}, StateOn},
		{Link{Enabled: true, MaxClicks: 2, Clicks: 2}, StateUsed},
	} {
		if got := c.link.State(now); got != c.want {
			t.Errorf("%+v is %s, want %s", c.link, got, c.want)
		}
	}
}
