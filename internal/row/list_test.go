package row

import "testing"

func TestAppendList(t *testing.T) {
	for n, want := range map[int]string{0: "\x90", 15: "\x9f", 16: "\xdc\x00\x10",
		65535: "\xdc\xff\xff", 65536: "\xdd\x00\x01\x00\x00"} {
		if got := string(appendListHead(nil, FormatMsgPack, n)); got != want {
			t.Errorf("%d: % x, want % x", n, got, want)
		}
	}
	for f := range Format(NumFormats) {
		for _, n := range []int{0, 1, 2, 15, 16, 30, 300} {
			docs := make([]*Document, n)
			for i := range docs {
				docs[i] = NewDocument("", f, []byte("1"), 1, Stamp{})
			}
			if got := AppendList(nil, f, docs); len(got) != n+ListFrame(f, n) {
				t.Errorf("format %v: %d documents take %d bytes, want %d", f, n, len(got),
					n+ListFrame(f, n))
			}
		}
	}
}
