package query

import (
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// A Path leads from a JSON column to a value within it: ->a->0 is JSON, ->a->>b a text. Its text
// is canonical; "" is the column itself.
type Path string

// A Step is one of a Path: to a member of an object or to an element of an array, which is counted
// from the end if it is negative.
type Step struct {
	Key     string
	Index   int
	IsIndex bool
}

// maxSteps is how long a path may be.
const maxSteps = 16

// cutPath reads the path that s begins with; there may be none.
func cutPath(s string) (path Path, rest string, err error) {
	for steps := 0; strings.HasPrefix(s, "->"); steps++ {
		if path.IsText() || steps == maxSteps {
			return "", "", syntax("a path within JSON ends with ->> and has at most "+
				strconv.Itoa(maxSteps)+" steps, at "+clip(s), "data->a->>b")
		}
		arrow, after := "->", s[2:]
		if strings.HasPrefix(after, ">") {
			arrow, after = "->>", after[1:]
		}
		if index, rest, ok := cutIndex(after); ok {
			path, s = path+Path(arrow+strconv.Itoa(index)), rest
			continue
		}
		key, rest, err := cutName(after)
		if err != nil {
			return "", "", err
		}
		if strings.ContainsAny(key, "\"\\") || strings.ContainsFunc(key, isControl) {
			return "", "", syntax("a path within JSON has no quotes, backslashes or control "+
				"characters in its keys: "+clip(key), "")
		}
		if _, left, isIndex := cutIndex(key); isIndex && left == "" {
			key = `"` + key + `"`
		} else {
			key = quoteName(key)
		}
		path, s = path+Path(arrow+key), rest
	}
	return path, s, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// cutIndex reads the place in an array that s begins with.
func cutIndex(s string) (index int, rest string, ok bool) {
	n := 0
	if strings.HasPrefix(s, "-") {
		n = 1
	}
	from := n
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == from || n-from > 6 || n < len(s) && strings.IndexByte(".,):-", s[n]) < 0 {
		return 0, "", false
	}
	index, err := strconv.Atoi(s[:n])
	return index, s[n:], err == nil
}

// IsText reports whether the path leads to a text, by ->> at its end.
func (p Path) IsText() bool { return strings.Contains(string(p), "->>") }

// Steps returns the steps of the path.
func (p Path) Steps() (steps []Step) {
	for s := string(p); s != ""; {
		s = strings.TrimPrefix(strings.TrimPrefix(s, "->"), ">")
		if index, rest, ok := cutIndex(s); ok {
			steps, s = append(steps, Step{Index: index, IsIndex: true}), rest
			continue
		}
		key, rest, _ := cutName(s) // cutPath has made it
		steps, s = append(steps, Step{Key: key}), rest
	}
	return steps
}

// member returns what a member is called that a path leads to from a column: as the last key.
func (p Path) member(column string) string {
	name := column
	for _, s := range p.Steps() {
		if !s.IsIndex {
			name = s.Key
		}
	}
	return name
}

// within returns the column of the values that a path leads to from c.
func (t *Table) within(c *Column, p Path) (*Column, error) {
	if p == "" {
		return c, nil
	}
	if !c.JSON {
		return nil, syntax("a path ("+string(p)+") leads into JSON, and "+clip(c.Member)+
			" is none", "")
	}
	in := Column{Name: c.Name, Member: c.Member, Free: c.Free}
	in.Part.Column = c.Member + string(p)
	if p.IsText() {
		in.Part.Kind, in.Compares, in.Matches = row.Text, true, true
		return &in, nil
	}
	in.Part.Kind, in.Content = row.JSON, c.Content
	in.Compares = t.Native && c.Content == Tree
	return &in, nil
}
