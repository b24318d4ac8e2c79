package proxy

import (
	"context"
	"net/netip"
	"strings"
)

// lookup returns the addresses of an origin, which may be an address itself.
func (s *Server) lookup(ctx context.Context, o origin) (all []netip.Addr, literal bool, err error) {
	if o.path != "" {
		return []netip.Addr{{}}, true, nil
	}
	if a, err := netip.ParseAddr(o.name); err == nil {
		return []netip.Addr{a.Unmap()}, true, nil
	}
	found, err := s.opts.Resolver.LookupNetIP(ctx, "ip", strings.TrimSuffix(o.name, "."))
	if err != nil {
		return nil, false, err
	}
	for _, a := range found {
		all = append(all, a.Unmap())
	}
	return all, false, nil
}
