package main

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/fallback"
	"github.com/hotrow/hotrow/internal/front"
	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/source"
)

// A behindServer is the one that answers for the profile, as it is configured.
type behindServer struct {
	cfg    config.Fallback
	server *fallback.Server
}

// setFallback makes the fallback of cfg the one that is asked. While its settings are the same,
// its connections and counts stay.
func (s *server) setFallback(cfg *config.Config) (*behindServer, error) {
	f := cfg.HTTP.Postgrest.Fallback
	now := s.behind.Load()
	switch {
	case now != nil && reflect.DeepEqual(now.cfg, f):
		return now, nil
	case !f.On():
		s.behind.Store(nil)
	default:
		u, err := fallback.Parse(f.URL)
		if err != nil {
			return nil, err
		}
		s.behind.Store(&behindServer{cfg: f, server: fallback.New(fallback.Options{
			URL: u, Most: front.ListBytes, Log: s.log})})
	}
	if now != nil {
		now.server.Close()
	}
	return s.behind.Load(), nil
}

// fallback returns what the front is told of the fallback; nil: there is none.
func (s *server) fallback(cfg *config.Config) *httpfront.Fallback {
	b, err := s.setFallback(cfg)
	if err != nil || b == nil { // the configuration was checked
		return nil
	}
	f := &httpfront.Fallback{Server: b.server, Source: cfg.FallbackSource(),
		Headers: b.cfg.Headers, Costly: b.cfg.Costly, Monotonic: b.cfg.Monotonic,
		Shut: make(map[string]bool)}
	for name, r := range cfg.Resources {
		f.Shut[name] = !r.Fallback
	}
	left := &leftOut{source: s.sources[f.Source], s: s}
	f.LeftOut = left.schemaOf
	return f
}

// leftOut is which tables of a source are no resources, for their kind or their policy. Each
// configuration has one of its own.
type leftOut struct {
	source source.Source
	s      *server

	mu    sync.Mutex        // guards what follows; held while the catalogue is read
	names map[string]string // of such tables, their schemas by their names and their IDs
	until time.Time         // the catalogue is read again
}

const (
	leftOutFor   = 10 * time.Second // it is known which tables are left out
	leftOutWait  = 5 * time.Second  // that a request waits for that
	leftOutAgain = time.Second      // after the catalogue could not be read
)

// schemaOf returns the schema of such a table. "" for schema is the default.
func (l *leftOut) schemaOf(ctx context.Context, schema, name string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.After(l.until) {
		l.read(ctx, now)
	}
	switch {
	case schema != "":
		name = schema + "." + name
	case strings.Contains(name, "."): // it would be a schema's
		return "", false
	}
	of, ok := l.names[name]
	return of, ok
}

// read reads the catalogue. l.mu is held.
func (l *leftOut) read(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leftOutWait)
	defer cancel()
	l.names, l.until = nil, now.Add(leftOutAgain)
	cat, err := l.source.Catalog(ctx)
	if err != nil {
		l.s.log.Warn("it is not known which tables the fallback may be asked for", "err", err)
		return
	}
	l.names, l.until = make(map[string]string), now.Add(leftOutFor)
	bySchema := make(map[string][]string)
	for i := range cat.Tables {
		t := &cat.Tables[i]
		bySchema[t.Schema] = append(bySchema[t.Schema], t.Name)
	}
	for _, t := range httpfront.LeftOut(cat, l.s.set) {
		if slices.Contains(schema.Own(bySchema[t.Schema]), t.Name) {
			continue // what visitors of links are told apart by is in there
		}
		if l.names[t.ID()] = t.Schema; t.Default {
			l.names[t.Name] = t.Schema
		}
	}
}

// fallbackSnapshot returns what is counted of the fallback; nil: there is none.
func (s *server) fallbackSnapshot() *ops.Fallback {
	b := s.behind.Load()
	if b == nil {
		return nil
	}
	st := ops.Fallback(b.server.Stats())
	return &st
}
