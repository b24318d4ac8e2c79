package row_test

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/hotrow/hotrow/internal/row"
)

type note int

func (n note) Size() int { return int(n) }

// TestDocument_Attached: what is attached to a document changes nothing else of it, and one
// that has no room for it stays in a cache line.
func TestDocument_Attached(t *testing.T) {
	if n := unsafe.Sizeof(row.Document{}); n > 64 {
		t.Errorf("a document takes %d bytes", n)
	}
	stamp := row.Stamp{Epoch: 1, Generation: 2, At: 3, Owner: 4}
	for name, d := range map[string]*row.Document{
		"row":    row.NewDocument("k", row.FormatMsgPack, []byte("body"), 5, stamp),
		"no row": row.NoRow(stamp),
	} {
		if d.Attached() != nil {
			t.Errorf("%s: something is attached to it", name)
		}
		a := d.Attachable()
		if a.Attached() != nil {
			t.Errorf("%s: something was attached by Attachable", name)
		}
		a.Attach(note(7))
		if got := a.Attached(); got != note(7) {
			t.Errorf("%s: %v is attached, want 7", name, got)
		}
		if a.Absent() != d.Absent() || a.Stamp() != stamp || a.Format() != d.Format() ||
			a.ETag() != d.ETag() || a.Key() != d.Key() || a.Size() != d.Size() {
			t.Errorf("%s: it is another document", name)
		}
		if !a.Absent() && !reflect.DeepEqual(a.Wire(), d.Wire()) {
			t.Errorf("%s: answers end with %q, want %q", name, a.Wire(), d.Wire())
		}
		if !d.Absent() {
			k := d.Copy(row.Gzip)
			a.AddCopy(row.NewDocument("k", row.FormatMsgPack, []byte("other"), 5, stamp))
			if k != nil || d.NextCopy() != nil || a.NextCopy() == nil {
				t.Errorf("%s: the copies are those of another", name)
			}
		}
	}
}
