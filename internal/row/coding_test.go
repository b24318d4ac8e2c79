package row

import (
	"bytes"
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// decoded returns what foreign decoders make of b: Go's own gzip, and the zstd
// decoder, which shares no code with the encoder.
func decoded(t testing.TB, c Coding, b []byte) []byte {
	t.Helper()
	var r io.Reader = bytes.NewReader(b)
	var err error
	switch c {
	case Gzip:
		r, err = stdgzip.NewReader(r)
	case Zstd:
		var z *zstd.Decoder
		z, err = zstd.NewReader(r, zstd.WithDecoderMaxWindow(8<<20))
		defer z.Close()
		r = z
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	return plain
}

// samples are bodies of many sizes, compressible and not.
func samples() [][]byte {
	random := make([]byte, 100_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	var list [][]byte
	for _, n := range []int{0, 1, 100, 1024, 5000, 70_000, 3 << 20} {
		text := strings.Repeat(`{"deptNumber":10,"deptName":"ACCOUNTING"},`, n/42+1)[:n]
		list = append(list, []byte(text), random[:min(n, len(random))])
	}
	return list
}

func TestCoder_ForeignDecodersReadIt(t *testing.T) {
	var k Coder
	for _, plain := range samples() {
		for c := range Coding(NumCodings) {
			got := k.Append([]byte("before"), plain, c)
			if !bytes.HasPrefix(got, []byte("before")) {
				t.Fatalf("%v: what was there before is gone", c)
			}
			if !bytes.Equal(decoded(t, c, got[6:]), plain) {
				t.Errorf("%v: %d bytes come back as others", c, len(plain))
			}
		}
	}
}

// A strong entity tag promises the same bytes, whatever an encoder did before
// and whoever works beside it.
func TestCoder_SameBytesGiveTheSame(t *testing.T) {
	var shared Coder
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for _, plain := range samples() {
				for c := Gzip; c < NumCodings; c++ {
					var own Coder
					a, b := own.Append(nil, plain, c), shared.Append(nil, plain, c)
					if !bytes.Equal(a, b) {
						t.Errorf("%v of %d bytes: two encoders differ", c, len(plain))
					}
				}
			}
		})
	}
	busy.Wait()
}

func TestNewCopy(t *testing.T) {
	stamp := Stamp{Epoch: 1, Generation: 2, At: 3}
	d := NewDocument("", FormatMsgPack, make([]byte, 2000), 7, stamp)
	tag := d.ETag()
	for _, c := range []Coding{Gzip, Zstd} {
		k := NewCopy(d, c, []byte("body"))
		want := tag[:len(tag)-1] + "+" + c.String() + `"`
		head := fmt.Sprintf("Content-Type: application/vnd.msgpack\r\nContent-Encoding: %v\r\n"+
			"Etag: %s\r\nContent-Length: 4\r\n\r\n", c, want)
		if w := string(k.AppendWire(nil)); w != head+"body" || string(k.AppendWireHead(nil)) != head {
			t.Errorf("AppendWire = %q, want %q", w, head+"body")
		}
		if k.ETag() != want || string(k.Body()) != "body" || k.Coding() != c ||
			k.Format() != d.Format() || k.Stamp() != stamp || k.Absent() {
			t.Errorf("%v: %+v", c, k)
		}
		if !SameETag(k.ETag(), tag) || d.Copy(c) != nil {
			t.Errorf("%v: SameETag %v, copy %v", c, SameETag(k.ETag(), tag), d.Copy(c))
		}
		d.AddCopy(k)
		if d.Copy(c) != k {
			t.Errorf("Copy(%v) = %v", c, d.Copy(c))
		}
	}
	if n := d.NextCopy(); n.Coding() != Zstd || n.NextCopy().Coding() != Gzip ||
		n.NextCopy().NextCopy() != nil {
		t.Error("the copies are not each of them once")
	}
}

func TestDocument_TagCoding(t *testing.T) {
	d := NewDocument("", FormatJSON, nil, 1, Stamp{})
	stem := d.ETag()[:len(d.ETag())-1]
	tests := []struct {
		tag  string
		want Coding
		ok   bool
	}{
		{stem + `"`, Identity, true},
		{stem + `+gzip"`, Gzip, true},
		{stem + `+zstd"`, Zstd, true},
		{stem + `+x-gzip"`, 0, false},
		{stem + `+identity"`, 0, false},
		{stem + `+br"`, 0, false},
		{stem + `+"`, 0, false},
		{stem + `+`, 0, false},
		{stem + `+gzip`, 0, false},
		{stem, 0, false},
		{"W/" + stem + `"`, 0, false},
		{strings.Replace(stem, "-j", "-m", 1) + `+gzip"`, 0, false},
		{`""`, 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		if got, ok := d.TagCoding(tt.tag); ok != tt.ok || ok && got != tt.want {
			t.Errorf("TagCoding(%s) = %v, %v; want %v, %v", tt.tag, got, ok, tt.want, tt.ok)
		}
	}
	if _, ok := NoRow(Stamp{}).TagCoding(`+gzip"`); ok {
		t.Error("an absence has a tag")
	}
}

func TestDocument_Ask(t *testing.T) {
	d := NewDocument("", FormatJSON, make([]byte, MinCoded), 1, Stamp{})
	if !d.Ask(Gzip) || d.Ask(Gzip) || !d.Ask(Zstd) || d.Ask(Zstd) {
		t.Error("a copy is not asked for once")
	}
	d.Unask(Gzip)
	if d.Ask(Zstd) || !d.Ask(Gzip) {
		t.Error("Unask lets nobody ask again, or for another coding")
	}
	if NewDocument("", FormatJSON, make([]byte, MinCoded-1), 1, Stamp{}).Ask(Gzip) {
		t.Error("a copy of a small document is asked for")
	}
	if NoRow(Stamp{}).Ask(Gzip) {
		t.Error("a copy of an absence is asked for")
	}
}

func TestPays(t *testing.T) {
	for _, tt := range []struct {
		plain, coded int
		want         bool
	}{{1000, 900, true}, {1000, 901, false}, {1000, 2000, false}, {10, 9, true}, {0, 20, false}} {
		if got := Pays(tt.plain, tt.coded); got != tt.want {
			t.Errorf("Pays(%d, %d) = %v", tt.plain, tt.coded, got)
		}
	}
}

func BenchmarkCoder(b *testing.B) {
	for _, n := range []int{2 << 10, 16 << 10, 1 << 20} {
		plain := []byte(strings.Repeat(" ", n))
		rng := rand.New(rand.NewPCG(1, 2))
		for i := 0; i < n; {
			i += copy(plain[i:], fmt.Sprintf(`{"empNo":%d,"empName":"%x","sal":%d},`,
				rng.IntN(100_000), rng.Uint32(), rng.IntN(5000)))
		}
		for c := Gzip; c < NumCodings; c++ {
			b.Run(fmt.Sprintf("%v/%d", c, n), func(b *testing.B) {
				var k Coder
				var out []byte
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					out = k.Append(out[:0], plain, c)
				}
				b.ReportMetric(float64(len(out))/float64(n), "ratio")
			})
		}
	}
}
