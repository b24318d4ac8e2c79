package httpfront

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// keptForms are filtered lists in every form in which they can be asked for: the query,
// and header lines.
var keptForms = []struct{ query, headers string }{
	{"dname=neq.x", ""},
	{"dname=eq.nobody", ""},
	{"dname=in.()", ""},
	{"deptNumber=gte.20&order=loc.desc.nullslast&limit=2", ""},
	{"select=n:deptNumber,dname&order=dname&limit=2", ""},
	{"or=(dname.like.S*,loc.is.null)&select=*", ""},
	{"dname=neq.x&offset=1&limit=1", ""},
	{"dname=neq.x&limit=2", "Prefer: count=exact\r\n"},
	{"limit=2", "Prefer: count=exact\r\n"},
	{"dname=neq.x&limit=3", "Prefer: COUNT = exact , wait=1\r\n"},
	{"loc=eq.DALLAS", "Prefer: count=exact\r\n"},
	{"offset=4", "Prefer: count=exact\r\n"},
	{"", "Range: 1-2\r\n"},
	{"dname=neq.x", "Range: 1-2\r\nPrefer: count=exact\r\n"},
	{"dname=neq.x&limit=2", "Range: bytes=0-5\r\n"},
	{"dname=eq.SALES", "Accept: application/vnd.pgrst.object+json\r\n"},
	{"dname=eq.SALES", "Accept: application/vnd.pgrst.object+json\r\nPrefer: count=exact\r\n"},
	{"deptNumber=eq.10", "Accept: application/vnd.pgrst.object+json\r\n"},
	{"dname=neq.x&limit=2", "Accept: application/vnd.pgrst.array+json\r\n"},
	{"dname=neq.x&limit=2", "Accept: application/vnd.msgpack\r\n"},
	{"dname=neq.x&limit=2", "Accept: application/x-msgpack\r\n"},
	{"dname=neq.x&limit=2", "Accept: application/cbor\r\nPrefer: count=exact\r\n"},
	{"limit=0", ""},
}

// What memory answers is byte by byte what the database has answered, where it is from
// apart; and one form never answers another.
func TestSelect_MemoryAnswersAsTheDatabase(t *testing.T) {
	s := newLoopSite(t)
	ask := func(method, query, headers string) (reply, uint64) {
		before := s.handedOver()
		a := s.answers(method+" /depts?"+query+" HTTP/1.1\r\nHost: localhost\r\n"+headers+"\r\n",
			method)[0]
		return a, s.handedOver() - before
	}
	cursor := s.do("GET", "/depts?dname=neq.x&order=loc&limit=1", "").Header.Get("Link")
	_, cursor, _ = strings.Cut(strings.TrimSuffix(cursor, `>; rel="next"`), "?")
	forms := append(keptForms[:len(keptForms):len(keptForms)],
		struct{ query, headers string }{cursor, ""})
	fromDatabase := make(map[string]reply)
	for range 2 { // the second time memory has all of them
		for _, f := range forms {
			for _, method := range []string{"GET", "HEAD"} {
				name := fmt.Sprintf("%s %s %q", method, f.query, f.headers)
				read, _ := ask(method, f.query, f.headers+"Cache-Control: no-cache\r\n")
				if strings.Contains(read.Header.Get("Cache-Status"), "hit") {
					t.Fatalf("%s: no-cache is %s", name, read.Header.Get("Cache-Status"))
				}
				var kept reply
				eventually(t, name+" is answered by memory on the loop", func() bool {
					var left uint64
					kept, left = ask(method, f.query, f.headers)
					return kept.Header.Get("Cache-Status") == "hotrow; hit; detail=mem" && left == 0
				})
				if ours, theirs := kept.without("Cache-Status"), read.without("Cache-Status"); ours != theirs {
					t.Errorf("%s:\nmemory   %s\ndatabase %s", name, ours, theirs)
				}
				if read.Header.Get("Etag") == "" || kept.Header.Get("Hotrow-Position") == "" {
					t.Errorf("%s: %v", name, kept.Header)
				}
				first, again := fromDatabase[name]
				if fromDatabase[name] = kept; again &&
					first.without("Cache-Status") != kept.without("Cache-Status") {
					t.Errorf("%s:\nfirst  %s\nsecond %s", name, first.without(), kept.without())
				}
				same, left := ask(method, f.query, f.headers+"If-None-Match: "+kept.Header.Get("Etag")+"\r\n")
				if same.StatusCode != http.StatusNotModified || left != 0 || same.body != "" {
					t.Errorf("%s: with its entity tag %d, left the loop %d times", name, same.StatusCode, left)
				}
			}
		}
	}
}

