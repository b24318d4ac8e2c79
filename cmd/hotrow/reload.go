package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/supervisor"
)

// whatChanges begins what changes the resources while they are served: the search
// for the tables of a TARGET, and a reload at every SIGHUP. stop ends it and waits: what
// they build must be there to be closed, and what they build on must not be closed
// yet.
func (s *server) whatChanges(ctx context.Context, failed chan<- error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var under sync.WaitGroup
	if s.cmd.Target != "" {
		under.Go(func() { s.discover(ctx, failed) })
	}
	under.Go(func() { s.watchKeys(ctx) })
	under.Go(func() { s.findNewTables(ctx) })
	under.Go(func() { s.watchLosses(ctx) })
	under.Go(func() {
		for {
			select {
			case <-s.hangups:
				supervisor.Reloading(s.log)
				s.reload(ctx)
				supervisor.Ready(s.log, s.statusLine())
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		under.Wait()
	}
}

// keepHangups keeps a SIGHUP until whatChanges, whenever it comes: nobody who hangs up a process
// that starts, or stops, wants it killed.
func (s *server) keepHangups() (stop func()) {
	s.hangups = make(chan os.Signal, 1)
	if hangup != nil {
		signal.Notify(s.hangups, hangup)
	}
	return func() { signal.Stop(s.hangups) }
}

// newTablesPause is between two searches for tables that are new: each compiles all tables.
const newTablesPause = time.Second

// wantTables has it looked which tables a TARGET has: one is there that is not followed.
func (s *server) wantTables() {
	select {
	case s.newTables <- struct{}{}:
	default:
	}
}

// findNewTables does so, once the tables of the start have been found.
func (s *server) findNewTables(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.newTables:
		}
		if s.cmd.Config == "" && s.cmd.Target != "" && s.discovered.Load() {
			s.changing.Lock()
			s.rediscover(ctx)
			s.changing.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(newTablesPause):
		}
	}
}

// rediscover looks again which tables a TARGET has.
func (s *server) rediscover(ctx context.Context) {
	s.renewCertificate(s.cfg())
	if s.cmd.Target == "" {
		if !s.cfg().HTTP.TLS.On() {
			s.log.Warn("nothing to reload: there is no configuration file")
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := s.findTables(ctx); err != nil {
		s.log.Error("tables not discovered again, the old ones stay", "event", "reload", "err", err)
		return
	}
	s.front.Configure(s.frontOptions(s.cfg()))
	for _, p := range s.protocols { // what is no more is forgotten
		p.front.configure(s.cfg())
	}
	s.log.Info("tables discovered again", "event", "reload", "resources", len(s.cfg().Resources))
}

// findTables makes the tables that the database of a TARGET has now what is
// served. It returns what the database calls itself.
func (s *server) findTables(ctx context.Context) (server string, err error) {
	cfg, server, leftOut, err := discover(ctx, s.cfg(), s.sources["main"], "main", s.cmd.Writable)
	if err != nil {
		return "", err
	}
	for _, o := range leftOut {
		if o.Conflict {
			s.log.Warn("left out", "what", o.String())
			continue
		}
		s.log.Info("left out", "what", o.String())
	}
	if err = s.reloadSet(ctx, cfg); err != nil && s.leaveOut(cfg, err) {
		err = s.reloadSet(ctx, cfg)
	}
	if err != nil {
		return "", err
	}
	s.live.Store(cfg)
	return server, nil
}

// leaveOut takes the tables that cannot be compiled out of cfg, which Discover has made. It
// reports false if there is another error, or no table left.
func (s *server) leaveOut(cfg *config.Config, err error) bool {
	bad := resource.Uncompiled(err)
	left := len(cfg.Resources)
	for name := range bad {
		if cfg.Resources[name] == nil { // one of hotrow's own
			return false
		}
		left--
	}
	if len(bad) == 0 || left == 0 {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		s.log.Warn("left out", "what", "table "+cfg.Resources[name].Table, "err", bad[name])
		delete(cfg.Resources, name)
	}
	return true
}

// reload reads the configuration file again. When anything is wrong with it
// nothing changes, and the log says what. Listeners and sources need a restart:
// a change of them is told and left alone.
func (s *server) reload(ctx context.Context) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.reopenAccessLog()
	if s.cmd.Config == "" {
		s.rediscover(ctx)
		return
	}
	cfg, warnings, err := config.Load(s.cmd.Config, s.p.env)
	if err == nil {
		err = cfg.CheckExposure(s.cmd.Open)
	}
	if err == nil && len(cfg.Resources) == 0 && len(s.cfg().Resources) > 0 {
		err = errors.New("it has no resource: an empty or cut file is taken for a mistake")
	}
	if err == nil {
		err = cfg.CheckServes()
	}
	if err != nil {
		s.log.Error("configuration not reloaded, the old one stays", "event", "reload", "err", err)
		return
	}
	for _, w := range warnings {
		s.log.Warn("configuration", "warning", w.String())
	}
	if keys := config.NeedsRestart(s.cfg(), cfg); len(keys) > 0 {
		s.log.Warn("changed keys that count only after a restart", "keys", strings.Join(keys, ", "))
		cfg.Sources = s.cfg().Sources
	}
	if cfg.HTTP.TLS.On() != s.cfg().HTTP.TLS.On() {
		cfg.HTTP.TLS = s.cfg().HTTP.TLS
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := s.reloadSet(ctx, cfg); err != nil {
		s.log.Error("configuration not reloaded, the old one stays", "event", "reload", "err", err)
		return
	}
	if err := s.setTokens(s.cfg(), cfg); err != nil {
		s.log.Error("tokens not reloaded", "err", err)
		return
	}
	s.renewCertificate(cfg)
	level.Set(levels[cfg.Log.Level])
	s.changeAccessLog(cfg)
	s.front.Configure(s.frontOptions(cfg))
	s.reloadLinks(cfg)
	for _, p := range s.protocols {
		p.front.configure(cfg)
	}
	s.live.Store(cfg)
	s.log.Info("configuration reloaded", "event", "reload", "resources", len(cfg.Resources))
}

// reloadSet makes the resources of cfg the ones that are served.
func (s *server) reloadSet(ctx context.Context, cfg *config.Config) error {
	specs, err := resourceSpecs(cfg, !s.links.keyless.Load())
	if err != nil {
		return err
	}
	return s.set.Reload(ctx, specs)
}
