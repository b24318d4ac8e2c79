package fresh

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// The specification in docs/spec prints the name of each turn, as trails show it.
var specTurn = regexp.MustCompile(`printf\("\{([a-z-]+) `)

// TestSpec_TurnsAreThoseOfTheModels: what one of the two can do, the other can.
func TestSpec_TurnsAreThoseOfTheModels(t *testing.T) {
	for file, model := range map[string][]string{
		"documents.pml": turns[:],
		"lists.pml":     wordTurns[:],
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "spec", file))
		if err != nil {
			t.Fatal(err)
		}
		spec := []string{"go"} // a step of a call, which a specification takes without a name
		for _, m := range specTurn.FindAllSubmatch(text, -1) {
			spec = append(spec, string(m[1]))
		}
		for _, name := range model {
			if !slices.Contains(spec, name) {
				t.Errorf("%s has no turn %q, the model has", file, name)
			}
		}
		for _, name := range spec[1:] {
			if !slices.Contains(model, name) {
				t.Errorf("%s has a turn %q, the model has not", file, name)
			}
		}
	}
}
