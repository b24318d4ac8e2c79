package row

import (
	"math"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
)

// packCBORBody returns a map whose only member is v, encoded by a library.
func packCBORBody(t testing.TB, v any) []byte {
	t.Helper()
	mode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano, TimeTag: cbor.EncTagRequired}.EncMode()
	if err != nil {
		t.Fatal(err)
	}
	body, err := mode.Marshal(map[string]any{"v": v})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// inCBOR is CBOR with what it alone has.
var inCBOR = binaryFormat{
	pack: packCBORBody, decode: (*Shape).DecodeCBOR,
	reads: []packedValue{
		{Int, -1, IntValue(-1)},
		{Int, 4000000000, IntValue(4000000000)},
		{Decimal, cbor.RawMessage("\x3b\xff\xff\xff\xff\xff\xff\xff\xff"),
			TextValue(Decimal, "-18446744073709551616")},
		{Text, cbor.RawMessage("\x7f\x61a\x62é\xff"), TextValue(Text, "aé")},
		{Bytes, cbor.RawMessage("\x5f\x41\x00\x41\xff\xff"), TextValue(Bytes, "\x00\xff")},
		{JSON, cbor.RawMessage("\xbf\x61a\x9f\x01\xf9\x3e\x00\x61\"\xf6\xf5\x41a\xf9\xfc\x00\xff\xff"),
			TextValue(JSON, `{"a":[1,1.5,"\"",null,true,"YQ==","-Infinity"]}`)},
		{DatetimeTZ, cbor.Tag{Number: 1, Content: 360896523},
			TextValue(DatetimeTZ, "1981-06-09T01:02:03Z")},
		{DatetimeTZ, cbor.Tag{Number: 1, Content: -1.5},
			TextValue(DatetimeTZ, "1969-12-31T23:59:58.5Z")},
		{DatetimeTZ, cbor.Tag{Number: 0, Content: "1981-06-09T03:02:03+02:00"},
			TextValue(DatetimeTZ, "1981-06-09T01:02:03Z")},
	},
	refuses: map[Kind][]any{
		Decimal: {cbor.Tag{Number: 4, Content: []int{-2, 150}}},
		DatetimeTZ: {cbor.Tag{Number: 0, Content: "noon"}, cbor.Tag{Number: 0, Content: 1},
			cbor.Tag{Number: 1, Content: "1"}, cbor.Tag{Number: 1, Content: 1e18},
			cbor.Tag{Number: 1, Content: math.NaN()}, cbor.Tag{Number: 1, Content: nil}},
	},
	hostile: hostileCBOR,
	// What has no declared length is read before it is known to be too much: a
	// node for each byte, and the copies of a slice that grows.
	perByte: 1024,
	wrong:   "\xa1\x64emps\x82\xa0\xa1\x63sal\x61x",
}

func TestDecodeCBOR_ReadsEveryKind(t *testing.T)     { inCBOR.readsEveryKind(t) }
func TestDecodeCBOR_RefusesWrongKinds(t *testing.T)  { inCBOR.refusesWrongKinds(t) }
func TestDecodeCBOR_SaysWhereItIsWrong(t *testing.T) { inCBOR.saysWhereItIsWrong(t) }

func TestDecodeCBOR_RefusesHostileBodiesCheaply(t *testing.T) { inCBOR.refusesHostileBodies(t) }

