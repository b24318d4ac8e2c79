package rows

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A vector is a payload as the reference page has it.
type vector struct {
	name, hex string
	value     payload
}

// A payload is what every message has.
type payload interface {
	Append(dst []byte) []byte
	Decode(b []byte) error
}

func vectors() []vector {
	answer := Answer{ETag: `"k3f9a1c27e0v4-j"`, Position: "hr1.main.7f3a.16B3748", Lag: 12,
		Body: []byte(`{"id":1}`)}
	listed := answer
	listed.Key = "1"
	return []vector{
		{"get", "82656465707473623130", &Get{Resource: "depts", Key: "10"}},
		{"get, MessagePack, no-cache", "846564657074736231300101",
			&Get{Resource: "depts", Key: "10", Format: MsgPack, Flags: NoCache}},
		{"get, CBOR", "836564657074736231" + "3002",
			&Get{Resource: "depts", Key: "10", Format: CBOR}},
		{"get at a position", "8765646570747362313000006a6872312e6d2e612e3166190fa063227822",
			&Get{Resource: "depts", Key: "10", Min: "hr1.m.a.1f", Wait: 4000, IfNoneMatch: `"x"`}},
		{"get several", "86656465707473826231306232300000" + "6000",
			&GetMulti{Resource: "depts", Keys: []string{"10", "20"}}},
		{"query", "846564657074736231301864" + "00",
			&Query{Resource: "depts", After: "10", Limit: 100}},
		{"query with a filter", "8565646570747360000067" + hex.EncodeToString([]byte("a=eq.10")),
			&Query{Resource: "depts", Filter: "a=eq.10"}},
		{"write", "8865646570747362313047" + hex.EncodeToString([]byte(`{"a":1}`)) + "000004816378787880",
			&Write{Resource: "depts", Key: "10", Body: []byte(`{"a":1}`), Flags: Minimal,
				IfMatch: []string{"xxx"}}},
		{"watch", "8365646570747362313060", &Watch{Resource: "depts", Key: "10"}},
		{"watch of a query", "856564657074736060" + "67" + hex.EncodeToString([]byte("a=eq.10")) + "02",
			&Watch{Resource: "depts", Filter: "a=eq.10", Format: CBOR}},
		{"answer", "870000607122" + hex.EncodeToString([]byte("k3f9a1c27e0v4-j")) + "2275" +
			hex.EncodeToString([]byte("hr1.main.7f3a.16B3748")) + "0c48" +
			hex.EncodeToString([]byte(`{"id":1}`)), &answer},
		{"no row", "87010160606000" + "40", &Answer{State: Absent, Origin: Stored}},
		{"page", "82f581870000" + "61317122" + hex.EncodeToString([]byte("k3f9a1c27e0v4-j")) + "2275" +
			hex.EncodeToString([]byte("hr1.main.7f3a.16B3748")) + "0c48" +
			hex.EncodeToString([]byte(`{"id":1}`)),
			&Page{More: true, Answers: []Answer{listed}}},
		{"page of a filter", "83f58067" + hex.EncodeToString([]byte("a=gt.10")),
			&Page{More: true, Next: "a=gt.10"}},
		{"written", "82f587000461316060" + "0040",
			&Written{Created: true, Answer: Answer{Origin: Requested, Key: "1"}}},
		{"event", "8401623130" + "6a6872312e6d2e612e3166" + "63" + hex.EncodeToString([]byte("c.7")),
			&Event{Kind: Changed, Key: "10", Position: "hr1.m.a.1f", Cursor: "c.7"}},
		{"info", "8566686f74726f771a001000001903e81a0080000081856564657074731819" +
			"1903e8816664657074" + "6e6f" + "60",
			&Info{Server: "hotrow", MaxMessage: 1 << 20, MaxKeys: 1000, MaxList: 8 << 20,
				Resources: []ResourceInfo{{Name: "depts", Does: DoesCreate | DoesDelete | DoesWatch,
					MaxLimit: 1000, Key: []string{"deptno"}}}}},
	}
}

