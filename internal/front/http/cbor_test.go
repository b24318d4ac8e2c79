package httpfront

import (
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// TestCBOR_IsARepresentationLikeTheOthers: of a document, with a tag of its own,
// from the database and from memory; of a list; and of a body.
func TestCBOR_IsARepresentationLikeTheOthers(t *testing.T) {
	s := newServer(t)
	var doc map[string]any
	for range 3 {
		a := s.do("GET", "/depts/10", "", "Accept: application/cbor")
		s.want(a, 200, "")
		if err := cbor.Unmarshal([]byte(a.body), &doc); err != nil || doc["dname"] != "ACCOUNTING" {
			t.Errorf("%v, %v", doc, err)
		}
		tag := a.Header.Get("ETag")
		if got := a.Header.Get("Content-Type"); got != "application/cbor" || !strings.HasSuffix(tag, `-c"`) {
			t.Errorf("Content-Type %q, ETag %s", got, tag)
		}
		s.want(s.do("GET", "/depts/10", "", "Accept: application/cbor", "If-None-Match: "+tag), 304, "")
		s.want(s.do("GET", "/depts/10", "", "If-None-Match: "+tag), 200, "")
	}
	var docs []map[string]any
	a := s.do("GET", "/depts?format=cbor&limit=2", "")
	s.want(a, 200, "")
	if err := cbor.Unmarshal([]byte(a.body), &docs); err != nil || len(docs) != 2 {
		t.Errorf("a list: %v, %v", docs, err)
	}
	body, err := cbor.Marshal(map[string]any{"dname": "CB", "loc": nil})
	if err != nil {
		t.Fatal(err)
	}
	a = s.do("PUT", "/depts/71", string(body), "Content-Type: application/cbor", "Accept: application/cbor")
	s.want(a, 201, "")
	if err := cbor.Unmarshal([]byte(a.body), &doc); err != nil || doc["dname"] != "CB" || doc["loc"] != nil {
		t.Errorf("what was written: %v, %v", doc, err)
	}
	s.want(s.do("PUT", "/depts/71", string(body), "Content-Type: application/cbor",
		"If-Match: "+s.do("GET", "/depts/71", "").Header.Get("ETag")), 200, "")
	s.want(s.do("PUT", "/depts/71", "\x9b\xff", "Content-Type: application/cbor"), 400, "bad-body")
	s.want(s.do("PATCH", "/depts/71", "\xa1\x65dname\xf7", "Content-Type: application/cbor"), 400, "bad-body")
}
