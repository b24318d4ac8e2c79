package source

// A PartialFeed is a Feed that knows of changes which it cannot observe.
type PartialFeed interface {
	Feed

	// Unobservable names them, as part of a sentence.
	Unobservable() string
}
