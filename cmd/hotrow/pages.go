package main

import (
	"cmp"
	"net"
	"net/http"
	"strings"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front"
	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/webpage"
)

// tabs are the pages for people, at what is bound.
func (s *server) tabs(cfg *config.Config) (p webpage.Pages) {
	if at := baseURL(s.listeners["http"], cfg.HTTP.TLS.On()); at != "" {
		p.Rows = at + strings.TrimSuffix(cfg.HTTP.BasePath, "/") + "/"
	}
	if at := baseURL(s.listeners["ops"], false); at != "" {
		p.Inside = at + "/"
	}
	if ln := s.listeners["links"]; ln != nil {
		p.Links = cfg.LinksBaseURL(ln.Addr()) + "/+"
	}
	return p
}

// tabsFor are those of the page at / for who sends a request.
func (s *server) tabsFor(r *http.Request) webpage.Pages {
	p := s.tabs(s.cfg())
	p.Rows = "#/"
	switch {
	case s.inside(r) != nil && s.authorizeInside(r) == nil:
		p.Inside = "." + httpfront.ConsolePath
	case !front.FromHere(r): // the operator's port is nothing to tell others of
		p.Inside = ""
	}
	return p
}

// pages are what the page at / leads to.
func (s *server) pages(cfg *config.Config) httpfront.Pages {
	p := httpfront.Pages{Tabs: s.tabsFor, Console: s.inside}
	if ln := s.listeners["resp"]; ln != nil && ln.Addr().Network() == "tcp" && !cfg.RESP.TLS {
		_, p.Redis, _ = net.SplitHostPort(ln.Addr().String())
		names, k := keyNames(cfg), cfg.KV
		p.RedisKey = func(resource string) string {
			return k.Prefix + cmp.Or(names[resource], resource) + k.Separator
		}
	}
	return p
}
