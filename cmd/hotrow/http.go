package main

import (
	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/ops"
)

// serveHTTP starts the server of the resources.
func (s *server) serveHTTP() error {
	ln := s.listeners["http"]
	if ln == nil {
		return nil
	}
	form := s.httpForm()
	if s.cfg().HTTP.TLS.On() {
		form.TLS = s.cert.Config(httpserve.ALPN...)
	}
	var err error
	s.site, err = httpfront.Serve(ln, s.front, form)
	return err
}

// httpForm returns how HTTP is spoken without TLS.
func (s *server) httpForm() httpserve.Options {
	cfg := s.cfg()
	return httpserve.Options{
		Timeouts: httpserve.Timeouts{Read: cfg.HTTP.ReadTimeout()}, Log: s.log,
	}
}

// addHTTP adds what a listener of HTTP does; nil: there is none.
func addHTTP(snap *ops.Snapshot, name string, site *httpserve.Site) {
	if site == nil {
		return
	}
	two := site.HTTP2()
	snap.HTTP = append(snap.HTTP, ops.HTTP{
		Listener: name, Open: site.Stats().Open, Two: two.Open, Streams: two.Streams,
		Refused: two.Refused, Canceled: two.Canceled, Broken: two.Broken,
	})
}
