package config

import (
	"fmt"
	"sort"
	"strings"
)

// didYouMean returns `; did you mean "x"?` for the candidate nearest to word,
// or "" when none is near.
func didYouMean(word string, candidates []string) string {
	best, limit := "", len(word)/3+1
	sorted := append([]string(nil), candidates...)
	sort.Strings(sorted)
	for _, c := range sorted {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d <= limit && d < len(c) {
			best, limit = c, d-1
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance returns how many insertions, deletions, replacements and swaps of
// neighbours turn a into b (optimal string alignment). Long words are far.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b)
	}
	var before, prev, row [65]int
	for j := range len(b) + 1 {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, prev[j]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}

// oneOf returns words as "a, b or c".
func oneOf(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
}
