package config

import (
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// didYouMean returns `; did you mean "x"?` for the candidate nearest to word,
// or "" when none is near.
func didYouMean(word string, candidates []string) string {
	if best := row.Nearest(word, candidates); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
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
