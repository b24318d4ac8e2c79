package sqlcache

import (
	"slices"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/sqlread"
)

// A meaning is what names in statements mean, as one snapshot of the catalogue has it. It never
// changes.
type meaning struct {
	*source.Definitions
	number   uint64 // each has another one
	again    bool   // the next reading begins another, whatever it finds
	bySchema map[string]map[string]*relation
	code     map[string]bool // names of what runs code of users
}

// A relation is one with what a change of its rows does.
type relation struct {
	*source.Relation
	id     string        // as source.Table.ID
	proved bool          // a change of a row runs no code of users, wherever it reaches
	writes []string      // the tables that a change may change, by their ids
	types  sqlread.Table // its columns
}

func newMeaning(d *source.Definitions, number uint64) *meaning {
	m := &meaning{Definitions: d, number: number, code: make(map[string]bool),
		bySchema: make(map[string]map[string]*relation)}
	for _, name := range d.Names {
		m.code[name] = true
	}
	byOID := make(map[uint32]*relation, len(d.Relations))
	for i := range d.Relations {
		r := &relation{Relation: &d.Relations[i]}
		r.id = r.Schema + "." + r.Name
		for _, c := range r.Columns {
			r.types.Columns = append(r.types.Columns, c.Name)
			r.types.Types = append(r.types.Types, c.Type)
		}
		names := m.bySchema[r.Schema]
		if names == nil {
			names = make(map[string]*relation)
			m.bySchema[r.Schema] = names
		}
		names[r.Name] = r
		byOID[r.OID] = r
	}
	for _, r := range byOID {
		r.reach(byOID)
	}
	return m
}

// reach finds what a change of a row changes along foreign keys.
func (r *relation) reach(byOID map[uint32]*relation) {
	r.proved = true
	seen := []uint32{r.OID}
	for i := 0; i < len(seen); i++ {
		at := byOID[seen[i]]
		if at == nil || !at.Plain {
			r.proved = false
			return
		}
		r.writes = append(r.writes, at.id)
		for _, oid := range at.Reaches {
			if !slices.Contains(seen, oid) {
				seen = append(seen, oid)
			}
		}
	}
}

// find returns the relation that a name means to a session; nil: none of users' that is known.
func (m *meaning) find(schema, name sqlread.Name, f *Fingerprint) *relation {
	if !schema.IsEmpty() {
		return m.bySchema[schema.String()][name.String()]
	}
	text := name.String()
	for _, s := range f.Schemas {
		if r := m.bySchema[s][text]; r != nil {
			return r
		}
	}
	return nil
}

// runsCode reports whether a statement with these names may run code of users.
func (m *meaning) runsCode(names []string) bool {
	return m.Operators || slices.ContainsFunc(names, func(n string) bool { return m.code[n] })
}