// hostileCBOR are bodies of which each breaks another rule.
var hostileCBOR = []string{
	"",
	"\x80",
	"\xa1",
	"\xa0\xa0",
	"\xff",
	"\xd9\xd9\xf7",
	"\xd9\xd9\xf7\xd9\xd9\xf7\xa0",
	"\xa1\x61j\x1c",                     // a reserved length
	"\xa1\x61j\x1f",                     // an integer of indefinite length
	"\xa1\x61j\xdf\x00",                 // and a tag
	"\xa1\x61j\xff",                     // a break where a value is due
	"\xa1\x61j\xf7",                     // undefined
	"\xa1\x61j\xf8\x20",                 // a simple value
	"\xa1\x61j\xe0",                     // another one
	"\xa1\x61j\xc2\x41\x01",             // a bignum
	"\xa1\x01\x01",                      // a key that is no text
	"\xa1\x41j\x01",                     // a key that is bytes
	"\xa1\x61\xff\x01",                  // a key that is no UTF-8
	"\xa1\x61j\x61\xff",                 // a text that is no UTF-8
	"\xa1\x61j\x7f\x61\xc3\x61\xa9\xff", // a character in two pieces
	"\xa1\x61j\x7f\x41a\xff",            // bytes within a text
	"\xa1\x61j\x7f\x7f\x61a\xff\xff",    // indefinite within indefinite
	"\xa1\x61j\x7f\x61a",                // no end
	"\xa1\x61j\x5f",
	"\xa2\x61j\x01\x61j\x02", // a name twice
	"\xbf\x61j\x01\x78\x01j\x02\xff",
	"\xa1\x61j\xa2\x61a\x01\x61a\x02",
	"\xa1\x61j\xbf\x61a\xff", // a name without its value
	"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
	"\xa1\x61j\x9b\x7f\xff\xff\xff\xff\xff\xff\xff",
	"\xa1\x61j\x9a\xff\xff\xff\xff",
	"\xba\xff\xff\xff\xff",
	"\xbb\x80\x00\x00\x00\x00\x00\x00\x00\x00", // twice as much is nothing
	"\xa1\x61j\x7b\xff\xff\xff\xff\xff\xff\xff\xff",
	"\xa1\x61j\x5b\xff\xff\xff\xff\xff\xff\xff\xfe",
	"\xa1\x61j\xfb\x00",
	"\xa1\x7a\xff\xff\xff\xff",
	"\xa1\x61j" + strings.Repeat("\x81", 100000),
	"\xa1\x61j" + strings.Repeat("\x9f", 100000),
	"\xa1\x61j" + strings.Repeat("\xc0", 100000),
	"\xa1\x61j" + strings.Repeat("\xa1\x61a", 100000),
	"\xa1\x61j" + strings.Repeat("\x99\xff\xff", 24000),
	"\xa1\x61j\x9a\x00\x01\x00\x00" + strings.Repeat("\x00", 1<<16),
	"\xa1\x61j\x9f" + strings.Repeat("\x00", 1<<16) + "\xff",
}

func TestDecodeCBOR_TakesWhatItMayHold(t *testing.T) {
	s := NewShape([]Field{{Name: "j", Kind: JSON}})
	head := "\xa1\x61j"
	deep := strings.Repeat("\x81", MaxDepth-2) + "\x80"
	wide := "\x99\xff\xfe" + strings.Repeat("\x00", MaxElements-2)
	long := "\x9f" + strings.Repeat("\x00", MaxElements-2) + "\xff"
	for _, v := range []string{deep, wide, long} {
		if _, err := s.DecodeCBOR([]byte(head + v)); err != nil {
			t.Errorf("%.20x: %v", v, err)
		}
	}
	for _, v := range []string{"\x81" + deep, "\x82" + wide + "\x00"} {
		if _, err := s.DecodeCBOR([]byte(head + v)); err == nil {
			t.Errorf("%.20x: took it", v)
		}
	}
	if _, err := s.DecodeCBOR([]byte(selfDescribed + head + "\x01")); err != nil {
		t.Errorf("with the tag of CBOR: %v", err)
	}
}

func TestDecodeCBOR_ReadsWhatAppendCBORWrites(t *testing.T) {
	s := deptShape()
	in, err := s.DecodeCBOR(s.AppendCBOR(nil, deptValues()))
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.DecodeJSON(s.AppendJSON(nil, deptValues()))
	if err != nil {
		t.Fatal(err)
	}
	want.Format = FormatCBOR
	if diff := cmp.Diff(want, in, sameValues); diff != "" {
		t.Errorf("-json +cbor:\n%s", diff)
	}
}

func FuzzDecodeCBOR(f *testing.F) {
	all := allShape()
	f.Add(deptShape().AppendCBOR(nil, deptValues()))
	f.Add(all.AppendCBOR(nil, nil))
	f.Add([]byte("\xa1\x67instant\xc1\xfb\x41\xd4\x52\xd9\xe2\x00\x00\x00"))
	f.Add([]byte("\xbf\x65array\x9f\xfa\x7f\xc0\x00\x00\x5f\x41a\xff\xa0\xff\xff"))
	f.Add([]byte("\xa1\x65loose\xf9\x7e\x00"))
	for _, body := range hostileCBOR {
		if len(body) < 100 {
			f.Add([]byte(strings.ReplaceAll(body, "\x61j", "\x64json")))
		}
	}
	reader := cborReader(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := all.DecodeCBOR(body)
		if err == nil {
			if err := reader.Wellformed(body); err != nil {
				t.Fatalf("took %x: %v", body, err)
			}
		}
		checkDecoded(t, all, in, err, len(body))
	})
}
