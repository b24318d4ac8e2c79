package sqlite

import (
	"strconv"

	"github.com/hotrow/hotrow/internal/row"
)

// quoted writes a name for an error.
func quoted(name string) string { return strconv.Quote(name) }

// didYouMean returns "; did you mean X?" for the name nearest to the wrong one,
// or "" when none is near.
func didYouMean(wrong string, names []string) string {
	if best := row.Nearest(wrong, names); best != "" {
		return "; did you mean " + quoted(best) + "?"
	}
	return ""
}
