package fresh

import "slices"

// mostRows is how many rows a InvalidationSet names; of further ones it names the table's whole.
const mostRows = 10_000

// NewSet returns an empty InvalidationSet.
func (d *Domain) NewSet() *InvalidationSet { return &InvalidationSet{versions: d.versions} }

// Values give the texts that tag columns have in a row, joined as a key
// is. They report false if they are not known.
type Values func(tm *TagColumns) (key string, ok bool)

// Row says that a row of t has changed: what its columns were, and are. nil: there was
// no row, or is none. What is not known of the old row is not moved: whoever reads t
// names the rows that it has read (TagColumns.Identity), or the tag Unseen (TagColumns.OldUnknown).
// What is not known of the new row moves the whole.
//
// It is called under the same lock as Register, and m is given to Apply or Hold
// before that is released: its tags are those of the templates of now.
func (m *InvalidationSet) Row(t *Table, old, new Values) {
	m.table(t)
	if m.rows++; m.rows > mostRows {
		m.Whole(t)
	}
	if slices.Contains(m.wholes, t) {
		return
	}
	for _, tm := range t.tagColumns {
		if old != nil {
			key, ok := old(tm)
			switch {
			case ok:
				m.slots = append(m.slots, tm.slot(key))
			case tm.OldUnknown:
				m.slots = append(m.slots, tm.slot(Unseen))
			case tm.Identity || !tm.Forgets:
				m.Whole(t)
				return
			}
		}
		if new != nil {
			key, ok := new(tm)
			if !ok {
				m.Whole(t)
				return
			}
			m.slots = append(m.slots, tm.slot(key))
		}
	}
}

// Whole says that nobody knows which rows of t have changed.
func (m *InvalidationSet) Whole(t *Table) {
	m.table(t)
	if !slices.Contains(m.wholes, t) {
		m.wholes = append(m.wholes, t)
	}
}

// Any says that every table may have changed.
func (m *InvalidationSet) Any() { m.all = true }

// Empty reports whether nothing has changed.
func (m *InvalidationSet) Empty() bool { return len(m.tables) == 0 && !m.all }

func (m *InvalidationSet) table(t *Table) {
	if !slices.Contains(m.tables, t) {
		m.tables = append(m.tables, t)
	}
}

// compact leaves each slot once.
func (m *InvalidationSet) compact() {
	if len(m.slots) > 1 {
		slices.Sort(m.slots)
		m.slots = slices.Compact(m.slots)
	}
}

// Invalidation returns m as a part of what a transaction means.
func (m *InvalidationSet) Invalidation() Invalidation {
	m.compact()
	return Invalidation{InvalidationSet: m}
}
