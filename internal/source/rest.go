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

// A SerialWriter is a Source that makes one write after the other, on a connection that no
// read uses. Those that wait for their turn keep no read from the source.
type SerialWriter interface {
	Source

	// SerialWrites does nothing.
	SerialWrites()
}
