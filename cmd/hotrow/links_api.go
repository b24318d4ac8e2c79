package main

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/api"
	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/links/page"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// linksHandlers returns the API and the page of links.
func (s *server) linksHandlers(cfg *config.Config) (linksHandlers, error) {
	l := &cfg.Links
	base := cfg.LinksBaseURL(s.links.listener.Addr())
	rules, err := links.NewRules(links.Options{
		BaseURL: base, Aliases: l.Hosts, Schemes: l.Schemes,
		DenyPrivate: l.Private == "deny", Status: l.Status,
		ExactCase: l.Case == "exact",
	})
	if err != nil {
		return linksHandlers{}, err
	}
	deps := links.Deps{DB: s.links.store, Rules: rules, Changed: s.linksChanged,
		Watch: s.watchLinks, Log: s.log}
	stats := &links.Stats{DB: s.links.store}
	keys := links.NewKeys(s.links.store, nil)
	keys.Made = s.linksKeyed
	o := api.Options{
		Keys: keys, Stats: stats, Open: l.Open,
		Private:    func() bool { return s.cfg().LinksPrivate() },
		CreateRate: l.Rate.Create, Log: s.log,
		ClientIP: func(r *http.Request) netip.Addr { return s.links.front.ClientIP(r) },
	}
	if s.links.drainer != nil {
		deps.Tail, stats.Tail = s.links.drainer, s.links.drainer
		o.Live, o.State = s.links.drainer, s.linksState
		o.Record = func(r *clicklog.Record) bool {
			seq, ok := s.links.log.Shared().Append(r)
			return ok && seq != 0
		}
	}
	if l.Shortcut() {
		secret := []byte(l.JWTSecret.Reveal())
		if o.Shortcut, err = api.NewShortcut(s.links.store, secret); err != nil {
			return linksHandlers{}, fmt.Errorf("links.jwt_secret: %w", err)
		}
	}
	o.Links = links.NewStore(deps)
	h := api.New(o)
	p, err := page.New(page.Options{API: h, BaseURL: base, Fold: l.Case == "fold",
		Pages: s.tabs(cfg)})
	if err != nil {
		return linksHandlers{}, fmt.Errorf("the page of links: %w", err)
	}
	end := func() {
		h.Close()
		o.Links.Close()
	}
	return linksHandlers{api: signedIn{h, p}, page: startPage{p}, close: end}, nil
}

// signedIn gives the page what it answers of the API's paths: those of visitors
// who have signed in there.
type signedIn struct {
	api  http.Handler
	page *page.Page
}

// ServeHTTP answers one request.
func (h signedIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		h.page.ServeHTTP(w, r)
		return
	}
	h.api.ServeHTTP(w, r)
}

// startPage is the page, to which the root leads.
type startPage struct{ *page.Page }

// ServeHTTP answers one request.
func (h startPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		http.Redirect(w, r, "/+", http.StatusFound)
		return
	}
	h.Page.ServeHTTP(w, r)
}

// linksChanged forgets what memory has of links that the API has changed, before
// it says so: who then follows one must not be sent where it led before.
func (s *server) linksChanged(_ context.Context, _ source.Position, codes []string) {
	r, ok := s.set.Lookup(config.LinksResource)
	if !ok {
		return
	}
	for _, code := range codes {
		if err := r.Forget(row.Key(code)); err != nil {
			s.log.Warn("a changed link is still in memory", "code", code, "err", err)
		}
	}
}

// linksState says how the recording of clicks is.
func (s *server) linksState() api.State {
	drained, log := s.links.drainer.Stats(), s.links.log.Stats()
	state := api.State{
		Lag: drained.Lag, Pending: drained.Tail, Full: log.Full != "",
		Lost: int64(log.Dropped + log.Refused + drained.Poison + drained.Bad),
	}
	if drained.Away {
		state.Err = errClicksAway
	}
	return state
}
