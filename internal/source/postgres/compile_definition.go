package postgres

import (
	"slices"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// definition returns what c has found, once all is compiled.
func (c *compiler) definition(deps []source.Dep) feed.Definition {
	def := feed.Definition{Views: unique(c.views), Procs: unique(c.procs), Types: unique(c.results)}
	for _, d := range deps {
		if !slices.Contains(def.Tables, d.Table) {
			def.Tables = append(def.Tables, d.Table)
		}
	}
	return def
}

// unique returns oids sorted, each once; nil for none.
func unique(oids []uint32) []uint32 {
	slices.Sort(oids)
	return slices.Compact(oids)
}
