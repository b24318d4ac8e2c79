package main

import "github.com/hotrow/hotrow/internal/trace"

// openTracer sends spans to where the configuration says, if it does.
func (s *server) openTracer() {
	t := s.cfg().Trace
	if t.Endpoint == "" {
		return
	}
	share := 0.0
	if t.Sample > 0 {
		share = 1 / float64(t.Sample)
	}
	version, _ := buildVersion()
	s.tracer = trace.New(trace.Options{Endpoint: t.Endpoint, Sample: share, Version: version,
		Log: s.log})
}
