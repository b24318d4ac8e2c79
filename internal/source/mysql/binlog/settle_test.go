package binlog

import (
	"testing"

	"github.com/hotrow/hotrow/internal/source"
)

// TestSettler_WhatAnotherStreamLeftIsNotProven: between the end of one stream's proofs
// and the beginning of the next epoch the marks of before must stay.
func TestSettler_WhatAnotherStreamLeftIsNotProven(t *testing.T) {
	s := new(settler)
	s.reset()
	old := s.add(&visibilityCheck{pos: 10, xid: true})
	s.reset()
	next := s.add(&visibilityCheck{pos: 20, xid: true})
	s.sees(20)
	out, open := s.settled([]*source.Tx{{ID: old}, {ID: next}, {}})
	if out[0] || !out[1] || !out[2] || len(open) != 0 {
		t.Errorf("settled %v, open %v; want only what this stream can prove", out, open)
	}
}
