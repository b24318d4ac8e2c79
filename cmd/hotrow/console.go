package main

import (
	"context"
	"maps"
	"slices"
	"time"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/hotkeys"
	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// hottestShown is how many keys of each kind are told.
const hottestShown = 10

// hottest returns the keys that are read and changed most, as requests name them.
func (s *server) hottest() ops.Hottest {
	r := s.hot.Look(hottestShown, time.Now())
	return ops.Hottest{Read: s.paths(r.Read), Changed: s.paths(r.Changed)}
}

func (s *server) paths(list []hotkeys.Key) []ops.HotKey {
	all := make([]ops.HotKey, 0, len(list))
	for _, k := range list {
		path := "/" + k.Resource + "/" + k.Key
		if r, ok := s.set.Lookup(k.Resource); ok {
			path = httpfront.DocumentPath(k.Resource, row.Key(k.Key), len(r.KeyType()))
		}
		all = append(all, ops.HotKey{Path: path, Reads: k.Reads, Changes: k.Changes})
	}
	return all
}

// examine looks at every source as hotrow doctor does.
func (s *server) examine(ctx context.Context) ([]ops.Finding, error) {
	cfg := s.cfg()
	specs, err := followedSpecs(cfg)
	if err != nil {
		return nil, err
	}
	var all []ops.Finding
	for _, name := range slices.Sorted(maps.Keys(s.sources)) {
		src := s.sources[name]
		tables, findings := watched(ctx, src, name, cfg, specs, listsOf(cfg))
		findings = append(findings, s.observed(name, tables)...)
		found, err := src.Doctor(ctx, source.FeedMode(cfg.Sources[name].Feed.Mode), tables)
		if err != nil { // nothing else that is found then is of use
			all = append(all, ops.Finding{Source: name, Level: levelNames[source.LevelError],
				Text: "the database cannot be looked at: " + err.Error()})
			continue
		}
		findings = append(findings, sqlFindings(ctx, cfg, name)...)
		for i := range specs {
			if f, ok := unkept(cfg.Sources[name], &specs[i]); ok && specs[i].Source == name {
				findings = append(findings, f)
			}
		}
		for _, f := range append(findings, found...) {
			all = append(all, ops.Finding{Source: name, Level: levelNames[f.Level], Text: f.Text,
				Why: f.Why, SQL: f.Apply, ByHand: f.ByHand})
		}
	}
	return all, nil
}
