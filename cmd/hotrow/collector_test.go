package main

import (
	"runtime/debug"
	"testing"
)

func TestCollector_KeepsLittleGarbage(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer debug.SetGCPercent(percent)
	defer debug.SetMemoryLimit(limit)
	for _, tt := range []struct {
		gogc string
		want int
	}{{"200", 100}, {"", garbage}} { // the runtime has followed the environment already
		p := &program{env: []string{"GOGC=" + tt.gogc}}
		p.tuneCollector(divide(0, 0))
		if got := debug.SetGCPercent(100); got != tt.want {
			t.Errorf("with GOGC=%q: %d percent of garbage, want %d", tt.gogc, got, tt.want)
		}
	}
}
