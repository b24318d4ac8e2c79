package fresh

import (
	"hash/maphash"
	"sync"

	"github.com/hotrow/hotrow/internal/row"
)

// simWorded is what documents of resource 0 depend on where the feed does not know the old
// parent of a child: the parent's row, the rows of its children by their parent, and each
// child that was read.
type simWorded struct {
	tables [2]*Table
	parent *TagColumns // of table 0, by its key
	of     *TagColumns // of table 1, by the parent
	child  *TagColumns // of table 1, by its key
}

// simSlots keeps all tags of the simulation apart, by simWordSeed.
const simSlots = 1 << 8

// simWordSeed is a seed of versions by which each tag of the simulation has a slot of its own:
// what a seed of the simulation plays must not depend on this process.
var simWordSeed = sync.OnceValue(func() maphash.Seed {
	for {
		seed, slots := maphash.MakeSeed(), make(map[uint32]bool)
		d := NewDomain(0)
		d.versions.seed = seed
		w := newSimWordedOf(d, simSlots)
		for _, tm := range []*TagColumns{w.parent, w.of, w.child} {
			for _, k := range simKeys {
				slots[tm.slot(string(k))] = true
			}
		}
		if len(slots) == 3*len(simKeys) {
			return seed
		}
	}
})

// newSimWorded makes the versions of a simulation: each tag has a slot of its own, or all
// share one.
func newSimWorded(d *Domain, slots int) *simWorded {
	d.versions.seed = simWordSeed()
	return newSimWordedOf(d, slots)
}

func newSimWordedOf(d *Domain, slots int) *simWorded {
	d.Slots(slots)
	w := &simWorded{tables: [2]*Table{d.NewTable(), d.NewTable()}}
	w.parent = w.tables[0].Register(&TagColumns{Columns: []string{"id"}, Identity: true})
	w.of = w.tables[1].Register(&TagColumns{Columns: []string{"parent"}, Forgets: true})
	w.child = w.tables[1].Register(
		&TagColumns{Columns: []string{"id"}, Forgets: true, Identity: true})
	return w
}

// question is what is known of a document of a resource before it is read.
func (w *simWorded) question(resource int, k row.Key) *Question {
	if resource == 1 {
		return &Question{Tags: []Tag{{w.tables[1], w.child, string(k)}}}
	}
	return &Question{
		Tags: []Tag{{w.tables[0], w.parent, string(k)}, {w.tables[1], w.of, string(k)}},
		Read: []*Table{w.tables[1]},
	}
}

// found are the tags of the children that were read.
func (w *simWorded) found(rows []int) []Tag {
	list := make([]Tag, len(rows))
	for i, c := range rows {
		list[i] = Tag{w.tables[1], w.child, string(simKeys[c])}
	}
	return list
}

// moved is what tx means for versions. A write knows its rows as they were; the feed does not.
func (w *simWorded) moved(d *Domain, tx *simTx, old bool) *InvalidationSet {
	m := d.NewSet()
	for t, whole := range tx.whole {
		if whole {
			m.Whole(w.tables[t])
		}
	}
	for _, op := range tx.ops {
		t := w.tables[op.table]
		if tx.bulk {
			m.Whole(t)
			continue
		}
		id := string(simKeys[op.row])
		was, is := cells{"id": id}, cells{"id": id}
		if op.table == 1 {
			was, is = childCells(id, op.from), childCells(id, op.to)
			if !old && was != nil {
				delete(was, "parent")
			}
		}
		m.Row(t, was.values(), is.values())
	}
	return m
}

// childCells are the columns of a child; nil: it is not there.
func childCells(id string, parent int) cells {
	if parent == nobody {
		return nil
	}
	return cells{"id": id, "parent": string(simKeys[parent])}
}
