package main

import (
	"net/http"

	"github.com/hotrow/hotrow/internal/front"
)

// Who may have the console at the HTTP port. Unlike the operator's port this one is for everybody,
// and a proxy in front of it need not say that it is one (see front.FromHere). So where there is a
// configuration file only a token opens the console.

// inside returns the console for who sends a request; nil: there is none for him.
func (s *server) inside(r *http.Request) http.Handler {
	if s.cfg().Ops.Listen.Off() || !s.cfg().HasOperator() && !s.fromOwner(r) {
		return nil
	}
	return s.console
}

// makeConsole makes what answers at the operator's port, and its console for the HTTP port.
func (s *server) makeConsole() {
	s.port = s.opsHandler()
	pages := s.tabs(s.cfg())
	pages.Rows, pages.Inside = "../../../", "./"
	s.console = s.port.Console(s.authorizeInside, pages)
}

// authorizeInside is authorizeOps for a request at the HTTP port.
func (s *server) authorizeInside(r *http.Request) error {
	if s.fromOwner(r) {
		return nil
	}
	return s.operatorToken(r)
}

// fromOwner reports whether a request at the HTTP port comes from who has typed the command that
// runs: nothing is configured that speaks of others, and it comes from this machine. Old proxies
// add no header, but ask in HTTP/1.0; of HTTP/2 the headers that they add do not come this far.
func (s *server) fromOwner(r *http.Request) bool {
	cfg := s.cfg()
	return s.cmd.Config == "" && !s.cmd.Open && cfg.OpsPrivate() && cfg.HTTPPrivate() &&
		r.Proto == "HTTP/1.1" && front.FromHere(r)
}
