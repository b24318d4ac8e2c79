package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// traced is an error that shows where it was made to who asks for more than it says.
type traced struct{}

func (traced) Error() string { return "it broke" }

func (traced) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, "it broke\nmain.main\n\tmain.go:1")
}

// A record has what an error says, in one line: no stack.
func TestTextLogger_ErrorsWithoutStacks(t *testing.T) {
	var out bytes.Buffer
	log := textLogger(&out, slog.LevelWarn)
	log.Warn("lost", "err", traced{}, "n", 1)
	log.Info("not this")
	if got, want := out.String(), "level=WARN msg=lost err=\"it broke\" n=1\n"; !strings.HasSuffix(got, want) {
		t.Errorf("logged %q, want it to end with %q", got, want)
	}
}
