package main

import (
	"runtime/debug"
	"slices"
	"strings"
)

// tuneCollector tells Go's collector of garbage what memory there is: it works harder
// rather than let the heap grow far beyond what the cache may hold. Without a limit,
// garbage may double what a changing cache takes. GOMEMLIMIT in the environment
// overrides it.
func (p *program) tuneCollector(b budget) {
	if !p.inEnvironment("GOMEMLIMIT") {
		debug.SetMemoryLimit(b.heap)
	}
}

// inEnvironment reports whether a variable is set.
func (p *program) inEnvironment(name string) bool {
	return slices.ContainsFunc(p.env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}
