package row

import (
	"slices"
	"strconv"
	"strings"
)

// maxName is the longest name that Nearest compares: what it is given may come
// from a request.
const maxName = 64

// Nearest returns the one of names that name is most likely a slip of the pen
// for, or "" when none is near or name is one of them. Case does not count.
func Nearest(name string, names []string) string {
	if slices.Contains(names, name) {
		return ""
	}
	best, limit := "", len(name)/3+1
	for _, n := range slices.Sorted(slices.Values(names)) {
		d := distance(strings.ToLower(name), strings.ToLower(n))
		if d <= limit && d < len(n) {
			best, limit = n, d-1
		}
	}
	return best
}

// DidYouMean returns `; did you mean "x"?` for the name nearest to the wrong
// one, or "" when none is near.
func DidYouMean(wrong string, names []string) string {
	if best := Nearest(wrong, names); best != "" {
		return "; did you mean " + strconv.Quote(best) + "?"
	}
	return ""
}

// distance returns how many insertions, deletions, replacements and swaps of
// neighbours turn a into b (optimal string alignment). Long names are far.
func distance(a, b string) int {
	if len(a) > maxName || len(b) > maxName {
		return len(a) + len(b)
	}
	var before, prev, line [maxName + 1]int
	for j := range len(b) + 1 {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		line[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			line[j] = min(line[j-1]+1, prev[j]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				line[j] = min(line[j], before[j-2]+1)
			}
		}
		before, prev = prev, line
	}
	return prev[len(b)]
}
