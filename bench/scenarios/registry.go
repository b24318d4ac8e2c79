// Package scenarios is what is measured: a folder NNN-name with a scenario.json for
// each, and the code of those that measure more than rows under load.
package scenarios

import (
	"embed"
	"maps"
	"slices"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/bench/servers"
)

// Files are the scenarios, NNN-name/scenario.json.
//
//go:embed */scenario.json
var Files embed.FS

// NewRegistry returns all that scenarios may name.
func NewRegistry() *harness.Registry {
	return &harness.Registry{Peers: servers.All(), Kinds: experiments,
		Reads: slices.Sorted(maps.Keys(readKinds))}
}

// experiments are the kinds of scenarios that measure something of their own.
var experiments = map[string]harness.Experiment{
	"feed":     measureFeed,
	"wire":     measureWire,
	"tiers":    measureTiers,
	"links":    measureLinks,
	"tracking": measureTracking,
	"lists":    measureLists,
	"mix":      measureMix,
	"nodes":    measureNodes,
}
