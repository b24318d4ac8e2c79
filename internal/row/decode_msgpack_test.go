package row

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"
	"github.com/vmihailenco/msgpack/v5"
)

// pack returns a map whose only member is v, encoded by another library.
func pack(t testing.TB, v any) []byte {
	t.Helper()
	body, err := msgpack.Marshal(map[string]any{"v": v})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// inMsgPack is MessagePack with what it alone has.
var inMsgPack = binaryFormat{
	pack: pack, decode: (*Shape).DecodeMsgPack,
	reads: []packedValue{
		{Int, int8(-1), IntValue(-1)},
		{Int, int8(-100), IntValue(-100)},
		{Int, int16(-1000), IntValue(-1000)},
		{Int, int32(-100000), IntValue(-100000)},
		{Int, uint8(200), IntValue(200)},
		{Int, uint16(60000), IntValue(60000)},
		{Int, uint32(4000000000), IntValue(4000000000)},
		{JSON, map[string]any{"a": []any{1, 1.5, "\"", nil, true, []byte("a"), math.Inf(-1)}},
			TextValue(JSON, `{"a":[1,1.5,"\"",null,true,"YQ==","-Infinity"]}`)},
		{DatetimeTZ, packedAt.Truncate(time.Second), TextValue(DatetimeTZ, "1981-06-09T01:02:03Z")},
		{DatetimeTZ, packedAt.AddDate(1000, 0, 0),
			TextValue(DatetimeTZ, "2981-06-09T01:02:03.0000005Z")},
		{DatetimeTZ, packedAt.AddDate(-1000, 0, 0),
			TextValue(DatetimeTZ, "0981-06-09T01:02:03.0000005Z")},
	},
	hostile: hostile,
	perByte: 64,
	wrong:   "\x81\xa4emps\x92\x80\x81\xa3sal\xa1x",
}

func TestDecodeMsgPack_ReadsEveryKind(t *testing.T)     { inMsgPack.readsEveryKind(t) }
func TestDecodeMsgPack_RefusesWrongKinds(t *testing.T)  { inMsgPack.refusesWrongKinds(t) }
func TestDecodeMsgPack_SaysWhereItIsWrong(t *testing.T) { inMsgPack.saysWhereItIsWrong(t) }

func TestDecodeMsgPack_RefusesHostileBodiesCheaply(t *testing.T) { inMsgPack.refusesHostileBodies(t) }

// hostile are bodies that have broken decoders.
var hostile = []string{
	"",
	"\x90",
	"\x81",
	"\x80\x80",
	"\xc1",
	"\x81\xa1j\xc1",
	"\x81\x01\x01",           // a key that is no str
	"\x81\xc4\x01j\x01",      // a key that is a bin
	"\x81\xa1\xff\x01",       // a key that is no UTF-8
	"\x81\xa1j\xa1\xff",      // a str that is no UTF-8
	"\x82\xa1j\x01\xa1j\x02", // a name twice
	"\x81\xa1j\x82\xa1a\x01\xa1a\x02",
	"\xdd\xff\xff\xff\xff", // array32 of 4 G
	"\x81\xa1j\xdd\xff\xff\xff\xff",
	"\xdf\xff\xff\xff\xff", // map32
	"\x81\xa1j\xdf\x80\x00\x00\x00",
	"\x81\xa1j\xdb\xff\xff\xff\xff",     // str32
	"\x81\xa1j\xc6\xff\xff\xff\xff",     // bin32
	"\x81\xa1j\xc9\xff\xff\xff\xff\xff", // ext32
	"\x81\xa1j\xd4",
	"\x81\xa1j\xd6\xff",
	"\x81\xa1j\xd6\xff\x00",
	"\x81\xa1j\xd7\xff\xff\xff\xff\xff\x00\x00\x00\x00",                     // too many nanoseconds
	"\x81\xa1j\xc7\x0c\xff\x00\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", // too late
	"\x81\xa1j\xd8\x05" + "0123456789abcdef",
	"\x81\xa1j\xd8\xff" + "0123456789abcdef",
	"\x81\xa1j\xcb\x00",
	"\x81\xa1j\xd9",
	"\x81\xd9",
	"\x81\xdb\xff\xff\xff\xff",
	"\x81\xa1j" + strings.Repeat("\x91", 100000),
	"\x81\xa1j" + strings.Repeat("\x81\xa1a", 100000),
	"\x81\xa1j" + strings.Repeat("\xdc\xff\xff", 24000),
	"\x81\xa1j\xdc\xff\xff" + strings.Repeat("\xdc\xff\xff", 24000),
	"\x81\xa1j\xdd\x00\x01\x00\x00" + strings.Repeat("\x00", 1<<16),
}

func TestDecodeMsgPack_TakesWhatItMayHold(t *testing.T) {
	s := NewShape([]Field{{Name: "j", Kind: JSON}})
	head := "\x81\xa1j"
	deep := strings.Repeat("\x91", MaxDepth-2) + "\x90"
	wide := string(msgp.AppendArrayHeader(nil, MaxElements-2)) +
		strings.Repeat("\x00", MaxElements-2)
	for _, v := range []string{deep, wide} {
		if _, err := s.DecodeMsgPack([]byte(head + v)); err != nil {
			t.Errorf("%.20x: %v", v, err)
		}
	}
	for _, v := range []string{"\x91" + deep, "\x92" + wide + "\x00"} {
		if _, err := s.DecodeMsgPack([]byte(head + v)); err == nil {
			t.Errorf("%.20x: took it", v)
		}
	}
}

func FuzzDecodeMsgPack(f *testing.F) {
	all := allShape()
	f.Add(deptShape().AppendMsgPack(nil, deptValues()))
	f.Add(all.AppendMsgPack(nil, nil))
	f.Add([]byte("\x81\xa7instant\xd6\xff\x00\x00\x00\x00"))
	f.Add([]byte("\x81\xa5array\x93\xca\x7f\xc0\x00\x00\xc4\x01a\x80"))
	f.Add([]byte("\x81\xa5loose\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"))
	for _, body := range hostile {
		if len(body) < 100 {
			f.Add([]byte(strings.ReplaceAll(body, "\xa1j", "\xa4json")))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := all.DecodeMsgPack(body)
		if err == nil {
			if err := msgpack.Unmarshal(body, &map[string]any{}); err != nil {
				t.Fatalf("took %x: %v", body, err)
			}
		}
		checkDecoded(t, all, in, err, len(body))
	})
}
