package scenarios

import (
	"regexp"
	"testing"

	"github.com/hotrow/hotrow/bench/harness"
)

func TestScenarios_AreValid(t *testing.T) {
	all, err := harness.ReadScenarios(Files, regexp.MustCompile(""), NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Title == "" || s.About == "" {
			t.Errorf("%s says not what it measures", s.Name)
		}
		if s.Shorten(); len(s.Connections) == 0 {
			t.Errorf("%s has nothing left for -quick", s.Name)
		}
	}
}
