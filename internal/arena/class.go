package arena

const (
	// runs is the class of entries that are too large for a slot: they get a run of units.
	runs = 0

	classSteps = 32 // size classes of each doubling: an entry wastes 1/64 on average

	// fewestSlots is how many slots a page of the largest class has. The larger the class,
	// the fewer divide a page without a rest: this is where runs waste less.
	fewestSlots = 8
)

// A class is the entries that get slots of one size.
type class struct {
	size  int // bytes of a slot, a multiple of a granule
	slots int // of a page

	partial int // the first of its pages with a free slot, none: there is none
	pages   int // that it has
	used    int // slots that are not free
}

// classesOf returns the size classes for pages and granules of so many bytes, and the class of an
// entry by its granules, rounded up. Sizes divide a page as evenly as can be: what steps leave
// over at a page's end is shared out among its slots. So each class has fewer slots than the one
// before.
func classesOf(pageBytes, granule int) (classes []class, of []uint8) {
	classes = []class{runs: {}}
	of = []uint8{runs}
	if guardRuns {
		return classes, of
	}
	for size, n := granule, 0; n != fewestSlots; {
		n = max(pageBytes/size, fewestSlots)
		c := class{size: pageBytes / n / granule * granule, slots: n, partial: none}
		for len(of) <= c.size/granule {
			of = append(of, uint8(len(classes)))
		}
		classes = append(classes, c)
		step := granule // where slots are few, that is one less of them
		if n > 2*classSteps {
			step = max(step, c.size/classSteps/granule*granule)
		}
		size = c.size + step
	}
	return classes, of
}

// class returns the class of an entry of n bytes.
func (a *Arena) class(n int) int {
	if i := (n + a.granule - 1) / a.granule; i < len(a.classOf) {
		return int(a.classOf[i])
	}
	return runs
}

// SlotBytes returns how many bytes an entry of n bytes takes, its head among them.
func (a *Arena) SlotBytes(n int) int {
	if c := a.class(n); c != runs {
		return a.classes[c].size
	}
	return (n + a.unit - 1) / a.unit * a.unit
}
