package main

import (
	"log/slog"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/trace"
)

// newTracer returns what sends spans to the endpoint of t, which is checked; nil without one.
func newTracer(t config.Trace, log *slog.Logger) *trace.Tracer {
	if t.Endpoint == "" {
		return nil
	}
	share := 0.0
	if t.Sample > 0 {
		share = 1 / float64(t.Sample)
	}
	version, _ := buildVersion()
	return trace.New(trace.Options{Endpoint: t.Endpoint, Sample: share, Version: version,
		Log: log})
}
