// Package tiertest is the suite that every tier.Tier passes: it keeps, it
// replaces, it stays within its bound, and above all, when Drop has returned,
// the old copy is gone. A tier may forget, so most tests accept a miss; an
// empty tier must keep one small document, else it would be no tier.
package tiertest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// Run runs the suite. open returns an empty tier of its own for each test,
// bounded to between 1 MiB and 64 MiB, and arranges for its Close.
func Run(t *testing.T, open func(t *testing.T) tier.Tier) {
	tests := []struct {
		name string
		run  func(t *testing.T, tr tier.Tier)
	}{
		{"KeepsAndForgets", testKeepsAndForgets},
		{"ReplacesRow", testReplacesRow},
		{"RowAndAbsenceReplaceEachOther", testRowAndAbsence},
		{"RefsAreSeparate", testRefsAreSeparate},
		{"GetKeepsNoKey", testGetKeepsNoKey},
		{"StaysWithinBound", testBound},
		{"PutReturnsWithinBound", testPutReturnsWithinBound},
		{"AbsencesStayWithinBound", testAbsencesBound},
		{"StaysWithinBoundWhileBusy", testBoundWhileBusy},
		{"TooLargeForgetsEarlierCopy", testTooLarge},
		{"CountsWhatItHolds", testStats},
		{"DropIsFinal", testDropIsFinal},
		{"DropIsFinalUnderEviction", testDropIsFinalUnderEviction},
		{"CloseFrees", testClose},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t)) })
	}
}

// RunFinal runs those tests of the suite that need no more than that Drop is
// final: for a tier that writes behind, at its own pace.
func RunFinal(t *testing.T, open func(t *testing.T) tier.Tier) {
	t.Run("DropIsFinal", func(t *testing.T) { testDropIsFinal(t, open(t)) })
	t.Run("DropIsFinalUnderEviction", func(t *testing.T) {
		testDropIsFinalUnderEviction(t, open(t))
	})
}

// Document returns a row's document of n bytes whose stamp has this generation,
// by which a test knows one version of a key from another. Every byte of the
// body is written: a zeroed one might take no memory at all, for the system
// gives out pages at the first write, and all of them would compare equal.
func Document(n int, generation uint64) *row.Document {
	return row.NewDocument("", row.FormatJSON, body(n, generation), generation,
		row.Stamp{Epoch: 1, Generation: generation})
}

// put puts DocumentOf and returns it.
func put(tr tier.Tier, ref tier.Ref, n int, generation uint64) *row.Document {
	d := DocumentOf(ref, n, generation)
	tr.Put(ref, d)
	return d
}

func body(n int, generation uint64) []byte {
	return bytes.Repeat([]byte{byte(generation%255) + 1}, n)
}

// DocumentOf is Document as a resource makes it: it says by itself what it is.
func DocumentOf(ref tier.Ref, n int, generation uint64) *row.Document {
	stamp := row.Stamp{Epoch: 1, Generation: generation, Owner: ref.Resource}
	return row.NewDocument(ref.Key, ref.Format, body(n, generation), generation, stamp)
}

// Absence returns a document that says that there is no row.
func Absence(generation uint64) *row.Document {
	return row.NoRow(row.Stamp{Epoch: 1, Generation: generation})
}

// wantHeld fails unless the tier returns exactly d for ref.
func wantHeld(t *testing.T, tr tier.Tier, ref tier.Ref, d *row.Document) {
	t.Helper()
	got, ok := tr.Get(ref)
	if !ok {
		t.Fatalf("Get(%+v) misses, want generation %d", ref, d.Stamp().Generation)
	}
	stamp, want := got.Stamp(), d.Stamp()
	stamp.Owner, want.Owner = 0, 0 // a tier may know better whose it is
	if stamp != want || got.Absent() != d.Absent() || got.ETag() != d.ETag() {
		t.Fatalf("Get(%+v) = %+v, want %+v", ref, got.Stamp(), d.Stamp())
	}
	if diff := cmp.Diff(d.Body(), got.Body()); diff != "" {
		t.Fatalf("Get(%+v): body (-want +got):\n%s", ref, diff)
	}
}

