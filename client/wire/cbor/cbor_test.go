package cbor

import (
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	fxcbor "github.com/fxamacker/cbor/v2"
)

var errKind = errors.New("not of this kind")

// The vectors are those of RFC 8949, appendix A.
func TestReader_ReadsWhatIsAppended(t *testing.T) {
	number := func(n uint64) func(*Reader) bool {
		return func(r *Reader) bool { return r.IsUint() && r.Uint(math.MaxUint64) == n }
	}
	long := strings.Repeat("a", 300)
	tests := []struct {
		payload []byte
		hex     string
		read    func(*Reader) bool
	}{
		{AppendUint(nil, 0), "00", number(0)},
		{AppendUint(nil, 23), "17", number(23)},
		{AppendUint(nil, 24), "1818", number(24)},
		{AppendUint(nil, 1000), "1903e8", number(1000)},
		{AppendUint(nil, 1000000), "1a000f4240", number(1000000)},
		{AppendUint(nil, 1000000000000), "1b000000e8d4a51000", number(1000000000000)},
		{AppendUint(nil, math.MaxUint64), "1bffffffffffffffff", number(math.MaxUint64)},
		{AppendBytes(nil, []byte{1, 2, 3, 4}), "4401020304",
			func(r *Reader) bool { return r.IsBytes() && string(r.Bytes()) == "\x01\x02\x03\x04" }},
		{AppendBytes(nil, nil), "40", func(r *Reader) bool { return len(r.Bytes()) == 0 }},
		{AppendText(nil, "ü"), "62c3bc", func(r *Reader) bool { return r.Text(2) == "ü" }},
		{AppendText(nil, []byte(long)), "79012c" + strings.Repeat("61", 300),
			func(r *Reader) bool { return r.Text(300) == long }},
		{AppendUint(AppendArray(nil, 1), 7), "8107",
			func(r *Reader) bool { return r.IsArray() && r.Array(1, 1) == 1 && r.Uint(7) == 7 }},
		{AppendBool(nil, true), "f5", (*Reader).Bool},
		{AppendBool(nil, false), "f4", func(r *Reader) bool { return !r.Bool() }},
		{AppendNull(nil), "f6", (*Reader).Null},
		{AppendUint(nil, 1), "01", func(r *Reader) bool {
			return !r.Null() && !r.IsBytes() && !r.IsArray() && len(r.Rest()) == 1 && r.Uint(1) == 1
		}},
	}
	for _, tt := range tests {
		r := NewReader(tt.payload)
		if got := hex.EncodeToString(tt.payload); got != tt.hex || !tt.read(&r) || !r.OK() {
			t.Errorf("%s, want %s; read up to %x: %v", got, tt.hex, r.Rest(), r.End("it", errKind))
		}
		if err := r.End("it", errKind); err != nil {
			t.Errorf("%s: %v", tt.hex, err)
		}
	}
}

func TestReader_SaysWhatIsWrong(t *testing.T) {
	bytes, bool := func(r *Reader) { r.Bytes() }, func(r *Reader) { r.Bool() }
	text, null := func(r *Reader) { r.Text(2) }, func(r *Reader) { r.Null() }
	array, number := func(r *Reader) { r.Array(1, 2) }, func(r *Reader) { r.Uint(9) }
	tests := []struct {
		payload string
		read    func(*Reader)
		want    string
	}{
		{"", number, "it ends too early (byte 0)"},
		{"\x19\x01", number, "it ends too early (byte 0)"},
		{"\x0a", number, "a number that is too large (byte 1)"},
		{"\x20", number, "want a number (byte 0)"},
		{"\x01\x01", number, "there is more after its end (byte 1)"},
		{"\x40", text, "want a text (byte 0)"},
		{"\x61\xff", text, "a text that is not UTF-8 (byte 2)"},
		{"\x63aaa", text, "a text that is too long (byte 4)"},
		{"\x42a", bytes, "it ends too early (byte 1)"},
		{"\x5b\xff\xff\xff\xff\xff\xff\xff\xff", bytes, "it ends too early (byte 9)"},
		{"\x5f\x41a\xff", bytes, "an indefinite or reserved length (byte 0)"},
		{"\x5c", bytes, "an indefinite or reserved length (byte 0)"},
		{"\x80", array, "want an array of 1 to 2 elements (byte 1)"},
		{"\x83", array, "want an array of 1 to 2 elements (byte 1)"},
		{"\xf6", bool, "want true or false (byte 0)"},
		{"", bool, "want true or false (byte 0)"},
		{"\xf7", null, "there is more after its end (byte 0)"},
	}
	for _, tt := range tests {
		r := NewReader([]byte(tt.payload))
		tt.read(&r)
		err := r.End("it", errKind)
		want := "it: not of this kind: " + tt.want
		if !errors.Is(err, errKind) || err.Error() != want {
			t.Errorf("%x: %v, want %s", tt.payload, err, want)
		}
	}
}

// What is read after a problem is zero, and the first problem stays.
func TestReader_KeepsItsFirstProblem(t *testing.T) {
	r := NewReader([]byte("\x01\x01\x41a\x61a\x81\xf5\xf6"))
	r.Text(1)
	r.Fail("another")
	if r.OK() || r.IsUint() || r.Uint(9) != 0 || r.Array(0, 9) != 0 || r.Bytes() != nil ||
		r.Text(9) != "" || r.Bool() || r.Null() {
		t.Error("it goes on")
	}
	if err := r.End("it", errKind); err == nil || !strings.Contains(err.Error(), "want a text") {
		t.Errorf("%v", err)
	}
}

// again reads one item of whatever kind, at most so deep, and appends it.
func again(r *Reader, dst []byte, depth int) []byte {
	switch {
	case depth == 0:
		r.Fail("nested too deeply")
	case r.IsUint():
		return AppendUint(dst, r.Uint(math.MaxUint64))
	case r.IsBytes():
		return AppendBytes(dst, r.Bytes())
	case r.is(MajorText):
		return AppendText(dst, r.Text(math.MaxInt))
	case r.IsArray():
		n := r.Array(0, math.MaxInt)
		dst = AppendArray(dst, n)
		for i := 0; i < n && r.OK(); i++ {
			dst = again(r, dst, depth-1)
		}
		return dst
	case r.Null():
		return AppendNull(dst)
	}
	return AppendBool(dst, r.Bool())
}

// FuzzReader: what is read is CBOR as another reader has it, and comes back as it
// was; nothing panics.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{"\x00", "\x19\x03\xe8", "\x42ab", "\x83\x61a\xf5\xf6",
		"\x81\x81\x81\x80", "\x9f\xff", "\x5b\xff\xff\xff\xff\xff\xff\xff\xff", "\x18\x01", "\xf7"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		first := again(&r, nil, 16)
		if r.End("it", errKind) != nil {
			return
		}
		if err := fxcbor.Wellformed(b); err != nil {
			t.Fatalf("took %x: %v", b, err)
		}
		r = NewReader(first)
		if second := again(&r, nil, 16); !r.OK() || string(second) != string(first) || len(first) > len(b) {
			t.Fatalf("%x became %x, then %x: %v", b, first, second, r.End("it", errKind))
		}
	})
}
