package accesslog

// A Column is one field of every line.
type Column struct {
	Name string // of letters, digits and underscores
	Kind Kind
	// Max bounds the bytes of a Text; what is longer is cut, and ends with the
	// mark "…".
	Max int
	// Always says that a line has an empty Text, too.
	Always bool
}

// A Kind is what a column holds. Time and Duration come from the batch that a
// record is part of; the others are values that each record is given, in the
// order of the columns.
type Kind uint8

const (
	// Time is when the wake-up began that has answered the request, or the
	// request itself where it has a clock read of its own: UTC, milliseconds.
	Time Kind = iota
	// Duration is how long that took, in seconds.
	Duration
	// Text is any bytes; a line leaves out an empty one.
	Text
	// Int is a whole number.
	Int
	// Count is a whole number that a line leaves out when it is 0.
	Count
)

// inRecord reports whether a record holds a value of this kind.
func (k Kind) inRecord() bool { return k >= Text }

// maxText is the most that a column's Max may be: the length's first bit says
// that the text was cut.
const (
	maxText = 1<<15 - 1
	wasCut  = 1 << 15
)

// mark ends a text that was cut.
const mark = "…"
