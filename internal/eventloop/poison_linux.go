package eventloop

import "slices"

// prefetchAlone calls Prefetch with inputs that are gone when it returns.
func prefetchAlone(f Prefetcher, s Scope, inputs [][]byte) {
	alone := make([][]byte, len(inputs))
	for i, in := range inputs {
		alone[i] = slices.Clone(in)
	}
	f.Prefetch(s, alone)
	for i, in := range alone {
		poison(in)
		alone[i] = nil
	}
}
