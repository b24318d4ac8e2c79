package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/config"
	linksfront "github.com/hotrow/hotrow/internal/front/links"
	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/links/api"
	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

// A shortener is what one serve command has of links: its listener, the log of
// clicks and who takes them to the database. The zero shortener is none.
type shortener struct {
	listener net.Listener
	store    source.Store
	log      *clicklog.Log   // nil: nothing is recorded
	drainer  *clicks.Drainer // of log
	front    *linksfront.Front
	site     *httpserve.Site
	api      linksHandlers
	begin    beginning // what is above is not read by others before it is done

	keyless atomic.Bool // that there is no key is known; once there is one, it stays so
}

// on reports whether there is a shortener.
func (l *shortener) on() bool { return l.listener != nil }

const (
	// linksMaxAge is how long browsers keep a permanent redirect: who wants every
	// click counted makes links with status 302 or 307, which no browser keeps.
	linksMaxAge = 90 * time.Second

	// linksMaxStale is how long redirects stay as they were while the database is
	// away: a link that leads where it led is better than none.
	linksMaxStale = 10 * time.Minute
)

// linksSpec returns the resource of links, nil when there is none. keyed says that the
// shortener may have a key.
func linksSpec(cfg *config.Config, keyed bool) *resource.Spec {
	name := cfg.LinksSource()
	if name == "" {
		return nil
	}
	s := linksfront.Spec{
		Source: name, Name: config.LinksResource, Access: resource.Rule(cfg.LinksAccess(keyed)),
		MaxAge: linksMaxAge, MaxStale: linksMaxStale,
	}.Resource()
	return &s
}

// prepareLinks makes the tables of links before anything is compiled over them.
// A database that is away is no error: startLinks waits for it.
func (s *server) prepareLinks(ctx context.Context) error {
	if !s.links.on() {
		return nil
	}
	err := s.makeLinks(ctx)
	if source.ClassOf(err).Passing() {
		s.links.begin.away, err = err, nil
	}
	return err
}

// makeLinks makes the tables of links, and finds what an earlier process has left
// in the log.
func (s *server) makeLinks(ctx context.Context) error {
	cfg := s.cfg()
	store, ok := s.sources[cfg.LinksSource()].(source.Store)
	if !ok {
		return fmt.Errorf("links.database: source %s keeps no tables", cfg.LinksSource())
	}
	s.links.store = store
	report, err := schema.Migrate(ctx, store)
	if err != nil {
		return fmt.Errorf("make the tables of links: %w", err)
	}
	s.log.Info("links", "tables", report.String())
	keys, err := countKeys(ctx, store)
	if err != nil {
		return err
	}
	s.links.keyless.Store(keys == 0)
	fresh := false
	if s.cmd.demo != nil {
		if fresh, err = s.demoLinks(ctx); err != nil {
			return err
		}
	}
	if err := s.openClickLog(ctx); err != nil || !fresh {
		return err
	}
	return s.demoClicks(ctx)
}

// openClickLog opens the log of clicks, if there is to be one and there is none.
func (s *server) openClickLog(ctx context.Context) error {
	cfg := s.cfg()
	if !cfg.Links.Log.Record || s.links.log != nil {
		return nil
	}
	sums, rows, err := clicks.Cursors(ctx, s.links.store)
	if err != nil {
		return err
	}
	log, err := clicklog.Open(clicklog.Options{
		Dir: cfg.LinksDir(), Node: cfg.Links.Log.Node, Loops: linksLoops,
		Keep: int64(cfg.Links.Log.Max), OnFull: onFull[cfg.Links.Log.OnFull],
		Sync: logSync[cfg.Links.Log.Sync], Cursors: sums, Rows: rows, Log: s.log,
		Segment: logSegment(int64(cfg.Links.Log.Max)),
	})
	if err == nil {
		s.links.log = log
	}
	return err
}

// logSegment returns the bytes of one file of a log that has most bytes at most: so many that a
// file is begun seldom, so few that what is given back, a file at a time, is little of it.
func logSegment(most int64) int64 {
	const mebibyte = 1 << 20
	return min(max(most/64/mebibyte*mebibyte, mebibyte), clicklog.DefaultSegment)
}

// linksLoops is how many event loops redirect.
var linksLoops = min(runtime.GOMAXPROCS(0), 32)

