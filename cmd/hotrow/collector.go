package main

import "runtime/debug"

// tuneCollector tells Go's collector of garbage what memory there is: it works harder
// rather than let the heap grow far beyond what the cache may hold. Without a limit,
// garbage may double what a changing cache takes. GOMEMLIMIT in the environment
// overrides it.
func (p *program) tuneCollector(b budget) {
	if p.getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(b.heap)
	}
}
