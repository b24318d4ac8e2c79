package kv

import "slices"

// Match reports whether name is one of those that a pattern of Redis stands for: * is
// anything, ? one byte, [a-z] and [^a-z] one of some, \c is c. It takes time in
// proportion to both lengths, whatever the pattern.
func Match(pattern, name string) bool {
	p, n := 0, 0
	star, from := -1, 0 // the last *, and up to where it stands for name
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, from = p, n
			p++
			continue
		}
		if size, ok := matchOne(pattern[p:], name[n]); ok {
			p, n = p+size, n+1
			continue
		}
		if star < 0 {
			return false
		}
		from++
		p, n = star+1, from
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one byte with the beginning of a pattern that is no *, and returns
// how much of the pattern that is.
func matchOne(pattern string, c byte) (size int, ok bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		return matchSet(pattern, c)
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
	}
	return 1, pattern[0] == c
}

// matchSet is matchOne of a pattern that begins with [.
func matchSet(pattern string, c byte) (size int, ok bool) {
	i := 1
	not := i < len(pattern) && pattern[i] == '^'
	if not {
		i++
	}
	for i < len(pattern) && pattern[i] != ']' {
		low := pattern[i]
		if low == '\\' && i+1 < len(pattern) {
			i++
			low = pattern[i]
		}
		high := low
		if i+2 < len(pattern) && pattern[i+1] == '-' {
			i += 2
			high = pattern[i]
		}
		if low > high {
			low, high = high, low
		}
		ok = ok || low <= c && c <= high
		i++
	}
	return min(i+1, len(pattern)), ok != not
}

// Literal returns what every name begins with that a pattern stands for.
func Literal(pattern string) string {
	for i := range len(pattern) {
		switch pattern[i] {
		case '*', '?', '[', '\\':
			return pattern[:i]
		}
	}
	return pattern
}

// MatchAfter returns the patterns one of which what stands behind head must match, for
// pattern to stand for head and it; none: pattern stands for nothing that begins so.
func MatchAfter(pattern, head string) []string {
	at := skipStars(pattern, nil, 0)
	for i := range len(head) {
		var next []int
		for _, p := range at {
			if p < len(pattern) && pattern[p] == '*' {
				next = skipStars(pattern, next, p)
			} else if size, ok := matchOne(pattern[p:], head[i]); ok {
				next = skipStars(pattern, next, p+size)
			}
		}
		slices.Sort(next)
		at = slices.Compact(next)
	}
	var rests []string
	for _, p := range slices.Backward(at) {
		rests = append(rests, pattern[p:])
		if p < len(pattern) && pattern[p] == '*' {
			break // those before it stand for less
		}
	}
	return rests
}

// skipStars appends where a pattern may go on at p: there, and behind the stars that are
// there.
func skipStars(pattern string, list []int, p int) []int {
	if p == len(pattern) || pattern[p] != '*' {
		return append(list, p)
	}
	list = append(list, p)
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return append(list, p)
}