// Lists that are one to a cache on the way, its Vary apart, are told apart by their tags.
func TestSelect_EntityTagsDiffer(t *testing.T) {
	s := newServer(t)
	tags := make(map[string]string)
	for _, headers := range [][]string{nil, {"Accept: application/vnd.pgrst.object+json"},
		{"Prefer: count=exact"}, {"Accept: application/cbor"}} {
		a := s.do("GET", "/depts?dname=eq.SALES", "", headers...)
		s.want(a, 200, "")
		tag := a.Header.Get("Etag")
		if other, ok := tags[tag]; ok || tag == "" {
			t.Errorf("%v has the entity tag of %s: %s", headers, other, tag)
		}
		tags[tag] = fmt.Sprint(headers)
	}
}

// A filtered list follows writes that bring rows in, change them, take them out.
func TestSelect_FollowsChanges(t *testing.T) {
	s := newServer(t)
	const path = "/depts?loc=eq.OSLO&order=dname&select=deptNumber,dname"
	want := func(body string) {
		t.Helper()
		if a := s.do("GET", path, ""); a.body != body {
			t.Errorf("%s, want %s (%s)", a.body, body, a.Header.Get("Cache-Status"))
		}
	}
	s.keepList(path)
	want("[]")
	s.want(s.do("PATCH", "/depts/20", `{"loc":"OSLO"}`), 200, "")
	want(`[{"deptNumber":20,"dname":"RESEARCH"}]`)
	s.keepList(path)
	s.want(s.do("PATCH", "/depts/20", `{"dname":"R"}`), 200, "")
	want(`[{"deptNumber":20,"dname":"R"}]`)
	s.keepList(path)
	if err := s.src.Exec(t.Context(), "UPDATE dept SET loc = 'OSLO' WHERE deptno = 10"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the list follows another writer", func() bool {
		return strings.Contains(s.do("GET", path, "").body, "ACCOUNTING")
	})
	s.keepList(path)
	s.want(s.do("DELETE", "/depts/20", ""), 204, "")
	want(`[{"deptNumber":10,"dname":"ACCOUNTING"}]`)
}

// What cannot be answered is not kept, and follows changes too.
func TestSelect_ProblemsAreNotKept(t *testing.T) {
	s := newServer(t, func(o *Options) { o.MaxList = 120 })
	const object = "Accept: application/vnd.pgrst.object+json"
	for range 4 {
		s.want(s.do("GET", "/depts?loc=eq.OSLO", "", object), 406, "not-singular")
		s.want(s.do("GET", "/depts?dname=neq.x&offset=5", "", "Prefer: count=exact"), 416,
			"range-not-satisfiable")
		s.want(s.do("GET", "/depts?dname=neq.x", ""), 413, "too-large")
	}
	s.want(s.do("PATCH", "/depts/20", `{"loc":"OSLO"}`), 200, "")
	s.want(s.do("GET", "/depts?loc=eq.OSLO", "", object), 200, "")
	s.hot("/depts?loc=eq.OSLO", object)
	s.want(s.do("PATCH", "/depts/20", `{"loc":"ROME"}`), 200, "")
	s.want(s.do("GET", "/depts?loc=eq.OSLO", "", object), 406, "not-singular")
}

// Estimates come from the database each time.
func TestSelect_EstimatesAreNotKept(t *testing.T) {
	s := newServer(t)
	for _, count := range []string{"planned", "estimated"} {
		for range 4 {
			a := s.do("GET", "/depts?dname=neq.x&limit=1", "", "Prefer: count="+count)
			if a.Header.Get("Cache-Status") != "hotrow; fwd=bypass" || a.StatusCode != 206 {
				t.Errorf("%s: %d %s", count, a.StatusCode, a.Header.Get("Cache-Status"))
			}
		}
	}
}

