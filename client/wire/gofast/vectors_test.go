package gofast

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unhex returns the bytes of a hexadecimal text.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// perfData is a message of gofast's perf program.
func perfData(n int) []byte {
	b := []byte{0, 0, 0, 0, 0, 0, byte(n >> 8), byte(n)}
	return append(b, bytes.Repeat([]byte("a"), n)...)
}

func whoamiFrame(opaque uint64, w Whoami) Frame {
	return frame(KindRequest, opaque, IDWhoami, AppendWhoami(nil, &w))
}

func frame(kind Kind, opaque, id uint64, data []byte) Frame {
	return Frame{Kind: kind, Opaque: opaque, Message: Message{ID: id, Data: data}}
}

// vectors are frames as gofast's own encoder writes them (V1 to V17, V20), and
// as we do (V21).
var vectors = []struct {
	name, hex string
	frame     Frame
}{
	{"V1", "d9d9f7815827da000271005820d82bbfd82c191002d82d5408636c69656e742d300100000000000008000000ff",
		whoamiFrame(160000, Whoami{Name: "client-0", Version: 1, Buffer: 2048})},
	{"V2", "d9d9f7815825d903e85820d82bbfd82c191002d82d54087365727665722d300100000000000008000000ff",
		whoamiFrame(1000, Whoami{Name: "server-0", Version: 1, Buffer: 2048})},
	{"V3", "d9d9f7815822d9010a581dd82bbfd82c191002d82d5101670100000000000008000004677a6970ff",
		whoamiFrame(266, Whoami{Name: "g", Version: 1, Buffer: 2048, Tags: "gzip"})},
	{"V4", "d9d9f7815820d9010a581bd82bbfd82c191002d82d4f017719012c00000000000002000000ff",
		whoamiFrame(266, Whoami{Name: "w", Version: 300, Buffer: 512})},
	{"V5", "d9d9f7c6581dda0002710057d82bbfd82c186fd82d4c000000000000000461616161ff",
		frame(KindPost, 160000, 111, perfData(4))},
	{"V6", "d9d9f781581dda0002710057d82bbfd82c1870d82d4c000000000000000461616161ff",
		frame(KindRequest, 160000, 112, perfData(4))},
	{"V7", "d9d9f79f581dda0002710057d82bbfd82c1871d82d4c000000000000000461616161ff",
		frame(KindStart, 160000, 113, perfData(4))},
	{"V8", "d9d9f7c7581dda0002710057d82bbfd82c1871d82d4c000000000000000461616161ff",
		frame(KindMessage, 160000, 113, perfData(4))},
	{"V9", "d9d9f7c846da0002710040ff", frame(KindFinish, 160000, 0, nil)},
	{"V10", "d9d9f7c844d903e840ff", frame(KindFinish, 1000, 0, nil)},
	{"V11", "d9d9f7c6581ada0002710054d82bbfd82c191003d82d480000000000000000ff",
		frame(KindPost, 160000, IDHeartbeat, appendHeartbeatData(nil, 0))},
	{"V12", "d9d9f7c6581ada0002710054d82bbfd82c191003d82d480000000000000001ff",
		frame(KindPost, 160000, IDHeartbeat, appendHeartbeatData(nil, 1))},
	{"V13", "d9d9f7815819da0002710053d82bbfd82c191001d82d47000568656c6c6fff",
		frame(KindRequest, 160000, IDPing, appendPingData(nil, []byte("hello")))},
	{"V14", "d9d9f78157d903e853d82bbfd82c191001d82d47000568656c6c6fff",
		frame(KindRequest, 1000, IDPing, appendPingData(nil, []byte("hello")))},
	{"V15", "d9d9f7c650d903e84cd82bbfd82c191010d82d40ff",
		frame(KindPost, 1000, 0x1010, []byte{})},
	{"V16", "d9d9f7c650d903e84cd82bbfd82c1818d82d4161ff",
		frame(KindPost, 1000, 24, []byte("a"))},
	{"V17", "d9d9f7c6581dd903e85818d82bbfd82c1a00011170d82d4a30313233343536373839ff",
		frame(KindPost, 1000, 70000, []byte("0123456789"))},
	{"V20", "d9d9f7c659013fd903e8590139d82bbfd82c186fd82d59012c" + strings.Repeat("61", 300) + "ff",
		frame(KindPost, 1000, 111, bytes.Repeat([]byte("a"), 300))},
	{"V21", "d9d9f7815839da00e000005832d82bbfd82c191002d82d" +
		"582506686f74726f770100000000000100000000a40001011903ff021a00100000031a00040000ff",
		whoamiFrame(0xe00000, Whoami{Name: "hotrow", Version: 1, Buffer: 65536,
			Ext: &Extension{Wire: 1, Features: 1023, MaxMessage: 1 << 20, Credit: 1 << 18}})},
}

// compressed are frames as gofast's own encoder compresses them. Ours need not
// be the same.
var compressed = []struct {
	name, hex string
	frame     Frame
}{
	{"V18", "d9d9f7c6583fd9010a583ad82e58361f8b08000000000004ff04c03111c0201405b027a36347ee003fac5180446c7c3790" +
		"eaa7c6b76bae9624497e00000080fb000000ffff",
		frame(KindPost, 266, 111, perfData(32))},
	{"V19", "d9d9f7c65828d9010a5823d82f581f00b1adf8858d058637d85a604101a0a1430020c2489c48b1a2c58b14ff0504",
		frame(KindPost, 266, 111, perfData(32))},
}

func TestVectors_EncodeAsGofastDoes(t *testing.T) {
	for _, v := range vectors {
		if got := hex.EncodeToString(AppendFrame(nil, &v.frame)); got != v.hex {
			t.Errorf("%s is encoded as\n%s, want\n%s", v.name, got, v.hex)
		}
		if got, want := FrameSize(&v.frame), len(v.hex)/2; got != want {
			t.Errorf("%s: FrameSize is %d, want %d", v.name, got, want)
		}
	}
}

// TestVectors_HandshakeIsOnThePage: who writes a client compares bytes with the page.
func TestVectors_HandshakeIsOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if v.name == "V21" && !strings.Contains(strings.ReplaceAll(string(page), "\n", ""), v.hex) {
			t.Errorf("the page does not have the handshake %s", v.hex)
		}
	}
}

func TestVectors_Decode(t *testing.T) {
	d := NewDecoder(Limits{Tags: Gzip | LZW}, NewCodecs())
	for _, v := range append(vectors, compressed...) {
		b := unhex(t, v.hex)
		for cut := range b {
			var f Frame
			n, err := d.Next(b[:cut], &f)
			if n != 0 || err != nil || d.Want() <= cut || d.Want() > len(b) {
				t.Fatalf("%s cut at %d: consumed %d, wants %d, %v", v.name, cut, n, d.Want(), err)
			}
		}
		var f Frame
		n, err := d.Next(append(b, 0xd9), &f)
		if n != len(b) || err != nil {
			t.Fatalf("%s: consumed %d of %d, %v", v.name, n, len(b), err)
		}
		if diff := cmp.Diff(v.frame, f); diff != "" {
			t.Errorf("%s (-want +got):\n%s", v.name, diff)
		}
	}
}
