package lane

import "slices"

// foreseeAlone calls Foresee with inputs that are gone when it returns.
func foreseeAlone(f Foreseer, s Scope, inputs [][]byte) {
	alone := make([][]byte, len(inputs))
	for i, in := range inputs {
		alone[i] = slices.Clone(in)
	}
	f.Foresee(s, alone)
	for i, in := range alone {
		poison(in)
		alone[i] = nil
	}
}
