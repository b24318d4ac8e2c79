package sqlfront

import (
	"strconv"
	"testing"
)

// BenchmarkShapes_NewValues is what it costs to find the shape of a text that was not seen before.
func BenchmarkShapes_NewValues(b *testing.B) {
	s := newShapes()
	b.ReportAllocs()
	for i := range b.N {
		s.of([]byte("SELECT abalance FROM pgbench_accounts WHERE aid = " + strconv.Itoa(i) + ";"))
	}
}
