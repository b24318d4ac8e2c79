package httpfront

import (
	"bytes"
	stdgzip "compress/gzip"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/row"
)

// offered is the order of the default configuration.
var offered = []row.Coding{row.Zstd, row.Gzip}

// picked is what a header lets be sent: the codings better than none in their
// order, and all that may be sent.
type picked struct{ list, taken string }

func picks(a accepted) picked {
	var p picked
	for _, c := range a.list[:a.n] {
		p.list += c.String() + " "
	}
	for c := range row.Coding(row.NumCodings) {
		if a.takes(c) {
			p.taken += c.String() + " "
		}
	}
	return p
}

func TestParseAccepted(t *testing.T) {
	const plain, all = "identity ", "identity gzip zstd "
	tests := []struct{ header, list, taken string }{
		{"gzip, deflate, br, zstd", "zstd gzip ", all}, // Chromium
		{"gzip, deflate, br", "gzip ", "identity gzip "},
		{"deflate, gzip, br, zstd", "zstd gzip ", all}, // curl --compressed
		{"gzip", "gzip ", "identity gzip "},            // Go
		{"identity", "", plain},                        // wget
		{"", "", plain},
		{" , ,", "", plain},
		{"br", "", plain},
		{"GZIP", "gzip ", "identity gzip "},
		{"x-gzip", "gzip ", "identity gzip "},
		{"*", "zstd gzip ", all},
		{"*;q=0", "", ""},
		{"identity;q=0", "", ""},
		{"gzip, identity;q=0", "gzip ", "gzip "},
		{"gzip, *;q=0", "gzip ", "gzip "},
		{"*;q=0.5, gzip;q=0", "zstd ", "identity zstd "},
		{"gzip;q=0", "", plain},
		{"gzip;q=0.000", "", plain},
		{"zstd;q=0.9, gzip", "gzip zstd ", all},
		{"zstd;q=0.5, gzip;q=0.5", "zstd gzip ", all},
		{"gzip;q=0.5, identity", "", "identity gzip "},
		{"gzip;q=0.5, identity;q=0.5", "gzip ", "identity gzip "},
		{"gzip;q=0.001", "gzip ", "identity gzip "},
		{"gzip;q=2", "", plain},
		{"gzip;q=x, zstd", "zstd ", "identity zstd "},
		{"gzip;q=0, gzip", "", plain},
		{"gzip ; q=0.5 , zstd;q=0.6", "zstd gzip ", all},
		{"gzip;level=9;q=0", "", plain},
		{"*;q=0, identity", "", plain},
		{"*;q=0.3, identity;q=0.2", "zstd gzip ", all},
	}
	for _, tt := range tests {
		want := picked{tt.list, tt.taken}
		if got := picks(parseAccepted(tt.header, offered)); got != want {
			t.Errorf("%q: %+v, want %+v", tt.header, got, want)
		}
		if got := parseAccepted(tt.header, nil); got.n != 0 || got.takes(row.Gzip) {
			t.Errorf("%q with nothing offered: %+v", tt.header, got)
		}
	}
	if got := picks(parseAccepted("zstd, gzip", []row.Coding{row.Gzip, row.Zstd})); got.list !=
		"gzip zstd " {
		t.Errorf("the configured order does not count: %+v", got)
	}
}

var weight = regexp.MustCompile(`^(0(\.\d{0,3})?|1(\.0{0,3})?)$`)

