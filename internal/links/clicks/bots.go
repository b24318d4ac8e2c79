package clicks

import (
	_ "embed"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/hotrow/hotrow/internal/links/clicklog"
)

// crawlers are the patterns of crawler-user-agents 1.67.0
// (github.com/monperrus/crawler-user-agents, MIT: crawlers.LICENSE), one a line.
//
//go:embed crawlers.txt
var crawlers string

// gram is how many bytes literals are found by.
const gram = 3

// bots finds the patterns of crawlers in user agents. Nearly all of them stand for
// a few literal texts, which are looked up by their first bytes at each place of
// a user agent; so a new one costs two microseconds and not a hundred.
type bots struct {
	anywhere map[[gram]byte][]string
	atStart  []string
	short    []string // literals of less than gram bytes, anywhere
	rest     []guarded
}

// A guarded is a pattern that is more than literals. It is tried on texts that
// have a part of it.
type guarded struct {
	part string
	re   *regexp.Regexp
}

// Bots returns what reports whether a User-Agent is no person's, as the kind of a
// click says it: a bot's, or none at all. It keeps nothing of the agent.
func Bots() (func(agent []byte) bool, error) {
	b, err := newBots(crawlers)
	if err != nil {
		return nil, err
	}
	return func(agent []byte) bool {
		return len(agent) == 0 || b.match(clean(agent, clicklog.MaxAgent))
	}, nil
}

// newBots compiles patterns, one a line.
func newBots(patterns string) (*bots, error) {
	b := &bots{anywhere: make(map[[gram]byte][]string)}
	for line := range strings.Lines(patterns) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			continue
		}
		tree, err := syntax.Parse(line, syntax.Perl)
		if err != nil {
			return nil, err
		}
		tree = tree.Simplify()
		if texts, start, ok := literals(tree); ok {
			b.add(texts, start)
			continue
		}
		re, err := regexp.Compile(line)
		if err != nil {
			return nil, err
		}
		b.rest = append(b.rest, guarded{longest(tree), re})
	}
	return b, nil
}

// add adds literals.
func (b *bots) add(texts []string, start bool) {
	for _, s := range texts {
		switch {
		case start:
			b.atStart = append(b.atStart, s)
		case len(s) < gram:
			b.short = append(b.short, s)
		default:
			g := [gram]byte([]byte(s))
			b.anywhere[g] = append(b.anywhere[g], s)
		}
	}
}

// match reports whether a user agent is a bot's.
func (b *bots) match(ua string) bool {
	for _, s := range b.atStart {
		if strings.HasPrefix(ua, s) {
			return true
		}
	}
	for i := 0; i+gram <= len(ua); i++ {
		for _, s := range b.anywhere[[gram]byte{ua[i], ua[i+1], ua[i+2]}] {
			if strings.HasPrefix(ua[i:], s) {
				return true
			}
		}
	}
	for _, s := range b.short {
		if strings.Contains(ua, s) {
			return true
		}
	}
	for _, g := range b.rest {
		if strings.Contains(ua, g.part) && g.re.MatchString(ua) {
			return true
		}
	}
	return false
}

// mostLiterals is how many texts a pattern may stand for to be taken as them.
const mostLiterals = 64

// literals returns the texts that a pattern stands for, if they are few. start:
// they match at the beginning only.
func literals(re *syntax.Regexp) (texts []string, start, ok bool) {
	if re.Op == syntax.OpConcat && len(re.Sub) > 1 && re.Sub[0].Op == syntax.OpBeginText {
		rest := *re
		rest.Sub = re.Sub[1:]
		texts, ok = expand(&rest)
		return texts, true, ok
	}
	texts, ok = expand(re)
	return texts, false, ok
}

// expand is literals for a pattern without anchors.
func expand(re *syntax.Regexp) ([]string, bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}, re.Flags&syntax.FoldCase == 0
	case syntax.OpCapture:
		return expand(re.Sub[0])
	case syntax.OpCharClass:
		var texts []string
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if len(texts) == mostLiterals {
					return nil, false
				}
				texts = append(texts, string(r))
			}
		}
		return texts, true
	case syntax.OpAlternate:
		var texts []string
		for _, sub := range re.Sub {
			more, ok := expand(sub)
			if !ok {
				return nil, false
			}
			texts = append(texts, more...)
		}
		return texts, len(texts) <= mostLiterals
	case syntax.OpConcat:
		texts := []string{""}
		for _, sub := range re.Sub {
			more, ok := expand(sub)
			if !ok || len(texts)*len(more) > mostLiterals {
				return nil, false
			}
			texts = product(texts, more)
		}
		return texts, true
	}
	return nil, false
}

// product returns each text of a followed by each of b.
func product(a, b []string) []string {
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out
}

// longest returns the longest text that every match of a pattern contains; "" if
// none is known.
func longest(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if s := longest(sub); len(s) > len(best) {
				best = s
			}
		}
		return best
	case syntax.OpCapture, syntax.OpPlus:
		return longest(re.Sub[0])
	}
	return ""
}
