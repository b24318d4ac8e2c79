package fresh

import (
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// TestModel_BrokenFormatsFail shows that the check can fail: what is promised of
// a document holds for all of its formats together, and each rule is needed.
func TestModel_BrokenFormatsFail(t *testing.T) {
	all := scenarios()
	for name, broken := range map[string]breach{
		"copies of other formats stay":          keepsOthers,
		"loads of other formats are stored":     storesOthers,
		"loads that were superseded are joined": joinsOthers,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(all, func(s scenario) bool { return s.name == "two formats" })
			_, failures := explore(&all[i], func() protocol {
				r := newReal(false)
				r.broken = broken
				return r
			})
			if len(failures) == 0 {
				t.Fatal("the check does not catch it")
			}
			t.Log(failures[0])
		})
	}
}

// TestSpace_FormatsOfOneStateStayTogether: two formats in turn do not push each
// other out, also when each is read from the source itself, and both loads of one
// read are kept.
func TestSpace_FormatsOfOneStateStayTogether(t *testing.T) {
	for name, need := range map[string]Need{"a copy": Any, "the source": Now} {
		t.Run(name, func(t *testing.T) {
			dropped := 0
			_, s := newAttached(func(row.Key) { dropped++ })
			json, _ := s.Begin("k", row.FormatJSON, need)
			if !finish(s, json) {
				t.Error("the first is not stored")
			}
			pack, _ := s.Begin("k", row.FormatMsgPack, need)
			if !finish(s, pack) || dropped != 0 {
				t.Error("the second is not stored, or the first is dropped")
			}
		})
	}
	_, s := newAttached(nil)
	json, _ := s.Begin("k", row.FormatJSON, Any)
	pack, _ := s.Begin("k", row.FormatMsgPack, Any)
	s.Send(json)
	s.Send(pack)
	if !finish(s, json) || !finish(s, pack) {
		t.Error("two formats of one read are not both stored")
	}
}

// TestSpace_FormatsOfTwoStatesDoNot: nobody can tell which of them is older.
func TestSpace_FormatsOfTwoStatesDoNot(t *testing.T) {
	_, s := newAttached(nil)
	keep(t, s, "k", row.FormatJSON)
	old, _ := s.Begin("k", row.FormatJSON, Any)
	s.Send(old)
	cbor, _ := s.Begin("k", row.FormatCBOR, Any)
	s.Send(cbor)
	pack, _ := s.Begin("k", row.FormatMsgPack, Any)
	if !finishAs(1, s, pack) {
		t.Fatal("not stored")
	}
	if _, leader := s.Begin("k", row.FormatJSON, Any); !leader {
		t.Error("a load that may have read before the answer is joined")
	}
	if finishAs(2, s, old) {
		t.Error("a load that may have read before the answer is stored")
	}
	if finishAs(1, s, cbor) {
		t.Error("stored after answers of two states, of which the other may be newer")
	}
}

// TestSameVersion compares states, not representations.
func TestSameVersion(t *testing.T) {
	doc := func(f row.Format, hash uint64) *row.Document {
		return row.NewDocument("k", f, []byte("x"), hash, row.Stamp{})
	}
	none, one := row.NoRow(row.Stamp{}), doc(row.FormatJSON, 1)
	for _, tt := range []struct {
		a, b *row.Document
		want bool
	}{
		{one, doc(row.FormatMsgPack, 1), true}, {one, doc(row.FormatPrepared, 1), true},
		{one, doc(row.FormatJSON, 2), false}, {one, doc(row.FormatCBOR, 2), false},
		{none, none, true}, {one, none, false}, {none, one, false},
	} {
		if got := SameVersion(tt.a, tt.b); got != tt.want {
			t.Errorf("Alike(%q, %q) = %v", tt.a.ETag(), tt.b.ETag(), got)
		}
	}
}

// TestFromDisk_WaitsForAFenceAfterAnotherFormat: what the disk has in one format may
// be older than what another has told, until the change between has come for sure.
func TestFromDisk_WaitsForAFenceAfterAnotherFormat(t *testing.T) {
	d, s := followedSpace()
	s.OnWhole(func() {})
	recall := func(f row.Format) bool {
		l, _ := s.Begin("k", f, Any)
		ok := s.FinishFromDisk(l, row.NewDocument("k", f, nil, 1, l.Stamp), func() {})
		if !ok {
			s.Finish(l, nil, errSource, nil)
		}
		return ok
	}
	d.Fenced(5)
	l, _ := s.Begin("k", row.FormatMsgPack, Any)
	s.Finish(l, row.NewDocument("k", row.FormatMsgPack, nil, 1, row.Stamp{At: 7}), nil, func() {})
	for _, step := range []struct {
		fence int64
		of    row.Format
		want  bool
	}{
		{6, row.FormatJSON, false}, {7, row.FormatJSON, false}, {7, row.FormatMsgPack, true},
		{8, row.FormatJSON, true},
	} {
		d.Fenced(step.fence)
		if got := recall(step.of); got != step.want {
			t.Errorf("fenced at %d, format %d is recalled: %v", step.fence, step.of, got)
		}
	}
}

// TestSpace_WhatWasFoundIsOlderThanAnAnswer: a reader finds a copy, in memory or on disk, and
// before it ends its lease with that, another answer shows a newer state. Who has seen that
// joins the lease.
func TestSpace_WhatWasFoundIsOlderThanAnAnswer(t *testing.T) {
	for name, end := range map[string]func(*Space, *Lease, *row.Document) bool{
		"memory": (*Space).Found,
		"disk": func(s *Space, l *Lease, doc *row.Document) bool {
			return s.FinishFromDisk(l, doc, func() {})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, s := newAttached(nil)
			found := row.NewDocument("k", row.FormatJSON, nil, 1, row.Stamp{})
			l, _ := s.Begin("k", row.FormatJSON, Any)
			pack, _ := s.Begin("k", row.FormatMsgPack, Any)
			if !finishAs(2, s, pack) {
				t.Fatal("not stored")
			}
			if _, leader := s.Begin("k", row.FormatJSON, Any); leader {
				t.Fatal("a load that has not been sent is not joined")
			}
			d.Fenced(2)
			if end(s, l, found) {
				t.Error("who was answered with a newer state is answered with the copy")
			}
		})
	}
}
