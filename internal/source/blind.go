package source

// A Blinder is a Feed that knows of changes which it cannot tell of.
type Blinder interface {
	Feed

	// Blind names them, as part of a sentence.
	Blind() string
}
