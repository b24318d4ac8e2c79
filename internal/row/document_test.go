package row

import (
	"strings"
	"testing"
)

// note is an Attachment.
type note int

func (n note) Size() int { return int(n) }

// TestDocument_Keep: what is kept of a lent document does not change with what was lent, and
// says the same.
func TestDocument_Keep(t *testing.T) {
	memory := []byte("k1the body of it")
	stamp := Stamp{Epoch: 1, Generation: 2, At: 3, Owner: 4}
	var d, c Document
	d.Lend(Alias(memory), 2, 5, FormatMsgPack, Identity, stamp, 1<<Gzip)
	d.Attach(note(7))
	coded := []byte("coded")
	c.Lend(Alias(coded), 0, 5, FormatMsgPack, Gzip, stamp, 0)
	d.AddCopy(&c)
	same := NewDocument("k1", FormatMsgPack, []byte("the body of it"), 5, stamp)

	k := d.Keep()
	copy(memory, strings.Repeat("x", len(memory)))
	copy(coded, "xxxxx")
	if k.Key() != "k1" || string(k.AppendWire(nil)) != string(same.AppendWire(nil)) ||
		k.Stamp() != stamp || k.Attached() != note(7) || k.Absent() {
		t.Errorf("kept: %q, %+v", k.AppendWire(nil), k)
	}
	if z := k.Copy(Gzip); z == nil || string(z.Body()) != "coded" || z.ETag() != c.ETag() {
		t.Errorf("its copy: %+v", z)
	}
	if k.Keep() != k || same.Keep() != same {
		t.Error("what need not be copied is copied")
	}
	d.LendNoRow(stamp)
	if k := d.Keep(); !k.Absent() || k.Stamp() != stamp || k.Attached() != nil || k.NextCopy() != nil ||
		k.ETag() != "" {
		t.Errorf("kept of no row: %+v", k)
	}
}

func TestDocument_HasETag(t *testing.T) {
	d := NewDocument("k", FormatCBOR, []byte("body"), 1<<60+5, Stamp{})
	for tag, want := range map[string]bool{
		d.ETag(): true, "W/" + d.ETag(): false, "": false, `"0g0000000000a-j"`: false,
	} {
		if got := d.HasETag(tag); got != want {
			t.Errorf("HasETag(%s) = %v", tag, got)
		}
	}
	if NoRow(Stamp{}).HasETag("") {
		t.Error("no row has a tag")
	}
	allocs := testing.AllocsPerRun(100, func() { d.HasETag(`"1000000000002-c"`) })
	if allocs != 0 {
		t.Errorf("HasETag allocates %v times", allocs)
	}
}