// slowly is parseAccepted for the offers zstd and gzip, written again from
// RFC 9110 12.5.3 without a thought of speed.
func slowly(header string) picked {
	q := map[string]float64{}
	for _, element := range strings.Split(header, ",") {
		parts := strings.Split(element, ";")
		name, value, ok := strings.ToLower(strings.TrimSpace(parts[0])), 1.0, true
		for _, p := range parts[1:] {
			pair := strings.SplitN(strings.TrimSpace(p), "=", 2)
			if !strings.EqualFold(pair[0], "q") {
				continue
			}
			ok = ok && len(pair) == 2 && weight.MatchString(pair[1])
			if ok {
				value, _ = strconv.ParseFloat(pair[1], 64)
			}
		}
		if name == "x-gzip" {
			name = "gzip"
		}
		if _, twice := q[name]; ok && !twice {
			q[name] = value
		}
	}
	of := func(name string) (float64, bool) {
		if v, ok := q[name]; ok {
			return v, true
		}
		v, ok := q["*"]
		return v, ok
	}
	var p picked
	none, said := of("identity")
	if none > 0 || !said {
		p.taken = "identity "
	}
	var list []string
	for _, name := range []string{"gzip", "zstd"} {
		if v, _ := of(name); v > 0 {
			p.taken += name + " "
			if v >= none {
				list = append([]string{name + " "}, list...) // zstd first
			}
		}
	}
	slices.SortStableFunc(list, func(a, b string) int {
		x, _ := of(strings.TrimSpace(a))
		y, _ := of(strings.TrimSpace(b))
		return int(1000*y) - int(1000*x)
	})
	p.list = strings.Join(list, "")
	return p
}

func FuzzParseAccepted(f *testing.F) {
	for _, seed := range []string{"", "gzip, deflate, br, zstd", "*;q=0, identity;q=0.5",
		"GZIP;Q=1.000,zstd;q=0.999", "gzip;q=;zstd", "x-gzip;q=0.1,gzip;q=0.2,*", " , ;q=1,*;q",
		"gzip;q=0.5;q=x, zstd;a=b", "identity;q=1.001\t, zstd\t;\tq=0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if got, want := picks(parseAccepted(header, offered)), slowly(header); got != want {
			t.Errorf("%q: %+v, want %+v", header, got, want)
		}
	})
}

func TestAccepted_Held(t *testing.T) {
	doc := row.NewDocument("", row.FormatJSON, []byte("{}"), 1, row.Stamp{})
	plain := doc.ETag()
	tag := func(c string) string { return plain[:len(plain)-1] + "+" + c + `"` }
	rep := row.NewCopy(doc, row.Gzip, nil)
	tests := []struct {
		header string
		tags   []string
		want   string
	}{
		{"gzip", nil, ""},
		{"gzip", []string{"*"}, tag("gzip")},
		{"gzip", []string{tag("gzip")}, tag("gzip")},
		{"gzip", []string{`"x"`, "W/" + tag("gzip")}, tag("gzip")},
		{"gzip", []string{plain}, plain},
		{"gzip", []string{tag("zstd")}, ""},
		{"gzip", []string{tag("zstd"), plain}, plain},
		{"gzip, *;q=0", []string{plain}, ""},
		{"", []string{tag("gzip")}, ""},
		{"", []string{"W/" + plain}, plain},
		{"zstd", []string{strings.Replace(tag("zstd"), "-j", "-m", 1)}, ""},
	}
	for _, tt := range tests {
		a := parseAccepted(tt.header, offered)
		list := []byte(strings.Join(tt.tags, ", "))
		if got, ok := a.held(list, doc, rep, true); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q holds %q: %q, %v; want %q", tt.header, tt.tags, got, ok, tt.want)
		}
	}
	if _, ok := plainOnly.held([]byte("W/"+plain), doc, doc, false); ok {
		t.Error("a weak tag holds where only strong ones count")
	}
}

func TestCompression_OffersEachCodingOnce(t *testing.T) {
	got := compression([]row.Coding{row.Gzip, row.Identity, row.Zstd, row.Gzip, 99})
	if !cmp.Equal(got, []row.Coding{row.Gzip, row.Zstd}) {
		t.Errorf("compression = %v", got)
	}
}

// compressed are the options of a site that compresses.
func compressed(o *Options) { o.Compression = offered }

// fatten makes a department large, of one letter, so that every answer tells
// which state it is of.
func (s *site) fatten(letter string) {
	s.t.Helper()
	err := s.src.Exec(s.t.Context(),
		"UPDATE dept SET loc = '"+strings.Repeat(letter, 3000)+"' WHERE deptno = 10")
	if err != nil {
		s.t.Fatal(err)
	}
}

