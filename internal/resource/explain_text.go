package resource

import (
	"strings"
)

// stateWords say what a state means.
var stateWords = map[ListState]string{
	ListHit:       "it is in memory, and nothing that it depends on has changed",
	ListAbsent:    "it was not asked for lately",
	ListOnce:      "it was asked for once: it is kept when it is asked for again",
	ListTooLarge:  "it is larger than a list that is kept may be (1 MiB)",
	ListDiscarded: "a change came while it was read",
	ListEvicted:   "other lists needed its room: see cache.memory",
	ListDiffered:  "the same question was answered with another state of the rows",
	ListMoved:     "what it depends on has changed since it was read",
	ListDirty:     "a change of what it depends on is not settled yet",
	ListEpoch:     "the feed may have missed something since it was read",
	ListForgotten: "it was forgotten, by an operator or because a definition changed",
	ListLagging:   "the feed does not say that it is complete",
	ListOnDisk:    "memory has no copy; the disk has one, which is checked before it counts",
	ListStale:     "it is in memory; the feed does not say that it is complete, so it is flagged",
	ListExpired:   "it is older than the ttl of the resource",
	ListReplaced:  "all documents of the resource were dropped since it was read",
}

// Why says what the state means.
func (s ListState) Why() string { return stateWords[s] }

// Why says why memory has an answer, or none.
func (e *ListExplanation) Why() string {
	if e.State == ListUnkept {
		return "lists like it are not kept: " + e.Unkept
	}
	return e.State.Why()
}

// Why says why memory has an answer, or none.
func (e *Explanation) Why() string {
	switch {
	case e.State == ListUnkept:
		return "documents are not kept: " + e.Unkept
	case e.State == ListAbsent:
		return "memory has no copy: it was not asked for since its last change, or others " +
			"needed its room"
	}
	return e.State.Why()
}

// Depends says on which rows the answer depends, a text for each tag of them.
func (e *ListExplanation) Depends() (list []string) {
	for i := range e.Classes {
		list = append(list, e.Classes[i].String())
	}
	for _, t := range e.Within {
		text := "rows of " + t.Table + " within its documents"
		if len(t.Columns) > 0 {
			text += ", by (" + strings.Join(t.Columns, ", ") + ")"
		} else {
			text += ": any row of it"
		}
		list = append(list, text)
	}
	return list
}

// Coarse says of which tables any row counts, and why.
func (e *VersionExplanation) Coarse() (list []string) {
	for i := range e.Paths {
		for _, s := range e.Paths[i].Steps {
			if !s.Named && s.Why != "" {
				list = append(list, s.Table+": "+s.Why)
			}
		}
	}
	for i := range e.Words {
		if w := &e.Words[i]; w.OfAny() && len(list) == 0 {
			list = append(list, w.TableName+
				": named as a whole, or too many rows of it are read")
		}
	}
	return list
}

// shownWords is how many versions are shown; of more, those that have moved.
const shownWords = 64

// VersionsToShow returns the versions that are worth a look.
func VersionsToShow(versions []ListVersion) (list []ListVersion) {
	for i := range versions {
		if len(versions) <= shownWords || !versions[i].Quiet() {
			list = append(list, versions[i])
		}
	}
	return list
}

// String says which rows a tag has, and by which columns changes tell it.
func (c *ListTag) String() string {
	text := CellsText(c.Values)
	switch {
	case c.By == nil:
		text += ": told apart from the next read on"
	case len(c.By) < len(c.Columns):
		text += ": told by (" + strings.Join(c.By, ", ") + ") alone"
	case !c.Counts:
		text += ": told once the changes under way are settled"
	}
	return text
}

// Index says by which index the database is asked, or why it would not be; "": any way is good.
func (e *ListExplanation) Index() string {
	g := e.Guard
	if g == nil {
		return ""
	}
	hint := g.Hint
	if g.Passed != "" {
		hint = g.Passed + ": " + hint
	}
	switch {
	case !g.Known:
		return "not known yet: no list with filters was read since the start"
	case len(g.Indexes) == 0 && !g.Free && g.Tried:
		return "none: the query is run, and given up after a time (lists.guard): " + hint
	case len(g.Indexes) == 0 && !g.Free && g.Small:
		return "the table is small; a large one would be refused: " + hint
	case len(g.Indexes) == 0 && !g.Free:
		return "refused: " + hint
	}
	names := make([]string, len(g.Indexes))
	for i, x := range g.Indexes {
		names[i] = "(" + strings.Join(x, ", ") + ")"
	}
	text := "found by the index on " + strings.Join(names, ", ")
	if g.Free {
		text = "needs none: lists.filters has its columns"
	}
	for i := range g.Embeds {
		if e := &g.Embeds[i]; e.Known && e.Hint != "" && !e.Small {
			text += "; refused for what it embeds of " + e.Table + ": " + e.Hint
		}
	}
	return text
}
