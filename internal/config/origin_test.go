package config

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseOrigin(t *testing.T) {
	for in, want := range map[string]string{
		"*": "*", "https://app.example": "https://app.example", "HTTPS://App.Example:443": "https://app.example",
		"http://a:80": "http://a", "http://a:0080": "http://a", "http://a:8080": "http://a:8080",
		"https://a:80": "https://a:80", "http://a:443": "http://a:443",
		"http://localhost:3000": "http://localhost:3000",
		"http://127.0.0.1:8000": "http://127.0.0.1:8000", "http://[::1]": "http://[::1]",
		"http://[0:0:0:0:0:0:0:1]:80": "http://[::1]", "https://[2001:DB8::A]:8443": "https://[2001:db8::a]:8443",
		"http://[::ffff:1.2.3.4]": "http://[::ffff:102:304]", "https://a.example.": "https://a.example.",
		"https://xn--bcher-kva.example": "https://xn--bcher-kva.example", "http://my_host": "http://my_host",
		"capacitor://localhost": "capacitor://localhost", "capacitor://localhost:80": "capacitor://localhost:80",
		"chrome-extension://abcdefghijklmnop": "chrome-extension://abcdefghijklmnop",
	} {
		got, err := ParseOrigin(in)
		if string(got) != want || err != nil {
			t.Errorf("%q is %q, %v, want %q", in, got, err, want)
		}
	}
	for in, part := range map[string]string{
		"null": "names nobody", "NULL": "names nobody", "": "want scheme://host", "https://": "not the name of a host",
		"app.example": `did you mean "https://app.example"?`, "localhost:3000": `did you mean "http://localhost:3000"?`,
		"127.0.0.1": `did you mean "http://127.0.0.1"?`, "https://a/": `did you mean "https://a"?`,
		"https://a/b": "without user and path", "https://a?b": "without user and path",
		"https://a#b": "without user and path",
		"https://u@a": "without user and path", `https://a\b`: "without user and path",
		"https:/a": "want scheme://host",
		"https:a":  "want scheme://host", "//a": "want scheme://host", "1s://a": "want scheme://host",
		"https://*.example": "wildcards", "**": "wildcards", "https://a:*": "wildcards", "file:///x": "page of a file",
		"FILE://a": "page of a file", "https://a:": "want a port", "https://a:0": "want a port",
		"https://a:65536": "want a port", "https://a:+1": "want a port", "https://a:8a": "want a port",
		"http://[::1": "IPv6", "http://[]": "IPv6", "http://[::1]8": "nothing but a port", "http://[127.0.0.1]": "IPv6",
		"http://[fe80::1%25eth0]": "IPv6", "http://::1": "not the name of a host", "http://127.1": "not an address",
		"http://0x7f.0.0.0x1": "not an address", "http://1": "not an address", "http://010.0.0.1": "not an address",
		"http://a.1.": "not an address", "https://bücher.example": "ASCII", "https://a b": "not the name of a host",
		"https://a\r\nX: y":                          "not the name of a host",
		"https://" + strings.Repeat("a.", 130) + "a": "not the name of a host",
		"https://-a":                                 "not the name of a host",
		"https://a..b":                               "not the name of a host",
		" https://a":                                 "want scheme://host",
	} {
		if got, err := ParseOrigin(in); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is %q, %v, want an error with %q", in, got, err, part)
		}
	}
}

func TestLoad_Origins(t *testing.T) {
	c := mustLoad(t, "http: {cors: {origins: [\"HTTPS://a.example:443\", \"http://localhost:8000\"]}}\n")
	if d := cmp.Diff([]string{"https://a.example", "http://localhost:8000"}, c.HTTP.CORS.Names()); d != "" {
		t.Error(d)
	}
	if c = mustLoad(t, "http: {cors: {origins: \"*\"}}\n"); len(c.HTTP.CORS.Names()) != 1 {
		t.Errorf("%q", c.HTTP.CORS.Names())
	}
	if c = mustLoad(t, ""); len(c.HTTP.CORS.Names()) != 0 {
		t.Errorf("%q by default", c.HTTP.CORS.Names())
	}
	for in, want := range map[string]string{
		`["*", "https://a"]`:                 `http.cors.origins[0]: "*" stands alone`,
		`["https://a", "*"]`:                 `http.cors.origins[1]: "*" stands alone`,
		`["https://a", "HTTPS://A:443"]`:     `http.cors.origins[1]: "https://a" is there twice`,
		`["https://a", "null"]`:              `http.cors.origins[1]: null is what`,
		`["https://a", null]`:                `http.cors.origins[1]: has no value`,
		`["https://a/", "b", "https://*.c"]`: `http.cors.origins[2]: wildcards`,
	} {
		_, _, err := load("hotrow.yaml", "http: {cors: {origins: "+in+"}}\n", nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ":1:") {
			t.Errorf("%s: %v, want %q and its place", in, err, want)
		}
	}
	_, _, err := load("hotrow.yaml", "", []string{"HOTROW_HTTP_CORS_ORIGINS=https://a,https://b/c"})
	if err == nil || !strings.Contains(err.Error(), "HOTROW_HTTP_CORS_ORIGINS") ||
		!strings.Contains(err.Error(), `found "https://b/c"`) {
		t.Errorf("by the variable: %v", err)
	}
}

// TestLinksAccess_WithOrigins: a page that comes from elsewhere reads no table of links that
// was for this machine alone.
func TestLinksAccess_WithOrigins(t *testing.T) {
	for in, want := range map[string]string{
		"links: {}\n": "public", "links: {}\nhttp: {cors: {origins: \"*\"}}\n": "none",
		"links: {}\nhttp: {cors: {origins: [\"https://a\"]}}\n":     "none",
		"links: {access: public}\nhttp: {cors: {origins: \"*\"}}\n": "public",
	} {
		if got := mustLoad(t, in).LinksAccess(false); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// FuzzParseOrigin: what is taken is written in one way, has nothing that could end a header,
// and is an origin to net/url.
func FuzzParseOrigin(f *testing.F) {
	for _, s := range []string{"*", "null", "https://app.example", "HTTP://A:80", "http://[::1]:3000",
		"http://[::ffff:1.2.3.4]",
		"capacitor://localhost", "https://a/", "http://127.1", "a:1", "https://bücher.example", "http://a:\r\n",
		"x+y.z-1://a_b."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		o, err := ParseOrigin(in)
		if err != nil || o == anyOrigin {
			return
		}
		again, err := ParseOrigin(string(o))
		if err != nil || again != o {
			t.Fatalf("%q is %q, which is %q, %v", in, o, again, err)
		}
		u, err := url.Parse(string(o))
		if err != nil || u.Host == "" || u.User != nil || u.Path+u.RawQuery+u.Fragment != "" ||
			u.Scheme+"://"+u.Host != string(o) || strings.ToLower(string(o)) != string(o) {
			t.Fatalf("%q is %q, %+v, %v", in, o, u, err)
		}
		for _, b := range []byte(o) {
			if b <= ' ' || b >= 0x7f || b == ',' || b == '"' || b == '*' {
				t.Fatalf("%q is %q", in, o)
			}
		}
	})
}
