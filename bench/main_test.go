package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/bench/scenarios"
)

func TestParse_Connections(t *testing.T) {
	o, err := parse([]string{"-connections", "1,128"})
	if err != nil || len(o.At) != 2 || o.At[1] != 128 {
		t.Errorf("%v %v", o, err)
	}
	for _, text := range []string{"", "x", "1,", "0"} {
		if _, err := parse([]string{"-connections", text}); err == nil {
			t.Errorf("%q is not an error", text)
		}
	}
}

// What is in bench/results is what its JSON says, drawn by this code.
func TestResults_AreDrawnFromTheirRuns(t *testing.T) {
	all, err := harness.ReadScenarios(scenarios.Files, regexp.MustCompile(""), scenarios.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	var drawn []string
	for _, s := range all {
		report, err := harness.ReadReport(s, &harness.Options{Results: "results"})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		files, err := report.Files()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range files {
			drawn = append(drawn, name)
			if got, err := os.ReadFile(filepath.Join("results", name)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("bench/results/%s is not what its JSON gives (%v): go run ./bench -show", name, err)
			}
		}
	}
	pictures, err := filepath.Glob("results/*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("pictures %v, %v", pictures, err)
	}
	for _, file := range pictures {
		if name := filepath.Base(file); !slices.Contains(drawn, name) {
			t.Errorf("bench/results/%s is drawn from no JSON", name)
		}
	}
	for _, name := range []string{"003-resttest-ladder.md", "020-proxy.md", "040-links.md"} {
		page, err := os.ReadFile(filepath.Join("results", name))
		if err != nil || !strings.Contains(string(page), "(published)") {
			t.Errorf("%s lacks what the original's authors have published (%v)", name, err)
		}
	}
}
