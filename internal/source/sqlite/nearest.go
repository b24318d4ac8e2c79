package sqlite

import (
	"strconv"
	"strings"
)

// quoted writes a name for an error.
func quoted(name string) string { return strconv.Quote(name) }

// didYouMean returns "; did you mean X?" for the name nearest to the wrong one,
// or "" when none is near.
func didYouMean(wrong string, names []string) string {
	best, least := "", len(wrong)/2+1
	for _, n := range names {
		if d := distance(strings.ToLower(wrong), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + quoted(best) + "?"
}

// distance returns how many bytes must be changed, added or taken away to make
// b of a (Levenshtein).
func distance(a, b string) int {
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		diagonal := last[0]
		last[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, last[j], last[j+1])
			}
			diagonal, last[j+1] = last[j+1], cost
		}
	}
	return last[len(b)]
}