// The settings of the log by their names in the configuration.
var (
	onFull  = map[string]clicklog.Policy{"drop": clicklog.Drop, "refuse": clicklog.Refuse}
	logSync = map[string]clicklog.Sync{
		"second": clicklog.SyncSecond, "always": clicklog.SyncAlways, "off": clicklog.SyncOff,
	}
	ipPolicy = map[string]clicks.IPPolicy{
		"mask": clicks.MaskIP, "full": clicks.FullIP, "none": clicks.NoIP,
	}
)

// serveLinks starts the listener of links.
func (s *server) serveLinks(ctx context.Context) error {
	if err := s.makeLinksFront(ctx); err != nil {
		return err
	}
	return s.openLinks()
}

// makeLinksFront makes what answers on the listener of links.
func (s *server) makeLinksFront(ctx context.Context) error {
	cfg := s.cfg()
	if err := s.checkLinksExposure(ctx); err != nil {
		return err
	}
	if err := s.startDrainer(ctx, cfg); err != nil {
		return err
	}
	handlers, err := s.linksHandlers(cfg)
	if err != nil {
		return err
	}
	s.links.api = handlers
	bot, err := clicks.Bots()
	if err != nil {
		return fmt.Errorf("links: %w", err)
	}
	s.links.front, err = linksfront.New(linksfront.Options{
		Resources: s.set, Name: config.LinksResource, Log: s.links.log, Loops: linksLoops,
		Taken: s.linkTaken, Bot: bot, API: handlers.api, Page: handlers.page, Access: s.access,
	}, linksSettings(cfg))
	return err
}

// openLinks begins to answer there.
func (s *server) openLinks() error {
	var err error
	s.links.site, err = s.links.front.Serve(s.links.listener, s.httpForm())
	if err == nil {
		s.links.begin.done.Store(true)
	}
	return err
}

