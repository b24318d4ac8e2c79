package source

// A Rester is a Feed that looks for changes by itself, so often that it costs something
// when there are none.
type Rester interface {
	Feed

	// Rest says whether the feed need not look before it is asked for a fence, because
	// nobody reads or watches. A feed does not rest before the first call. Rest does not
	// wait, and may be called while the feed does not run.
	Rest(rests bool)
}
