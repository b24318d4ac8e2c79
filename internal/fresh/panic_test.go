package fresh

import (
	"errors"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// A panic while a lease ends, in what the caller has given, ends the lease with an error, and
// leaves no lock behind: the next load of the key is another one.
func TestSpace_PanicWhileFinishing(t *testing.T) {
	d := NewDomain(1)
	versions := d.NewTable()
	s := d.NewSpace(func(row.Key) {}, func(*Lease, *row.Document, bool) {})
	d.Reset("a", 1, nil, 1)
	doc := row.NewDocument("1", row.FormatJSON, []byte("{}"), 1, row.Stamp{})
	panics := func(f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Error("no panic came through")
			}
		}()
		f()
	}
	for name, end := range map[string]func(*Lease){
		"document": func(l *Lease) { s.Finish(l, doc, nil, func() { panic("oops") }) },
		"disk":     func(l *Lease) { s.FinishFromDisk(l, doc, func() { panic("oops") }) },
	} {
		l, leader := s.Begin("1", row.FormatJSON, Any)
		other, leads := s.Begin("1", row.FormatJSON, Any)
		if !leader || leads || other != l {
			t.Fatalf("%s: two readers do not share a load", name)
		}
		panics(func() { end(l) })
		s.Fail(l, errors.New("a defect"))
		<-l.Done()
		if got, err := l.Result(); err == nil || got != nil || l.Stored() {
			t.Errorf("%s: %v, %v, stored %v after a panic", name, got, err, l.Stored())
		}
	}
	q := &Question{Tags: []Tag{{Table: versions}}}
	l, _ := s.BeginList("1", row.FormatJSON, Any, q)
	panics(func() { s.FinishList(l, doc, nil, nil, func(*ReadSet) { panic("oops") }) })
	if _, err := l.Result(); err == nil || l.Stored() {
		t.Errorf("list: %v, stored %v after a panic", err, l.Stored())
	}
	if n := s.shard("1").inflight; len(n) != 0 {
		t.Errorf("%d loads are in flight, want none", len(n))
	}
}

// A domain that is broken keeps nothing that it had, and nothing new.
func TestDomain_BrokenKeepsNothing(t *testing.T) {
	d := NewDomain(1000)
	versions := d.NewTable()
	s := d.NewSpace(func(row.Key) {}, func(*Lease, *row.Document, bool) {})
	d.Reset("a", 1, nil, 1)
	d.Fenced(1)
	doc := row.NewDocument("1", row.FormatJSON, []byte("{}"), 1, row.Stamp{})
	q := &Question{Tags: []Tag{{Table: versions}}}
	var kept *ReadSet
	load := func(k row.Key) (document, list *Lease) {
		document, _ = s.Begin(k, row.FormatJSON, Any)
		s.Finish(document, doc, nil, func() {})
		list, _ = s.BeginList(k+"?", row.FormatJSON, Any, q)
		s.FinishList(list, doc, nil, nil, func(c *ReadSet) { kept = c })
		return document, list
	}
	before, list := load("1")
	if !before.Stored() || !list.Stored() || !s.Valid(before.Stamp) || !kept.Valid() {
		t.Fatal("nothing is kept before")
	}
	underway, _ := s.Begin("3", row.FormatJSON, Any)
	d.Break()
	if s.Valid(before.Stamp) || kept.Valid() {
		t.Error("a copy of before is valid")
	}
	s.Finish(underway, doc, nil, func() { t.Error("a load that was under way is stored") })
	if now, list := load("2"); now.Stored() || list.Stored() {
		t.Error("something is stored")
	}
}
