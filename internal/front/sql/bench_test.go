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

// BenchmarkShapes_Known is what it costs to find the shape of a text that comes again, beside others
// that do not.
func BenchmarkShapes_Known(b *testing.B) {
	s := newShapes()
	text := []byte("SELECT abalance FROM pgbench_accounts WHERE aid = $1")
	for i := range 10_000 {
		s.of([]byte("SELECT abalance FROM pgbench_accounts WHERE aid = " + strconv.Itoa(i) + ";"))
		s.of(text)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.of(text)
	}
}