func TestVectors_EncodeAndDecode(t *testing.T) {
	for _, v := range vectors() {
		want, err := hex.DecodeString(v.hex)
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		if got := v.value.Append(nil); !bytes.Equal(got, want) {
			t.Errorf("%s: %x, want %x", v.name, got, want)
			continue
		}
		if diff := redecode(v.value, want); diff != "" {
			t.Errorf("%s: %s", v.name, diff)
		}
	}
}

// TestVectors_AreOnThePage holds the reference page and the code together.
func TestVectors_AreOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors() {
		if !strings.Contains(string(page), "`"+v.hex+"`") {
			t.Errorf("the page does not have the vector of %s: `%s`", v.name, v.hex)
		}
	}
}

// redecode compares a value with what its payload decodes to.
func redecode(value payload, b []byte) string {
	var fresh payload
	switch value.(type) {
	case *Get:
		fresh = new(Get)
	case *GetMulti:
		fresh = new(GetMulti)
	case *Query:
		fresh = new(Query)
	case *Write:
		fresh = new(Write)
	case *Watch:
		fresh = new(Watch)
	case *Answer:
		fresh = new(Answer)
	case *Page:
		fresh = new(Page)
	case *Written:
		fresh = new(Written)
	case *Event:
		fresh = new(Event)
	case *Info:
		fresh = new(Info)
	}
	if err := fresh.Decode(b); err != nil {
		return err.Error()
	}
	// An empty text and none are the same to both ends.
	return cmp.Diff(value.Append(nil), fresh.Append(nil))
}

func TestDecode_RefusesWhatIsNoPayload(t *testing.T) {
	long := strings.Repeat("a", MaxKey+1)
	for _, tt := range []struct {
		value payload
		hex   string
	}{
		{new(Get), ""}, {new(Get), "80"}, {new(Get), "8165646570747"[:12]}, {new(Get), "8161"},
		{new(Get), "826161616100"},                                 // more after its end
		{new(Get), "8161" + "61"}, {new(Get), "9f6161" + "6161ff"}, // indefinite array
		{new(Get), "827f6161ff6161"},                             // indefinite text
		{new(Get), "8241616161"},                                 // bytes for a text
		{new(Get), "8261ff6161"},                                 // not UTF-8
		{new(Get), "836161616103"}, {new(Get), "84616161610004"}, // format, flag
		{new(Get), "888888"}, {new(Get), "827bffffffffffffffff"}, // lengths
		{new(Get), "827a7fffffff"}, {new(Get), "821c"}, {new(Get), "f6"}, // reserved, null
		{new(Get), hex.EncodeToString((&Get{Resource: "a", Key: long}).Append(nil))},
		{new(Get), hex.EncodeToString((&Get{Resource: long, Key: "a"}).Append(nil))},
		{new(GetMulti), "8261619a7fffffff"},
		{new(GetMulti), hex.EncodeToString((&GetMulti{Keys: make([]string, MaxKeys+1)}).Append(nil))},
		{new(Answer), "8703006060004060"}, {new(Answer), "8700086060004060"},
		{new(Event), "8403606060"}, {new(Written), "82f687"}, {new(Info), "85"},
	} {
		b, err := hex.DecodeString(tt.hex)
		if err != nil {
			t.Fatal(err)
		}
		if err := tt.value.Decode(b); !errors.Is(err, ErrPayload) {
			t.Errorf("%T.Decode(%.40s) = %v, want ErrPayload", tt.value, tt.hex, err)
		}
	}
}

func TestAppendHitHead_BeginsAnAnswer(t *testing.T) {
	for _, size := range []int{0, 23, 24, 255, 256, 65535, 65536} {
		body := bytes.Repeat([]byte{'x'}, size)
		want := Answer{ETag: `"tag-j"`, Position: "hr1.main.o.5", Lag: 300, Body: body}
		asOf := AppendAsOf(nil, []byte(want.Position), want.Lag)
		got := append(AppendHitHead(nil, Found, want.ETag, asOf, size), body...)
		if !bytes.Equal(got, want.Append(nil)) {
			t.Errorf("a hit of %d bytes: %.60x, want %.60x", size, got, want.Append(nil))
		}
	}
}

