package main

import (
	"cmp"
	"net"
	"strings"

	"github.com/hotrow/hotrow/internal/config"
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

// pages are what the page at / leads to.
func (s *server) pages(cfg *config.Config) httpfront.Pages {
	p := httpfront.Pages{Pages: s.tabs(cfg)}
	if ln := s.listeners["resp"]; ln != nil && ln.Addr().Network() == "tcp" && !cfg.RESP.TLS {
		_, p.Redis, _ = net.SplitHostPort(ln.Addr().String())
		names, k := keyNames(cfg), cfg.KV
		p.RedisKey = func(resource string) string {
			return k.Prefix + cmp.Or(names[resource], resource) + k.Separator
		}
	}
	return p
}
