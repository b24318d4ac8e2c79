package exchange

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fields makes fields of names and values.
func fields(pairs ...string) (list []Field) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, Field{[]byte(pairs[i]), []byte(pairs[i+1])})
	}
	return list
}

// sameBytes has nil and empty slices be the same: they mean the same.
var sameBytes = cmp.Options{
	cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) }),
	cmp.Transformer("fields", func(l []Field) string {
		var b strings.Builder
		for _, f := range l {
			b.WriteString(string(f.Name) + "=" + string(f.Value) + ";")
		}
		return b.String()
	}),
}

func TestRequest_ComesBackAsItWas(t *testing.T) {
	tests := map[string]Request{
		"get": {Method: []byte("GET"), Scheme: HTTPS, Authority: []byte("example.com"), Path: []byte("/a?b"),
			Fields: fields("Accept", "*/*", "x-own", "1", "accept", "text/html", "X-Empty", "")},
		"post": {Method: []byte("POST"), Scheme: HTTP, Authority: []byte("[::1]:80"), Path: []byte("/"),
			Fields: fields("Content-Length", "3"), Body: []byte("abc")},
		"streamed":     {Method: []byte("PUT"), Authority: []byte("h"), Path: []byte("*"), Streamed: true},
		"other method": {Method: []byte("PROPFIND"), Path: []byte("/\xff")},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			var got Request
			if err := got.Decode(want.Append(nil)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got, sameBytes); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAnswer_ComesBackAsItWas(t *testing.T) {
	tests := map[string]Answer{
		"whole":    {Status: 200, Fields: fields("ETag", `"x"`), Body: []byte("body")},
		"trailers": {Status: 200, Body: []byte("body"), Trailers: fields("X-Sum", "1")},
		"more":     {Status: 103, Fields: fields("Link", "<a>"), Rest: 1 << 40},
		"empty":    {Status: 204},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			var got Answer
			if err := got.Decode(want.Append(nil)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got, sameBytes); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPart_ComesBackAsItWas(t *testing.T) {
	tests := map[string]struct {
		payload []byte
		want    Part
	}{
		"data":     {AppendData(nil, []byte("abc")), Part{Kind: Data, Data: []byte("abc")}},
		"head":     {AppendAnswerHead(nil, 100, nil), Part{Kind: Head, Status: 100}},
		"trailers": {AppendTrailers(nil, fields("A", "b")), Part{Kind: Trailers, Fields: fields("A", "b")}},
		"number":   {AppendNumber(nil, 70000), Part{Kind: Number, Number: 70000}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got Part
			if err := got.Decode(tt.payload); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got, sameBytes); d != "" {
				t.Error(d)
			}
		})
	}
}

// The vectors fix what is on the wire: numbers of methods and names, too.
func TestVectors_StayAsTheyAre(t *testing.T) {
	r := Request{Method: []byte("GET"), Scheme: HTTPS, Authority: []byte("a.b"), Path: []byte("/x"),
		Fields: fields("Accept", "*/*", "etag", "1", "Traceparent", "t", "X", "y")}
	const want = "8600024361" + "2e62422f78" + "84" + "8200432a2f2a" + "82174131" + "8218784174" + "8241584179" + "40"
	if got := hex.EncodeToString(r.Append(nil)); got != want {
		t.Errorf("request\n%s, want\n%s", got, want)
	}
	a := Answer{Status: 404, Fields: fields("Content-Length", "0")}
	if got := hex.EncodeToString(a.Append(nil)); got != "8319019481820841"+"30"+"40" {
		t.Errorf("answer %s", got)
	}
	if len(names) != 122 || len(methods) != 9 {
		t.Errorf("%d names and %d methods: the table is a part of the protocol", len(names), len(methods))
	}
}

func TestDecode_RefusesWhatIsNotWellFormed(t *testing.T) {
	good := Request{Method: []byte("GET"), Path: []byte("/"), Body: []byte("x")}
	many := make([]Field, MaxFields+1)
	for i := range many {
		many[i] = Field{[]byte("A"), nil}
	}
	with := func(change func(r *Request)) []byte {
		r := good
		change(&r)
		return r.Append(nil)
	}
	tests := map[string][]byte{
		"nothing":      nil,
		"short":        good.Append(nil)[:3],
		"more":         append(good.Append(nil), 0),
		"indefinite":   {0x9f, 0x00, 0xff},
		"line end":     with(func(r *Request) { r.Fields = fields("A", "x\r\nB: c") }),
		"in a name":    with(func(r *Request) { r.Fields = fields("A: b\r\nC", "") }),
		"colon":        with(func(r *Request) { r.Fields = fields("A:b", "") }),
		"empty name":   with(func(r *Request) { r.Fields = fields("", "") }),
		"hop":          with(func(r *Request) { r.Fields = fields("Connection", "close") }),
		"coding":       with(func(r *Request) { r.Fields = fields("transfer-Encoding", "chunked") }),
		"host":         with(func(r *Request) { r.Fields = fields("Host", "x") }),
		"path":         with(func(r *Request) { r.Path = []byte("/ HTTP/1.1") }),
		"authority":    with(func(r *Request) { r.Authority = []byte("a\r\nb") }),
		"method":       with(func(r *Request) { r.Method = []byte("GE T") }),
		"no method":    with(func(r *Request) { r.Method = nil }),
		"scheme":       with(func(r *Request) { r.Scheme = numSchemes }),
		"large":        with(func(r *Request) { r.Path = bytes.Repeat([]byte("/"), MaxHead+1) }),
		"many fields":  with(func(r *Request) { r.Fields = many }),
		"large length": {0x86, 0x00, 0x00, 0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	}
	for name, b := range tests {
		t.Run(name, func(t *testing.T) {
			var r Request
			if err := r.Decode(b); !errors.Is(err, ErrPayload) {
				t.Errorf("%v, want ErrPayload", err)
			}
		})
	}
	var a Answer
	if err := a.Decode((&Answer{Status: 99}).Append(nil)); !errors.Is(err, ErrPayload) {
		t.Errorf("status 99: %v", err)
	}
}

func TestCodec_AllocatesNothing(t *testing.T) {
	r := Request{Method: []byte("GET"), Scheme: HTTP, Authority: []byte("example.com"), Path: []byte("/a"),
		Fields: fields("Accept", "*/*", "User-Agent", "test", "x-own", "1")}
	var got Request
	b := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(1000, func() {
		b = r.Append(b[:0])
		if err := got.Decode(b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzDecode checks that whatever is accepted is said again in the same way, and
// stays one head when it is written as lines.
func FuzzDecode(f *testing.F) {
	r := Request{Method: []byte("POST"), Scheme: HTTP, Authority: []byte("a"), Path: []byte("/"),
		Fields: fields("Content-Length", "1", "x", "y"), Body: []byte("b")}
	f.Add(r.Append(nil))
	r.Streamed = true
	f.Add(r.Append(nil))
	a := Answer{Status: 200, Fields: fields("ETag", "1"), Body: []byte("b"), Trailers: fields("X", "y")}
	f.Add(a.Append(nil))
	a.Rest = 7
	f.Add(a.Append(nil))
	f.Add(AppendData(nil, []byte("abc")))
	f.Add(AppendNumber(nil, 300))
	f.Add(AppendTrailers(nil, fields("X", "y")))
	f.Add(AppendAnswerHead(nil, 101, fields("Upgrade", "x")))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r, r2 Request
		if r.Decode(b) == nil {
			if err := r2.Decode(r.Append(nil)); err != nil || cmp.Diff(r, r2, sameBytes) != "" {
				t.Fatalf("%v %s", err, cmp.Diff(r, r2, sameBytes))
			}
			oneLineEach(t, r.Fields)
		}
		var a, a2 Answer
		if a.Decode(b) == nil {
			if err := a2.Decode(a.Append(nil)); err != nil || a.Status != a2.Status {
				t.Fatalf("%v %d %d", err, a.Status, a2.Status)
			}
			oneLineEach(t, a.Fields)
			oneLineEach(t, a.Trailers)
		}
		var p Part
		if p.Decode(b) == nil {
			oneLineEach(t, p.Fields)
		}
	})
}

// oneLineEach fails if a field would be more than a line.
func oneLineEach(t *testing.T, list []Field) {
	t.Helper()
	for _, f := range list {
		if bytes.ContainsAny(f.Name, ":\r\n\x00 ") || bytes.ContainsAny(f.Value, "\r\n\x00") || len(f.Name) == 0 {
			t.Fatalf("%q: %q", f.Name, f.Value)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	r := Request{Method: []byte("GET"), Scheme: HTTP, Authority: []byte("example.com"), Path: []byte("/a"),
		Fields: fields("Accept", "*/*", "User-Agent", "test", "x-own", "1", "Via", "1.1 hotrow-x")}
	var got Request
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = r.Append(buf[:0])
		if err := got.Decode(buf); err != nil {
			b.Fatal(err)
		}
	}
}
