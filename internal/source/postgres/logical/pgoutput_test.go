package logical

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// wireBytes builds a message from bytes, texts (with their final zero) and numbers.
func wireBytes(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch v := p.(type) {
		case rune:
			b = append(b, byte(v))
		case byte:
			b = append(b, v)
		case string:
			b = append(append(b, v...), 0)
		case uint16:
			b = binary.BigEndian.AppendUint16(b, v)
		case uint32:
			b = binary.BigEndian.AppendUint32(b, v)
		case uint64:
			b = binary.BigEndian.AppendUint64(b, v)
		case []byte:
			b = append(b, v...)
		}
	}
	return b
}

// wireText builds a column of a tuple.
func wireText(s string) []byte { return wireBytes('t', uint32(len(s)), []byte(s)) }

var wireMessages = []struct {
	name string
	in   []byte
	want message
}{
	{"begin", wireBytes('B', uint64(7), uint64(8), uint32(9)), beginMessage{7, 8, 9}},
	{"commit", wireBytes('C', '\x00', uint64(1), uint64(2), uint64(3)), commitMessage{1, 2, 3}},
	{"relation", wireBytes('R', uint32(5), "public", "dept", 'd', uint16(2),
		'\x01', "deptno", uint32(23), uint32(0xffffffff), '\x00', "dname", uint32(25), uint32(7)),
		relationMessage{5, "public", "dept", 'd', []relationColumn{
			{true, "deptno", 23, -1}, {false, "dname", 25, 7}}}},
	{"type", wireBytes('Y', uint32(99999), "", "int4"), typeMessage{99999, "", "int4"}},
	{"insert", wireBytes('I', uint32(5), 'N', uint16(3), wireText("10"), 'n', wireText("")),
		insertMessage{5, []field{{'t', []byte("10")}, {'n', nil}, {'t', []byte{}}}}},
	{"update without old", wireBytes('U', uint32(5), 'N', uint16(2), wireText("10"), 'u'),
		updateMessage{5, 0, nil, []field{{'t', []byte("10")}, {'u', nil}}}},
	{"update with key", wireBytes('U', uint32(5), 'K', uint16(1), wireText("9"),
		'N', uint16(1), wireText("10")),
		updateMessage{5, 'K', []field{{'t', []byte("9")}}, []field{{'t', []byte("10")}}}},
	{"update with row", wireBytes('U', uint32(5), 'O', uint16(1), 'n', 'N', uint16(1), 'n'),
		updateMessage{5, 'O', []field{{'n', nil}}, []field{{'n', nil}}}},
	{"delete", wireBytes('D', uint32(5), 'K', uint16(1), wireText("9")),
		deleteMessage{5, 'K', []field{{'t', []byte("9")}}}},
	{"truncate", wireBytes('T', uint32(2), '\x01', uint32(5), uint32(6)),
		truncateMessage{[]uint32{5, 6}}},
	{"origin", wireBytes('O', uint64(4), "node_a"), originMessage{}},
	{"message", wireBytes('M', '\x01', uint64(4), "hotrow", uint32(2), []byte("hi")),
		logicalMessage{"hotrow", []byte("hi")}},
}

var wireExported = cmp.AllowUnexported(beginMessage{}, commitMessage{}, relationMessage{},
	relationColumn{}, typeMessage{}, insertMessage{}, updateMessage{}, deleteMessage{},
	truncateMessage{}, logicalMessage{}, field{}, xLogData{}, keepAlive{})

func TestDecodeMessage_ReadsEveryKind(t *testing.T) {
	for _, c := range wireMessages {
		t.Run(c.name, func(t *testing.T) {
			got, err := decodeMessage(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got, wireExported); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeMessage_RefusesEveryCutAndEveryTail(t *testing.T) {
	for _, c := range wireMessages {
		for n := range len(c.in) {
			if _, err := decodeMessage(c.in[:n]); !errors.Is(err, errPgoutput) {
				t.Errorf("%s cut to %d bytes: error %v", c.name, n, err)
			}
		}
		if _, err := decodeMessage(append(c.in[:len(c.in):len(c.in)], 0)); err == nil {
			t.Errorf("%s with a byte too many was taken", c.name)
		}
	}
}

func TestDecodeMessage_RefusesWhatItDoesNotKnow(t *testing.T) {
	for name, in := range map[string][]byte{
		"stream start":         wireBytes('S', uint32(1), '\x01'),
		"tuple of binaries":    wireBytes('I', uint32(5), 'N', uint16(1), 'b', uint32(1), '\x01'),
		"insert with old":      wireBytes('I', uint32(5), 'O', uint16(0)),
		"delete with new":      wireBytes('D', uint32(5), 'N', uint16(0)),
		"length beyond input":  wireBytes('I', uint32(5), 'N', uint16(1), 't', uint32(0xffffffff)),
		"columns beyond input": wireBytes('I', uint32(5), 'N', uint16(0xffff)),
		"tables beyond input":  wireBytes('T', uint32(0xffffffff), '\x00'),
		"tables wrap around":   wireBytes('T', uint32(0x40000001), '\x00', uint32(1)),
	} {
		if m, err := decodeMessage(in); !errors.Is(err, errPgoutput) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

func TestDecodeWAL(t *testing.T) {
	for _, c := range []struct {
		in   []byte
		want walMessage
	}{
		{wireBytes('w', uint64(1), uint64(2), uint64(3), []byte("B")), xLogData{1, 2, []byte("B")}},
		{wireBytes('k', uint64(5), uint64(3), '\x01'), keepAlive{5, true}},
		{wireBytes('k', uint64(5), uint64(3), '\x00'), keepAlive{5, false}},
	} {
		got, err := decodeWAL(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got, wireExported); d != "" {
			t.Error(d)
		}
	}
	for _, in := range [][]byte{nil, {'x'}, {'k'}, wireBytes('w', uint64(1)),
		wireBytes('k', uint64(5), uint64(3), '\x00', '\x00')} {
		if m, err := decodeWAL(in); !errors.Is(err, errPgoutput) {
			t.Errorf("%q: %v, %v", in, m, err)
		}
	}
}

func TestLSN_TextRoundTrips(t *testing.T) {
	for _, s := range []string{"0/0", "0/1526268", "16/B374D848", "FFFFFFFF/FFFFFFFF"} {
		l, err := feed.ParseLSN(s)
		if err != nil || l.String() != s {
			t.Errorf("%s became %s, %v", s, l, err)
		}
	}
	for _, s := range []string{"", "0", "0/", "x/1", "0/1/2", "0/1 ", "123456789/0"} {
		if l, err := feed.ParseLSN(s); err == nil {
			t.Errorf("%q was taken as %s", s, l)
		}
	}
}

func FuzzPgoutput(f *testing.F) {
	for _, c := range wireMessages {
		f.Add(c.in)
		f.Add(wireBytes('w', uint64(1), uint64(2), uint64(3), c.in))
	}
	f.Add(wireBytes('k', uint64(5), uint64(3), '\x01'))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decodeMessage(b); (err == nil) != (m != nil) {
			t.Errorf("message %v with error %v", m, err)
		}
		m, err := decodeWAL(b)
		if w, ok := m.(xLogData); ok && err == nil {
			if _, err := decodeMessage(w.data); err != nil && !errors.Is(err, errPgoutput) {
				t.Errorf("error of another kind: %v", err)
			}
		}
	})
}