func wantGone(t *testing.T, tr tier.Tier, ref tier.Ref) {
	t.Helper()
	if got, ok := tr.Get(ref); ok {
		t.Fatalf("Get(%+v) = %+v, want a miss", ref, got.Stamp())
	}
}

func testKeepsAndForgets(t *testing.T, tr tier.Tier) {
	for _, key := range []row.Key{
		"", "10", "Tulsa,OK", "0190b2f4-7b7e-7c7a-8a53-2f1a6f0f8a11", "\x00\xff", longKey,
	} {
		ref := tier.Ref{Resource: 1, Key: key}
		wantGone(t, tr, ref)
		tr.Drop(ref) // of a key that is not there

		d := DocumentOf(ref, 100, 1)
		tr.Put(ref, d)
		wantHeld(t, tr, ref, d)
		tr.Drop(ref)
		wantGone(t, tr, ref)
		tr.Put(ref, d)
		wantHeld(t, tr, ref, d)
	}
}

var longKey = row.Key(fmt.Sprintf("%01000d", 7))

func testReplacesRow(t *testing.T, tr tier.Tier) {
	ref := tier.Ref{Resource: 1, Key: "10"}
	for i, n := range []int{10, 10, 5000, 0, 100} {
		d := DocumentOf(ref, n, uint64(i))
		tr.Put(ref, d)
		wantHeld(t, tr, ref, d)
	}
	tr.Drop(ref)
	wantGone(t, tr, ref)
}

func testRowAndAbsence(t *testing.T, tr tier.Tier) {
	ref := tier.Ref{Resource: 1, Key: "10"}
	steps := []*row.Document{
		Absence(1), DocumentOf(ref, 10, 2), Absence(3), Absence(4), Document(20, 5),
		DocumentOf(ref, 30, 6),
	}
	for _, d := range steps {
		tr.Put(ref, d)
		wantHeld(t, tr, ref, d)
	}
	for _, d := range steps {
		tr.Put(ref, d)
		tr.Drop(ref)
		wantGone(t, tr, ref)
	}
}

func testRefsAreSeparate(t *testing.T, tr tier.Tier) {
	refs := []tier.Ref{
		{Resource: 1, Format: row.FormatJSON, Key: "10"},
		{Resource: 1, Format: row.FormatMsgPack, Key: "10"},
		{Resource: 2, Format: row.FormatJSON, Key: "10"},
		{Resource: 1 << 31, Format: row.FormatJSON, Key: "10"},
		{Resource: 1, Format: row.FormatJSON, Key: "010"},
	}
	docs := make([]*row.Document, len(refs))
	for i, ref := range refs {
		docs[i] = DocumentOf(ref, 10+i, uint64(i))
		tr.Put(ref, docs[i])
	}
	for i := range refs {
		for j := i; j < len(refs); j++ {
			wantHeld(t, tr, refs[j], docs[j])
		}
		tr.Drop(refs[i])
		wantGone(t, tr, refs[i])
	}
}

// testGetKeepsNoKey overwrites the buffer that a key aliased.
func testGetKeepsNoKey(t *testing.T, tr tier.Tier) {
	held := tier.Ref{Resource: 1, Key: "held"}
	d := DocumentOf(held, 10, 1)
	tr.Put(held, d)

	buf := []byte("held")
	aliased := tier.Ref{Resource: 1, Key: alias(buf)}
	wantHeld(t, tr, aliased, d)
	copy(buf, "miss")
	wantGone(t, tr, aliased)
	copy(buf, "????")
	wantHeld(t, tr, held, d)
	wantGone(t, tr, tier.Ref{Resource: 1, Key: "miss"})
}
