package main

import (
	"log/slog"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/trace"
)

// openTracer sends spans to where the configuration says, if it does.
func (s *server) openTracer() (err error) {
	s.tracer, err = newTracer(s.cfg().Trace, s.log)
	return err
}

// newTracer returns what sends spans to the endpoint of t; nil without one.
func newTracer(t config.Trace, log *slog.Logger) (*trace.Tracer, error) {
	if t.Endpoint == "" {
		return nil, nil
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	share := 0.0
	if t.Sample > 0 {
		share = 1 / float64(t.Sample)
	}
	version, _ := buildVersion()
	return trace.New(trace.Options{Endpoint: t.Endpoint, Sample: share, Version: version,
		Log: log}), nil
}
