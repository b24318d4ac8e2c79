package transfer

import "testing"

func TestGuard_WhatASpreadsheetTakesForAFormula(t *testing.T) {
	for _, cell := range []string{"=1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "\tx", "\rx", "\nx", " =1",
		"  \t =1", "\u00a0=1", "\u3000=1", "\u200b=1", "\ufeff=1", "\x00=1", "\u202e=1", "＝1+1", "＋1", "－1", "＠x",
		" ＝1", "﹦1", "﹢1", "﹣1", "﹫x", "−1", "'=1", "''=1", "' =1", "=", "\"=1", "⁼1", "₊1"} {
		safe := Guard(cell)
		if safe != "'"+cell {
			t.Errorf("%q becomes %q", cell, safe)
		}
		if back := unguard(safe); back != cell {
			t.Errorf("%q comes back as %q", cell, back)
		}
	}
	for _, cell := range []string{"", "x", "a=1", "https://example.com/?a=1", "'", "'x", "2026-12-31T00:00:00Z",
		" x", "1-1", "ü", "''", "\"x\"", "0"} {
		if safe := Guard(cell); safe != cell || unguard(cell) != cell {
			t.Errorf("%q becomes %q, and comes back as %q", cell, safe, unguard(cell))
		}
	}
}
