package httpfront

import (
	"net/http"
	"strings"
	"testing"
)

// keepList asks for a list until memory has it.
func (s *site) keepList(path string) reply {
	s.t.Helper()
	var got reply
	eventually(s.t, path+" comes from memory", func() bool {
		got = s.do("GET", path, "")
		return strings.Contains(got.Header.Get("Cache-Status"), "hit")
	})
	return got
}

// A list is kept at its second miss, has an entity tag, and follows every change of its
// table.
func TestLists_ComeFromMemory(t *testing.T) {
	s := newServer(t)
	first := s.do("GET", "/depts?limit=2", "")
	kept := s.keepList("/depts?limit=2")
	tag := kept.Header.Get("Etag")
	if kept.body != first.body || tag == "" || tag != first.Header.Get("Etag") ||
		kept.Header.Get("Link") != first.Header.Get("Link") || kept.Header.Get("Link") == "" ||
		kept.Header.Get("Content-Range") != "0-1/*" || kept.Header.Get("Hotrow-Position") == "" {
		t.Errorf("from memory %v %q, from the database %v %q", kept.Header, kept.body,
			first.Header, first.body)
	}
	same := s.do("GET", "/depts?limit=2", "", "If-None-Match: "+tag)
	if same.StatusCode != http.StatusNotModified || same.body != "" {
		t.Errorf("If-None-Match: %d %q", same.StatusCode, same.body)
	}
	packed := s.do("GET", "/depts?limit=2", "", "Accept: application/vnd.msgpack")
	if packed.body == kept.body {
		t.Error("MessagePack is JSON")
	}
	put := s.do("PUT", "/depts/10", `{"deptNumber":10,"dname":"CHANGED","loc":"X"}`,
		"Content-Type: application/json")
	if put.StatusCode != http.StatusOK {
		t.Fatalf("PUT: %d %s", put.StatusCode, put.body)
	}
	for range 3 {
		if after := s.do("GET", "/depts?limit=2", "", "If-None-Match: "+tag); after.StatusCode != 200 ||
			!strings.Contains(after.body, "CHANGED") {
			t.Errorf("after a write: %d %q", after.StatusCode, after.body)
		}
	}
	if err := s.src.Exec(t.Context(), "DELETE FROM dept WHERE deptno = 20"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the list follows another writer", func() bool {
		return !strings.Contains(s.do("GET", "/depts?limit=2", "").body, `"deptNumber":20`)
	})
}

// The spelling with a format is not found by a request that has an Accept header instead.
func TestLists_FormatInTheQueryIsAnotherSpelling(t *testing.T) {
	s := newServer(t)
	for range 3 {
		s.do("GET", "/depts?format=msgpack&limit=1", "")
	}
	long := s.do("GET", "/depts", "", "Accept: application/vnd.msgpack")
	short := s.do("GET", "/depts?format=msgpack&limit=1", "")
	if long.body == short.body {
		t.Error("two questions have one answer")
	}
}

// A list from memory allocates nothing on the loop, nor does a 304.
func TestLists_HitAllocatesNothing(t *testing.T) {
	site := newServer(t)
	tag := site.keepList("/depts?limit=2").Header.Get("Etag")
	s := newStepper(t, site.h)
	for _, headers := range []string{"", "If-None-Match: " + tag + "\r\n"} {
		in := []byte("GET /depts?limit=2 HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n" + headers + "\r\n")
		n := s.allocs(t, in, func(got []byte) bool { return len(got) >= 100 })
		if n != 0 {
			t.Errorf("a list with %q allocates %v times", headers, n)
		}
	}
}
