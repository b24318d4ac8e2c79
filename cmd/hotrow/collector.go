package main

import "runtime/debug"

// garbage is how much garbage Go's heap may hold, in percent of what is in use. Documents are
// outside the heap, so that the heap is small and is cheap to collect twice as often as Go does:
// a miss takes as much CPU with 50 as with 100.
const garbage = 50

// tuneCollector tells Go's collector of garbage what memory there is. It works harder rather
// than let the heap grow far beyond what the cache may hold. GOMEMLIMIT and GOGC in the
// environment override it.
func (p *program) tuneCollector(b budget) {
	if p.getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(b.heap)
	}
	if p.getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}
