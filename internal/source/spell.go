package source

import "strconv"

// A Speller is a Feed whose database writes a place in its log in a way of its own: as
// 0/B922D78, or as a file and an offset. Positions of other feeds are numbers.
type Speller interface {
	// Spell returns a position as the database writes it, for people.
	Spell(pos Position) string
}

// Spell returns a position as the database of a feed, which may be nil, writes it.
func Spell(f Feed, pos Position) string {
	if s, ok := f.(Speller); ok {
		return s.Spell(pos)
	}
	return strconv.FormatUint(uint64(pos), 10)
}
