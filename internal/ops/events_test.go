package ops_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/ops"
)

func TestEvents_KeepWhatIsLogged(t *testing.T) {
	var text bytes.Buffer
	events := new(ops.Events)
	log := slog.New(events.Handler(slog.NewTextHandler(&text, nil)))
	log.With("source", "main").WithGroup("feed").With("mode", "logical").Warn("lost", "after", 3)
	log.Debug("not told")
	got := events.Since(0)
	if len(got) != 1 || got[0].Number != 1 || got[0].Level != "WARN" || got[0].Message != "lost" {
		t.Fatalf("events: %+v", got)
	}
	want := map[string]string{"source": "main", "feed.mode": "logical", "feed.after": "3"}
	if diff := cmp.Diff(want, got[0].Fields); diff != "" {
		t.Errorf("fields: %s", diff)
	}
	if line := text.String(); !strings.Contains(line, "source=main feed.mode=logical feed.after=3") {
		t.Errorf("the log has %q", line)
	}
}

func TestEvents_KnowWhatHasHappened(t *testing.T) {
	events := new(ops.Events)
	log := slog.New(events.Handler(slog.NewTextHandler(new(bytes.Buffer), nil))).With("source", "main")
	log.With("event", "gap").Warn("lost")
	log.Info("again", "event", "epoch", "epoch", 2)
	log.Info("something else")
	var kinds []string
	for _, e := range events.Since(0) {
		kinds = append(kinds, e.Kind)
		if _, twice := e.Fields["event"]; twice || e.Fields["source"] != "main" {
			t.Errorf("fields: %+v", e.Fields)
		}
	}
	if diff := cmp.Diff([]string{"gap", "epoch", ""}, kinds); diff != "" {
		t.Errorf("kinds: %s", diff)
	}
}

func TestEvents_AreBounded(t *testing.T) {
	events := new(ops.Events)
	log := slog.New(events.Handler(slog.NewTextHandler(new(bytes.Buffer), nil)))
	for i := 1; i <= 1000; i++ {
		log.Info(fmt.Sprint(i))
	}
	got := events.Since(0)
	if len(got) != 256 || got[0].Message != "745" || got[255].Message != "1000" {
		t.Errorf("%d events, from %s to %s", len(got), got[0].Message, got[len(got)-1].Message)
	}
	if got := events.Since(998); len(got) != 2 || got[0].Message != "999" {
		t.Errorf("since 998: %+v", got)
	}
	if got := (*ops.Events)(nil).Since(0); got != nil {
		t.Errorf("without events: %+v", got)
	}
}