// plain returns the body as decoders that are not ours read it, and checks that
// the answer says how long it is.
func (s *site) plain(a reply) string {
	s.t.Helper()
	if n := a.Header.Get("Content-Length"); n != strconv.Itoa(len(a.body)) && a.StatusCode == 200 {
		s.t.Errorf("Content-Length %q of %d bytes", n, len(a.body))
	}
	var r io.Reader = strings.NewReader(a.body)
	var err error
	switch c := a.Header.Get("Content-Encoding"); c {
	case "":
		return a.body
	case "gzip":
		r, err = stdgzip.NewReader(r)
	case "zstd":
		var z *zstd.Decoder
		z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		defer z.Close()
		r = z
	default:
		s.t.Fatalf("Content-Encoding %q", c)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// coded reads path until it comes in a coding.
func (s *site) coded(path, coding string, headers ...string) reply {
	s.t.Helper()
	var a reply
	eventually(s.t, path+" in "+coding, func() bool {
		a = s.do("GET", path, "", append(headers, "Accept-Encoding: "+coding)...)
		s.want(a, 200, "")
		return a.Header.Get("Content-Encoding") == coding
	})
	return a
}

func TestCompression_OfADocument(t *testing.T) {
	s := newServer(t, compressed)
	s.fatten("x")
	for _, format := range []string{"application/json", "application/vnd.msgpack"} {
		accept := "Accept: " + format
		want := s.do("GET", "/depts/10", "", accept, "Accept-Encoding: identity")
		tag := want.Header.Get("ETag")
		for _, coding := range []string{"gzip", "zstd"} {
			a := s.coded("/depts/10", coding, accept)
			if s.plain(a) != want.body || len(a.body) > len(want.body)/2 {
				t.Errorf("%s, %s: %d bytes for %d", format, coding, len(a.body), len(want.body))
			}
			codedTag := tag[:len(tag)-1] + "+" + coding + `"`
			if got := a.Header; got.Get("ETag") != codedTag || got.Get("Content-Type") != format ||
				got.Get("Vary") != "Accept, Accept-Encoding" ||
				got.Get("Cache-Status") != "hotrow; hit; detail=mem" {
				t.Errorf("%s, %s: %v", format, coding, got)
			}
			head := s.do("HEAD", "/depts/10", "", accept, "Accept-Encoding: "+coding)
			for _, name := range []string{"Content-Length", "Content-Encoding", "ETag", "Vary"} {
				if got, want := head.Header.Get(name), a.Header.Get(name); got != want {
					t.Errorf("HEAD in %s: %s is %q, of GET %q", coding, name, got, want)
				}
			}
		}
		for _, header := range []string{"identity", "br", "gzip;q=0, zstd;q=0"} {
			a := s.do("GET", "/depts/10", "", accept, "Accept-Encoding: "+header)
			if a.Header.Get("Content-Encoding") != "" || a.body != want.body ||
				a.Header.Get("ETag") != tag || a.Header.Get("Vary") != "Accept, Accept-Encoding" {
				t.Errorf("%q: %v", header, a.Header)
			}
		}
	}
}

// A client that says nothing of codings but lets its library do it gets what it
// asked for.
func TestCompression_OfGoClients(t *testing.T) {
	s := newServer(t, compressed)
	s.fatten("x")
	s.coded("/depts/10", "gzip")
	a := s.do("GET", "/depts/10", "") // net/http adds Accept-Encoding and decodes
	if !a.Uncompressed || !strings.Contains(a.body, "xxxx") || len(a.body) < 3000 {
		t.Errorf("uncompressed %v: %d bytes, %v", a.Uncompressed, len(a.body), a.Header)
	}
}

func TestCompression_SmallDocumentsStayPlain(t *testing.T) {
	s := newServer(t, compressed)
	for range 5 {
		a := s.hot("/depts/20", "Accept-Encoding: gzip")
		if a.Header.Get("Content-Encoding") != "" || s.h.live.Load().Resources.Stats().Copies.Made != 0 {
			t.Errorf("a small document: %v", a.Header)
		}
	}
}

func TestCompression_Conditions(t *testing.T) {
	s := newServer(t, compressed)
	s.fatten("x")
	gz := s.coded("/depts/10", "gzip").Header.Get("ETag")
	plain := s.do("GET", "/depts/10", "", "Accept-Encoding: identity").Header.Get("ETag")
	zs := strings.Replace(gz, "gzip", "zstd", 1)
	tests := []struct {
		takes, held string
		code        int
		tag         string
	}{
		{"gzip", gz, 304, gz},
		{"gzip", plain, 304, plain}, // as good, and here already
		{"gzip", "W/" + gz, 304, gz},
		{"gzip", `"x", ` + gz, 304, gz},
		{"gzip", "*", 304, gz},
		{"gzip", zs, 200, gz},
		{"gzip", `"x"`, 200, gz},
		{"identity", gz, 200, plain},
		{"identity", plain, 304, plain},
		{"identity", "*", 304, plain},
		{"gzip, identity;q=0", plain, 200, gz},
		{"zstd, gzip", zs, 304, zs}, // the copy that it holds need not be here
	}
	for _, tt := range tests {
		a := s.do("GET", "/depts/10", "", "Accept-Encoding: "+tt.takes, "If-None-Match: "+tt.held)
		if a.StatusCode != tt.code || a.Header.Get("ETag") != tt.tag || tt.code == 304 && a.body != "" ||
			a.Header.Get("Vary") != "Accept, Accept-Encoding" {
			t.Errorf("%s, holds %s: %d %v, want %d %s", tt.takes, tt.held, a.StatusCode, a.Header,
				tt.code, tt.tag)
		}
	}
	a := s.do("GET", "/depts/10", "", "Accept-Encoding: gzip", "If-Match: "+gz)
	s.want(a, 200, "")
	s.want(s.do("GET", "/depts/10", "", "Accept-Encoding: identity", "If-Match: "+gz), 412,
		"precondition-failed")
	const change = `{"loc":"NEW YORK"}`
	s.want(s.do("PATCH", "/depts/10", change, `If-Match: "old-j+gzip"`), 412, "precondition-failed")
	s.want(s.do("PATCH", "/depts/10", change, "If-Match: "+gz), 200, "")
}

// A change takes the compressed copies away too: what is answered after a write
// has the write, in every coding.
func TestCompression_FollowsChanges(t *testing.T) {
	s := newServer(t, compressed)
	for i := range 12 {
		letter := string(rune('a' + i))
		body := `{"loc":"` + strings.Repeat(letter, 3000) + `"}`
		s.want(s.do("PATCH", "/depts/10", body), 200, "")
		for j := range 6 {
			a := s.do("GET", "/depts/10", "", "Accept-Encoding: "+[]string{"gzip", "zstd"}[j%2])
			if got := s.plain(a); !strings.Contains(got, letter+letter) {
				t.Fatalf("change %d, read %d, %q: %.60s", i, j, a.Header.Get("Content-Encoding"), got)
			}
		}
		s.plain(s.coded("/depts/10", "gzip"))
	}
}

// What only some may read is never compressed.
func TestCompression_NotOfProtectedResources(t *testing.T) {
	s := newServer(t, compressed)
	set := s.h.live.Load().Resources
	specs := siteResources()
	for i := range specs {
		if specs[i].Table.Name == "depts" {
			specs[i].Access.Read = "role:reader"
		}
	}
	if err := set.Reload(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the feed is fresh", func() bool { return set.Ready() == nil })
	s.fatten("x")
	secret, token := newToken(t, "r", "reader")
	s.tokens.Set([]front.Token{token})
	auth := "Authorization: Bearer " + secret
	for _, path := range []string{"/depts/10", "/depts/10", "/depts/10", "/depts"} {
		a := s.do("GET", path, "", auth, "Accept-Encoding: gzip, zstd")
		if a.StatusCode != 200 || a.Header.Get("Content-Encoding") != "" || len(a.body) < 3000 {
			t.Errorf("%s: %d %v", path, a.StatusCode, a.Header)
		}
		a = s.do("GET", path, "", auth, "Accept-Encoding: gzip, identity;q=0")
		s.want(a, 406, "not-acceptable")
	}
	if n := set.Stats().Copies; n.Made+n.Late != 0 {
		t.Errorf("copies were made: %+v", n)
	}
	s.coded("/log/10", "gzip") // the same rows, for everybody
}

func TestCompression_OfLists(t *testing.T) {
	s := newServer(t, compressed)
	s.fatten("x")
	for _, path := range []string{"/depts", "/depts?deptNumber=in.(10,20)", "/depts?format=msgpack"} {
		want := s.do("GET", path, "", "Accept-Encoding: identity")
		s.want(want, 200, "")
		for _, coding := range []string{"gzip", "zstd"} {
			var a, head reply
			eventually(t, path+" comes in "+coding, func() bool { // a copy is made meanwhile
				a = s.do("GET", path, "", "Accept-Encoding: "+coding)
				head = s.do("HEAD", path, "", "Accept-Encoding: "+coding)
				return a.Header.Get("Content-Encoding") == coding &&
					head.Header.Get("Content-Encoding") == coding
			})
			if s.plain(a) != want.body ||
				a.Header.Get("Vary") != "Accept, Accept-Encoding" {
				t.Errorf("%s in %s: %v", path, coding, a.Header)
			}
			if got := head.Header.Get("Content-Length"); got != strconv.Itoa(len(a.body)) {
				t.Errorf("HEAD %s in %s: %v", path, coding, head.Header)
			}
		}
		a := s.do("GET", path, "", "Accept-Encoding: gzip", "Cache-Control: no-transform")
		if a.Header.Get("Content-Encoding") != "" || a.body != want.body {
			t.Errorf("%s with no-transform: %v", path, a.Header)
		}
	}
	a := s.do("GET", "/cities", "", "Accept-Encoding: gzip")
	if a.Header.Get("Content-Encoding") != "" || a.body[0] != '[' {
		t.Errorf("a small list: %v", a.Header)
	}
}

// Who refuses a plain answer gets a compressed one even if none is kept, or 406.
func TestCompression_IdentityRefused(t *testing.T) {
	s := newServer(t, compressed)
	for _, path := range []string{"/depts/20", "/depts/20", "/cities"} { // a miss, a hit, a list
		a := s.do("GET", path, "", "Accept-Encoding: gzip, identity;q=0")
		if a.Header.Get("Content-Encoding") != "gzip" || !bytes.ContainsAny([]byte(s.plain(a)), "{") {
			t.Errorf("%s: %v", path, a.Header)
		}
		for _, header := range []string{"*;q=0", "identity;q=0", "br, *;q=0"} {
			s.want(s.do("GET", path, "", "Accept-Encoding: "+header), 406, "not-acceptable")
		}
	}
}

func TestCompression_Off(t *testing.T) {
	s := newServer(t)
	s.fatten("x")
	for _, header := range []string{"gzip, zstd", "identity;q=0"} {
		for _, path := range []string{"/depts/10", "/depts/10", "/depts"} {
			a := s.do("GET", path, "", "Accept-Encoding: "+header)
			if a.StatusCode != 200 || a.Header.Get("Content-Encoding") != "" ||
				a.Header.Get("Vary") != "Accept" {
				t.Errorf("%s, %q: %d %v", path, header, a.StatusCode, a.Header)
			}
		}
	}
	if n := s.h.live.Load().Resources.Stats().Copies; n.Made+n.Dropped+n.Late != 0 {
		t.Errorf("copies were made: %+v", n)
	}
}

// Every answer that a document gives says what it varies with, errors included.
func TestCompression_VaryOfErrors(t *testing.T) {
	s := newServer(t, compressed)
	a := s.do("GET", "/depts/99", "", "Accept-Encoding: gzip")
	if a.StatusCode != http.StatusNotFound || a.Header.Get("Vary") != "Accept, Accept-Encoding" ||
		a.Header.Get("Content-Encoding") != "" {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
}