func TestStatus_IsTakenApart(t *testing.T) {
	answer := (&Answer{State: Absent, Origin: Stored}).Append(nil)
	s, got, text, err := DecodeStatus(append(AppendStatus(nil, NotFound), answer...))
	if s != NotFound || !bytes.Equal(got, answer) || text != "" || err != nil {
		t.Errorf("an answer: %v %x %q %v", s, got, text, err)
	}
	s, got, text, err = DecodeStatus(AppendFailure(nil, Unavailable, "the database is down"))
	if s != Unavailable || got != nil || text != "the database is down" || err != nil {
		t.Errorf("a failure: %v %x %q %v", s, got, text, err)
	}
	for _, bad := range []string{"", "82", "8205", "8305", "820500", "82056161" + "00"} {
		b, _ := hex.DecodeString(bad)
		if _, _, _, err := DecodeStatus(b); !errors.Is(err, ErrPayload) {
			t.Errorf("DecodeStatus(%s) = %v, want ErrPayload", bad, err)
		}
	}
}

func TestEcho_IsGofasts(t *testing.T) {
	b := AppendEcho(nil, []byte("aaaa"))
	if hex.EncodeToString(b) != "000000000000000461616161" {
		t.Errorf("%x", b)
	}
	for text, ok := range map[string]bool{string(b): true, string(b[:11]): false, "": false,
		string(b) + "x": false, "\xff\xff\xff\xff\xff\xff\xff\xffaaaa": false} {
		if data, got := DecodeEcho([]byte(text)); got != ok || ok && string(data) != "aaaa" {
			t.Errorf("DecodeEcho(%x) = %q, %v", text, data, got)
		}
	}
}

// TestDecode_GetAllocatesNothing: a hit is parsed for nothing.
func TestDecode_GetAllocatesNothing(t *testing.T) {
	b := (&Get{Resource: "depts", Key: "10", Min: "hr1.m.a.1f"}).Append(nil)
	var g Get
	if n := testing.AllocsPerRun(1000, func() {
		if err := g.Decode(b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkGetDecode(b *testing.B) {
	p := (&Get{Resource: "depts", Key: "10"}).Append(nil)
	var g Get
	for b.Loop() {
		if err := g.Decode(p); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzDecode: whatever is decoded encodes to something that decodes to the same,
// and nothing panics.
func FuzzDecode(f *testing.F) {
	for i, v := range vectors() {
		b, err := hex.DecodeString(v.hex)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), b)
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		all := []payload{new(Get), new(GetMulti), new(Query), new(Write), new(Watch),
			new(Answer), new(Page), new(Written), new(Event), new(Info)}
		p := all[int(which)%len(all)]
		if p.Decode(b) == nil {
			if diff := redecode(p, p.Append(nil)); diff != "" {
				t.Fatalf("%T %x: %s", p, b, diff)
			}
		}
		if _, _, _, err := DecodeStatus(b); err != nil && !errors.Is(err, ErrPayload) {
			t.Fatal(err)
		}
		_ = DecodeEmpty(b)
		_, _ = DecodeAnswers(b)
		_, _ = DecodeEcho(b)
		if _, keys := Names(b); len(keys) > MaxKeys {
			t.Fatalf("%d keys in %x", len(keys), b)
		}
	})
}

func TestNames_ReadsWhatIsThere(t *testing.T) {
	for _, tt := range []struct {
		payload  []byte
		resource string
		keys     []string
	}{
		{(&Get{Resource: "depts", Key: "10"}).Append(nil), "depts", []string{"10"}},
		{(&GetMulti{Resource: "depts", Keys: []string{"10", "20"}}).Append(nil), "depts",
			[]string{"10", "20"}},
		{(&Write{Resource: "depts", Key: "10", Body: []byte("{")}).Append(nil), "depts", []string{"10"}},
		{(&Watch{Resource: "depts"}).Append(nil), "depts", nil},
		{AppendEmpty(nil), "", nil}, {nil, "", nil}, {[]byte("junk"), "", nil},
		{[]byte("\x82\x65depts\x01"), "depts", nil},
	} {
		resource, keys := Names(tt.payload)
		if diff := cmp.Diff(tt.keys, keys); resource != tt.resource || diff != "" {
			t.Errorf("Names(%x) = %q, %q", tt.payload, resource, keys)
		}
	}
}
