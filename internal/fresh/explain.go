package fresh

// A WordKind says what moves a word.
type WordKind uint8

// The kinds of words.
const (
	WordAll   WordKind = iota // anything may have changed
	WordWhole                 // rows of a table have changed that nobody can name
	WordAny                   // any row of a table has changed
	WordClass                 // a row has changed that has these values, or others of the same slot
)

// A Word is what has become of one word that a copy depends on, for people.
type Word struct {
	Kind  WordKind
	Table *Table // of WordWhole and WordAny
	Slot  uint32 // of WordClass
	Stamp uint64 // the clock when it was moved last; 0: never
	Marks int    // of changes that are not settled
	Cause Cause  // what that means for the copy
}

// Words returns the words that c depends on, as they are now. Each is read by itself.
func (c *Copy) Words() []Word {
	w := c.space.domain.words
	list := []Word{c.word(Word{Kind: WordAll}, w.load(&w.all.v))}
	for i := range c.deps.tables {
		t := &c.deps.tables[i]
		whole := Word{Kind: WordWhole, Table: t.table}
		list = append(list, c.word(whole, w.load(&t.table.whole.v)))
		if t.any {
			word := Word{Kind: WordAny, Table: t.table}
			list = append(list, c.word(word, w.load(&t.table.word.v)))
		}
	}
	for _, s := range c.deps.slots {
		list = append(list, c.word(Word{Kind: WordClass, Slot: s}, w.load(&w.slots[s])))
	}
	return list
}

func (c *Copy) word(x Word, v uint64) Word {
	x.Stamp, x.Marks, x.Cause = v>>dirtyBits, int(v&dirtyMask), Cause(since(v, c.c0))
	return x
}

// Clock returns the clock of words when c was read: a word with a later stamp has moved
// since.
func (c *Copy) Clock() uint64 { return c.c0 }

// Outlived reports whether c is of an epoch that has ended, and whether everything of its
// space was forgotten since it was read.
func (c *Copy) Outlived() (epoch, forgotten bool) {
	d := c.space.domain
	return c.epoch != d.words.load(&d.epoch), c.generation != c.space.generation.Load()
}

// Slot returns the slot of a class's word. It reports false for all rows of a table.
func (c *Class) Slot() (uint32, bool) {
	if c.Template == nil {
		return 0, false
	}
	return c.Template.slot(c.Key), true
}

// Counts reports whether a load that begins now may name classes of tm.
func (tm *Template) Counts() bool {
	w := tm.table.words
	return tm.counts(w.load(&w.clock.v))
}
