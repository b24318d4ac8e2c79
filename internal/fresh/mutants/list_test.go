package main

import (
	"slices"
	"testing"
)

// Every mutant fits the code: what it replaces stands there once.
func TestMutants_Fit(t *testing.T) {
	for _, m := range slices.Concat(mutants, harmless) {
		if _, err := m.texts(".."); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}