// Who may not read gets no filtered list, kept or not.
func TestSelect_KeptListsAreNotForEverybody(t *testing.T) {
	s := newProtectedSite(t)
	const path = "/pay?sal=gt.1"
	eventually(t, "memory has it", func() bool {
		a := s.ask(path, bearerLine(s.reader))
		return a.StatusCode == 200 && strings.Contains(a.Header.Get("Cache-Status"), "hit")
	})
	for range 2 {
		a := s.ask(path, bearerLine(s.reader))
		if a.StatusCode != 200 || a.Header.Get("Cache-Control") != privateControl {
			t.Errorf("%d %v", a.StatusCode, a.Header)
		}
		s.wantCode(401, path, "")
		s.wantCode(403, path, bearerLine(s.editor))
	}
}

// Kept lists are compressed as documents are, from a copy.
func TestSelect_KeptListsAreCompressed(t *testing.T) {
	s := newServer(t, func(o *Options) { o.Compression = []row.Coding{row.Gzip} })
	s.want(s.do("PATCH", "/depts/20", `{"loc":"`+strings.Repeat("OSLO ", 400)+`"}`), 200, "")
	plain := s.hot("/depts?deptNumber=eq.20&order=loc")
	var coded reply
	eventually(t, "a compressed copy comes from memory", func() bool {
		coded = s.do("GET", "/depts?deptNumber=eq.20&order=loc", "", "Accept-Encoding: gzip")
		return coded.Header.Get("Content-Encoding") == "gzip" &&
			strings.Contains(coded.Header.Get("Cache-Status"), "hit")
	})
	if len(coded.body) >= len(plain.body) || coded.Header.Get("Etag") == plain.Header.Get("Etag") {
		t.Errorf("%d bytes, %d without; tag %s", len(coded.body), len(plain.body),
			coded.Header.Get("Etag"))
	}
}

// Answers from memory are counted by their status.
func TestSelect_KeptListsAreCounted(t *testing.T) {
	s := newLoopSite(t)
	count := func(code int) (n uint64) {
		for _, st := range s.h.Stats() {
			if st.Resource == "depts" {
				n = st.Codes[code]
			}
		}
		return n
	}
	const path = "/depts?dname=neq.x&limit=1"
	tag := s.hot(path).Header.Get("Etag")
	s.hot(path, "Prefer: count=exact")
	// net/http, which answers while the feed is late, counts behind its answers.
	eventually(t, "five of each are counted", func() bool {
		ok, part, same := count(200), count(206), count(304)
		for range 5 {
			s.do("GET", path, "")
			s.do("GET", path, "", "Prefer: count=exact")
			s.do("GET", path, "", "If-None-Match: "+tag)
		}
		return count(200)-ok == 5 && count(206)-part == 5 && count(304)-same == 5
	})
}

// A filtered list from memory allocates nothing on the loop, whatever its headers say.
func TestSelect_HitAllocatesNothing(t *testing.T) {
	site := newServer(t)
	const path = "/depts?dname=neq.x&order=loc&limit=2"
	for _, headers := range []string{"", "Prefer: count=exact\r\n", "Range: 0-0\r\n",
		"Accept: application/cbor\r\n", "Accept: application/vnd.pgrst.object+json\r\nRange: 0-0\r\n"} {
		site.hot(path, strings.FieldsFunc(headers, func(r rune) bool { return r == '\r' || r == '\n' })...)
		s := newStepper(t, site.h)
		in := []byte("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n")
		n := s.allocs(t, in, func(got []byte) bool { return bytes.HasPrefix(got, []byte("HTTP/1.1 20")) })
		if n != 0 {
			t.Errorf("a filtered list with %q allocates %v times", headers, n)
		}
	}
}

// BenchmarkLoop_Select is a filtered list without sockets, beside the document that is its
// one row: what a list costs more.
func BenchmarkLoop_Select(b *testing.B) {
	set, _ := openSet(b)
	h := New(Options{Resources: set})
	for _, path := range []string{"/depts/10", "/depts?dname=eq.ACCOUNTING&order=loc.desc&limit=2"} {
		eventually(b, path+" comes from memory", func() bool {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
			return strings.Contains(w.Header().Get("Cache-Status"), "hit")
		})
		in := []byte("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
		b.Run(path, func(b *testing.B) {
			s := newStepper(b, h)
			s.bench(b, in, 16)
		})
	}
}
