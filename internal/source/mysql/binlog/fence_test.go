package binlog

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// TestGTIDs_RemembersAnIdleDomain is about a domain whose last transaction is older than
// all that are known by name.
func TestGTIDs_RemembersAnIdleDomain(t *testing.T) {
	var g gtids
	g.add("7-1-42", "0-1-1")
	for i := range 2 * rememberGTIDs {
		g.add(fmt.Sprintf("0-1-%d", i+2))
	}
	reached := func(names ...string) bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		return g.reach(ctx, names) == nil
	}
	if end := fmt.Sprintf("0-1-%d", 2*rememberGTIDs+1); !reached("7-1-42", end) {
		t.Error("the log's end is not reached, though all of it has been handed on")
	}
	if reached("7-1-43") || reached("8-1-1") || reached("7-1-41") {
		t.Error("a transaction is reached that has not been handed on")
	}
	if len(g.seen) > rememberGTIDs {
		t.Errorf("%d transactions are known by name", len(g.seen))
	}
}
