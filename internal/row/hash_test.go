package row

import "testing"

func TestETag_IsStableAndNamesTheRepresentation(t *testing.T) {
	hash := Hash([]byte(`{"deptNumber":10}`))
	if want := uint64(0x0da5f13ff27799f5); hash != want { // written down: must outlive releases
		t.Errorf("hash %#x, want %#x", hash, want)
	}
	for _, tt := range []struct {
		hash   uint64
		format Format
		want   string
	}{
		{0, FormatJSON, `"0000000000000-j"`},
		{1, FormatMsgPack, `"0000000000002-m"`},
		{1, FormatCBOR, `"0000000000002-c"`},
		{1<<64 - 1, FormatJSON, `"vvvvvvvvvvvvu-j"`},
	} {
		if got := ETag(tt.hash, tt.format); got != tt.want {
			t.Errorf("%d %v: got %s, want %s", tt.hash, tt.format, got, tt.want)
		}
	}
	if d := NewDocument("", FormatMsgPack, nil, 1, Stamp{}); d.ETag() != `"0000000000002-m"` {
		t.Errorf("document's tag %s", d.ETag())
	}
}

func TestSameETag_IgnoresOnlyTheRepresentation(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`"k3f9a1c27e-j"`, `"k3f9a1c27e-j"`, true},
		{`"k3f9a1c27e-j"`, `"k3f9a1c27e-m"`, true},
		{`"k3f9a1c27e-j-gzip"`, `"k3f9a1c27e-m"`, true},
		{`"k3f9a1c27e-j"`, `"k3f9a1c27f-j"`, false},
		{`"k3f9a1c27e-j"`, `"k3f9a1c27-j"`, false},
		{`W/"k3f9a1c27e-j"`, `"k3f9a1c27e-j"`, false},
		{`W/"k3f9a1c27e-j"`, `W/"k3f9a1c27e-j"`, false},
		{`k3f9a1c27e-j`, `k3f9a1c27e-j`, false},
		{`"-j"`, `"-j"`, false},
		{`""`, `""`, false},
		{`"`, `"`, false},
		{``, ``, false},
		{`*`, `*`, false},
	} {
		if got := SameETag(tt.a, tt.b); got != tt.want {
			t.Errorf("%s, %s: got %v", tt.a, tt.b, got)
		}
		if got := SameETag(tt.b, tt.a); got != tt.want {
			t.Errorf("%s, %s: got %v", tt.b, tt.a, got)
		}
	}
}

func TestTagHash_IsWhatTheTagIsOf(t *testing.T) {
	for _, hash := range []uint64{0, 1, 1<<64 - 1, 1 << 63, 0x0123456789abcdef} {
		for _, f := range []Format{FormatJSON, FormatCBOR} {
			if got, ok := TagHash(ETag(hash, f)); !ok || got != hash {
				t.Errorf("TagHash(ETag(%x)) = %x, %v", hash, got, ok)
			}
		}
	}
	for _, tag := range []string{"", `"`, `"0000000000"`, `"zzzzzzzzzzzzz-j"`, "0000000000002-j", `"0000000000A0w-j"`} {
		if got, ok := TagHash(tag); ok {
			t.Errorf("TagHash(%s) = %x", tag, got)
		}
	}
}
