package main

import (
	"github.com/hotrow/hotrow/internal/admit"
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
	addRefused(snap, name, site.Refused())
	two := site.HTTP2()
	snap.HTTP = append(snap.HTTP, ops.HTTP{
		Listener: name, Open: site.Stats().Open, Two: two.Open, Streams: two.Streams,
		Refused: two.Refused, Canceled: two.Canceled, Broken: two.Broken,
	})
}

// addRefused adds what a listener has refused.
func addRefused(snap *ops.Snapshot, name string, r admit.Refused) {
	snap.Refused = append(snap.Refused, ops.Refused{
		Listener: name, Connections: r.Connections, OfOne: r.OfOne, Handshakes: r.Handshakes,
	})
}