// startDrainer begins to take clicks to the database.
func (s *server) startDrainer(ctx context.Context, cfg *config.Config) error {
	if s.links.log == nil || s.links.drainer != nil {
		return nil
	}
	o := clicks.Options{
		Store: s.links.store, Log: s.links.log, IP: ipPolicy[cfg.Links.IP], Logger: s.log,
		KeepRaw: forEver(cfg.Links.Keep.Clicks), KeepHours: forEver(cfg.Links.Keep.Hours()),
	}
	if path := cfg.LinksCountry(); path != "" {
		var err error
		if o.Countries, err = clicks.LoadCountries(path); err != nil {
			return fmt.Errorf("links.country: %w", err)
		}
	}
	drainer, err := clicks.Start(ctx, o)
	for tries := 0; errors.Is(err, clicks.ErrTaken) && tries < mostTaken; tries++ {
		s.log.Info("another process has taken a writer number of the click log: the log is "+
			"opened again", "err", err)
		if err := s.reopenClickLog(ctx); err != nil {
			return err
		}
		o.Log = s.links.log
		drainer, err = clicks.Start(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("links: %w", err)
	}
	s.links.drainer = drainer
	s.links.drainer.Hold(!cfg.Links.Log.Drain)
	return nil
}

// mostTaken bounds the tries to get numbers that no other process takes at the same time.
// At each of them one of those processes has got what it wanted.
const mostTaken = 64

// reopenClickLog closes the log, to which nobody has written yet, and opens it again with
// what the database knows now.
func (s *server) reopenClickLog(ctx context.Context) error {
	log := s.links.log
	s.links.log = nil
	if err := log.Close(); err != nil {
		return err
	}
	return s.openClickLog(ctx)
}

// forEver returns a time to keep something; 0 in the configuration is for ever.
func forEver(d config.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return time.Duration(d)
}

// linksSettings are what cfg says of redirects.
func linksSettings(cfg *config.Config) linksfront.Settings {
	l := &cfg.Links
	s := linksfront.Settings{
		Fold: l.Case == "fold", Hosts: cfg.LinksHosts(), Proxies: cfg.LinksProxies(),
		MissURL: l.MissURL, Root: l.Root, MissRate: l.Rate.Misses, Orphans: true,
		Own: cfg.LinksPrivate(),
	}
	if l.Shortcut() {
		s.MissCode, s.MissPath = api.ShortcutMissing()
	}
	return s
}

// errClicksAway is why the API says that clicks are not taken to the database.
var errClicksAway = errors.New("the database does not take clicks: they are kept in the log")

// countTries is how often the counts of a link are read until no batch has been
// committed in between.
const countTries = 100

// linkTaken returns how many redirects of a link count against its limit: what the
// database has and what the log has beyond it.
func (s *server) linkTaken(ctx context.Context, id int64) (int64, error) {
	if s.links.drainer == nil {
		return 0, nil
	}
	for range countTries {
		before, version := s.links.drainer.Tail(id)
		taken, err := s.linkPeople(ctx, id, before)
		if err != nil {
			return 0, err
		}
		if _, after := s.links.drainer.Tail(id); after == version && version%2 == 0 {
			return taken, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return 0, errors.New("the database takes clicks all the time")
}

// linkPeople returns how often people have followed a link.
func (s *server) linkPeople(ctx context.Context, id int64, tail clicks.Count) (int64, error) {
	n := tail.Clicks
	err := s.links.store.Query(ctx, "SELECT clicks FROM link_stats WHERE link_id = ?", []any{id},
		func(r source.StoreRow) error { n += r.Int(0); return nil })
	return n, err
}

// reloadLinks makes what a new configuration says of redirects count.
func (s *server) reloadLinks(cfg *config.Config) {
	if !s.links.begin.done.Load() {
		return
	}
	if err := s.links.front.Configure(linksSettings(cfg)); err != nil {
		s.log.Error("links not reloaded, the old settings stay", "err", err)
	}
	if s.links.drainer != nil {
		s.links.drainer.Hold(!cfg.Links.Log.Drain)
	}
}

// checkLinksExposure refuses to let anybody make links on a listener that other
// machines reach, unless that is said.
func (s *server) checkLinksExposure(ctx context.Context) error {
	if !s.links.on() {
		return nil
	}
	return linksExposure(ctx, s.cfg(), s.links.store)
}

// linksExposure is checkLinksExposure for the database of links, which has no tables before the
// first start; nil: it is not there.
func linksExposure(ctx context.Context, cfg *config.Config, store source.Store) error {
	if cfg.Links.Listen.Local() || cfg.Links.Open {
		return nil
	}
	if store != nil {
		n, err := countKeys(ctx, store)
		if err != nil || n > 0 {
			return err
		}
	}
	return config.Problems{cfg.Problem("links.listen", fmt.Sprintf("%s can be reached from other "+
		"machines and there is no key: make one (hotrow links key add NAME --role admin -c FILE), "+
		"or say links.open if making links by anybody is meant", cfg.Links.Listen))}
}

// drainLinks ends the listener of links gently.
func (s *server) drainLinks(ctx context.Context) error {
	s.links.begin.end()
	if s.links.site == nil {
		return nil
	}
	if s.links.api.close != nil {
		s.links.api.close()
		s.links.api.close = nil
	}
	return s.links.site.Shutdown(ctx)
}

// closeLinks closes what is open of links: nobody records any more, then what
// was recorded goes to the database as far as it is there, then the log.
func (s *server) closeLinks() {
	l := &s.links
	l.begin.end()
	if l.site != nil {
		l.site.Close()
	}
	if l.listener != nil {
		_ = l.listener.Close()
	}
	if l.api.close != nil {
		l.api.close()
	}
	if l.drainer != nil {
		_ = l.drainer.Close() // it says in the log what went wrong
	}
	if l.log != nil {
		if err := l.log.Close(); err != nil {
			s.log.Warn("the click log did not close", "err", err)
		}
	}
}

// greetLinks prints where links are.
func (s *server) greetLinks() {
	if !s.links.on() {
		return
	}
	base := s.cfg().LinksBaseURL(s.links.listener.Addr())
	if strings.HasPrefix(base, "http://unix") {
		return
	}
	if s.cmd.demo != nil {
		fmt.Fprintf(s.p.stdout, "  links    %s/+, with a month of clicks\n", base)
	} else {
		fmt.Fprintf(s.p.stdout, "  %s/+  (links)\n", base)
	}
}

// linksHandlers are what answers on the listener of links besides redirects.
type linksHandlers struct {
	api, page http.Handler
	close     func() // ends live streams; nil: there are none
}
