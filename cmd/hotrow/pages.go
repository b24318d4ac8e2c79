package main

import (
	"cmp"
	"net"
	"strings"

	"github.com/hotrow/hotrow/internal/config"
	httpfront "github.com/hotrow/hotrow/internal/front/http"
)

// pages are what the page at / leads to: what is bound.
func (s *server) pages(cfg *config.Config) (p httpfront.Pages) {
	if at := baseURL(s.listeners["ops"], false); strings.HasPrefix(at, "http") {
		p.Console = at + "/"
	}
	if ln := s.listeners["links"]; ln != nil {
		if at := cfg.LinksBaseURL(ln.Addr()); strings.HasPrefix(at, "http") {
			p.Links = strings.TrimSuffix(at, "/") + "/+"
		}
	}
	if ln := s.listeners["resp"]; ln != nil && ln.Addr().Network() == "tcp" && !cfg.RESP.TLS {
		_, p.Redis, _ = net.SplitHostPort(ln.Addr().String())
		names, k := keyNames(cfg), cfg.KV
		p.RedisKey = func(resource string) string {
			return k.Prefix + cmp.Or(names[resource], resource) + k.Separator
		}
	}
	return p
}
