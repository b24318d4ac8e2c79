package row

import (
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A binaryFormat is a binary format of bodies as its tests see it.
type binaryFormat struct {
	pack    func(t testing.TB, v any) []byte // a map whose only member, "v", is v
	decode  func(s *Shape, body []byte) (*Input, error)
	reads   []packedValue  // besides packedValues
	refuses map[Kind][]any // besides wrongKinds
	hostile []string       // bodies that are refused
	perByte int            // bytes that may be allocated for each of a hostile body
	wrong   string         // {"emps":[{},{"sal":"x"}]}
}

// A packedValue is a value of a body and what it is for a column of the kind.
type packedValue struct {
	kind Kind
	v    any
	want Value
}

// packedAt is a time that bodies have.
var packedAt = time.Date(1981, 6, 9, 1, 2, 3, 500, time.UTC)

// packedValues are what every binary format reads.
var packedValues = []packedValue{
	{Int, nil, Value{}},
	{Bool, true, BoolValue(true)},
	{Bool, false, BoolValue(false)},
	{Int, int64(math.MinInt64), IntValue(math.MinInt64)},
	{Int, 5.0, IntValue(5)},
	{Uint, uint64(math.MaxUint64), UintValue(math.MaxUint64)},
	{Float, 0.1, FloatValue(0.1)},
	{Float, float32(0.1), FloatValue(float64(float32(0.1)))},
	{Float, 7, FloatValue(7)},
	{Float, math.Inf(1), FloatValue(math.Inf(1))},
	{Float32, float32(0.1), Float32Value(0.1)},
	{Decimal, "1.50", TextValue(Decimal, "1.50")},
	{Decimal, 1.5, TextValue(Decimal, "1.5")},
	{Decimal, math.NaN(), TextValue(Decimal, "NaN")},
	{Text, "aé", TextValue(Text, "aé")},
	{Text, strings.Repeat("a", 70000), TextValue(Text, strings.Repeat("a", 70000))},
	{Bytes, []byte{0, 255}, TextValue(Bytes, "\x00\xff")},
	{Bytes, "AP8=", TextValue(Bytes, "\x00\xff")},
	{DatetimeTZ, packedAt, TextValue(DatetimeTZ, "1981-06-09T01:02:03.0000005Z")},
	{Array, []any{1, "a", []any{}, []byte("b"), math.Inf(1)}, ArrayValue([]Value{
		IntValue(1), TextValue(Text, "a"), ArrayValue([]Value{}), TextValue(Bytes, "b"),
		FloatValue(math.Inf(1)),
	})},
}

// wrongKinds are values that no binary format reads for a column of the kind.
var wrongKinds = map[Kind][]any{
	Int:        {1.5, "1", math.NaN(), []byte("1"), uint64(math.MaxUint64), packedAt},
	Uint:       {-1, math.Inf(1)},
	Float:      {"1", []byte("1")},
	Decimal:    {[]byte("1"), true},
	Text:       {[]byte("a"), 1, packedAt, math.NaN()},
	Date:       {packedAt, []byte("1981-06-09")},
	Datetime:   {packedAt},
	DatetimeTZ: {0},
	Array:      {map[string]any{}},
}

func (f *binaryFormat) readsEveryKind(t *testing.T) {
	for _, list := range [][]packedValue{packedValues, f.reads} {
		for _, tt := range list {
			s := NewShape([]Field{{Name: "v", Kind: tt.kind}})
			in, err := f.decode(s, f.pack(t, tt.v))
			if err != nil {
				t.Errorf("kind %d %.40v: %v", tt.kind, tt.v, err)
				continue
			}
			if diff := cmp.Diff(tt.want, in.Values[0], sameValues); diff != "" {
				t.Errorf("kind %d %.40v: %s", tt.kind, tt.v, diff)
			}
		}
	}
}

func (f *binaryFormat) refusesWrongKinds(t *testing.T) {
	for _, all := range []map[Kind][]any{wrongKinds, f.refuses} {
		for kind, values := range all {
			for _, v := range values {
				s := NewShape([]Field{{Name: "v", Kind: kind}})
				if in, err := f.decode(s, f.pack(t, v)); err == nil {
					t.Errorf("kind %d: took %v as %v", kind, v, in.Values[0])
				}
			}
		}
	}
}

func (f *binaryFormat) refusesHostileBodies(t *testing.T) {
	s := NewShape([]Field{{Name: "j", Kind: JSON}})
	for _, body := range f.hostile {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in, err := f.decode(s, []byte(body))
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%.20x: took it as %v", body, in.Values)
		}
		most := uint64(64<<10 + f.perByte*len(body))
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%.20x of %d bytes: %d bytes allocated", body, len(body), used)
		}
	}
}

func (f *binaryFormat) saysWhereItIsWrong(t *testing.T) {
	_, err := f.decode(deptShape(), []byte(f.wrong))
	want := `emps[1].sal: "x" is not a 64-bit integer (byte 13)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
