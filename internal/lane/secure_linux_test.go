package lane

import "testing"

// Records are followed however they are cut: only what ends with one and began with
// one is single.
func TestRecords_KnowsWhenOneIsWhole(t *testing.T) {
	record := func(n int) []byte {
		return append([]byte{23, 3, 3, byte(n >> 8), byte(n)}, make([]byte, n)...)
	}
	two := append(record(300), record(7)...)
	for cut := range two {
		var r records
		r.take(two[:cut])
		whole := cut == 0 || cut == recordHead+300
		if got := r.completes(record(20)); got != whole {
			t.Errorf("a record behind %d bytes: single %v, want %v", cut, got, whole)
		}
		r.take(two[cut:])
		if !r.completes(record(1)) {
			t.Errorf("cut after %d bytes: the next record is not single", cut)
		}
	}
	var r records
	for _, b := range [][]byte{nil, record(0), two, record(9)[:13], append(record(9), 23)} {
		if r.completes(b) {
			t.Errorf("% x is taken for one record", b)
		}
	}
}
