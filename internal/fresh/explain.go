package fresh

// A VersionKind says what moves a version.
type VersionKind uint8

// The kinds of versions.
const (
	VersionAll   VersionKind = iota // anything may have changed
	VersionWhole                    // rows of a table have changed that nobody can name
	VersionAny                      // any row of a table has changed
	VersionTag                      // a row has changed with these values, or others of its slot
)

// A Version is what has become of one version that a copy depends on, for people.
type Version struct {
	Kind  VersionKind
	Table *Table // of VersionWhole and VersionAny
	Slot  uint32 // of VersionTag
	Stamp uint64 // the clock when it was moved last; 0: never
	Marks int    // of changes that are not settled
	Cause Cause  // what that means for the copy
}

// Versions returns the versions that c depends on, as they are now. Each is read by itself.
func (c *ReadSet) Versions() []Version {
	w := c.space.domain.versions
	list := []Version{c.version(Version{Kind: VersionAll}, w.load(&w.all.v))}
	for i := range c.deps.tables {
		t := &c.deps.tables[i]
		whole := Version{Kind: VersionWhole, Table: t.table}
		list = append(list, c.version(whole, w.load(&t.table.whole.v)))
		if t.any {
			version := Version{Kind: VersionAny, Table: t.table}
			list = append(list, c.version(version, w.load(&t.table.version.v)))
		}
	}
	for _, s := range c.deps.slots {
		list = append(list, c.version(Version{Kind: VersionTag, Slot: s}, w.load(&w.slots[s])))
	}
	return list
}

func (c *ReadSet) version(x Version, v uint64) Version {
	x.Stamp, x.Marks, x.Cause = v>>dirtyBits, int(v&dirtyMask), Cause(since(v, c.c0))
	return x
}

// Clock returns the clock of versions when c was read: a version with a later stamp has moved
// since.
func (c *ReadSet) Clock() uint64 { return c.c0 }

// Outlived reports whether c is of an epoch that has ended, and whether everything of its
// space was forgotten since it was read.
func (c *ReadSet) Outlived() (epoch, forgotten bool) {
	d := c.space.domain
	return c.epoch != d.versions.load(&d.epoch), c.generation != c.space.generation.Load()
}

// Slot returns the slot of a tag's version. It reports false for all rows of a table.
func (c *Tag) Slot() (uint32, bool) {
	if c.TagColumns == nil {
		return 0, false
	}
	return c.TagColumns.slot(c.Key), true
}

// Counts reports whether a load that begins now may name tags of tm.
func (tm *TagColumns) Counts() bool {
	w := tm.table.versions
	return tm.counts(w.load(&w.clock.v))
}
