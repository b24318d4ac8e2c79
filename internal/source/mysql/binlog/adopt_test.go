package binlog

import (
	"testing"

	"github.com/hotrow/hotrow/internal/source"
)

// TestAdopt_DefinitionsWaitForTheirEnd: those that were read again at a later end of the log, and
// say the same, take the place of those that hold once the reader is there.
func TestAdopt_DefinitionsWaitForTheirEnd(t *testing.T) {
	tables := &[]source.Watched{{Table: "db.t", Columns: []string{"id"}}}
	r, err := newReader(*tables, "db", place{file: "binlog.000001", offset: 100})
	if err != nil {
		t.Fatal(err)
	}
	known := func(end source.Position) *definitions {
		d := knownTable()
		d.of, d.end = tables, end
		return d
	}
	s := &following{reader: r, tables: tables, feed: &Feed{known: make(map[string]string)},
		read: make(chan struct{}, 1)}
	first, again := known(r.pos), known(r.pos+50)
	s.found.Store(first)
	s.adopt()
	s.found.Store(again)
	s.adopt()
	if s.defs != first || !s.holds() {
		t.Error("definitions were taken over before their end, and no row before it has a key")
	}
	r.pos = again.end
	s.adopt()
	if s.defs != again || !s.holds() {
		t.Error("definitions were not taken over at their end")
	}
}
