package main

import (
	"context"
	"fmt"
	"strings"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// shownWords is how many words of a list are told; of more, those that have moved.
const shownWords = 64

// inspectList says what memory has of a list, and why. It loads, counts and keeps nothing.
func (s *server) inspectList(
	ctx context.Context, r *resource.Resource, raw string,
) (ops.Inspection, error) {
	in := ops.Inspection{Path: "/" + r.Name()}
	if raw != "" {
		in.Path += "?" + raw
	}
	q, err := httpfront.ReadList(r, raw)
	if err != nil {
		return in, badList(err)
	}
	if q.Ask == nil {
		in.List, err = listOfKeys(r, q.Keys)
		return in, badKey(err)
	}
	e, err := r.ExplainList(ctx, q.Ask, q.Format)
	if err != nil {
		return in, badList(err)
	}
	in.Lag = ops.Seconds(e.Lag)
	if !e.Token.IsZero() {
		in.Position = e.Token.String()
	}
	if in.Kept = e.Doc != nil; in.Kept {
		in.Where, in.Row, in.Bytes, in.ETag = "memory", true, e.Doc.Size(), e.Doc.ETag()
	}
	in.List = listInspection(e)
	return in, nil
}

// badList marks the error of a question that no list answers.
func badList(err error) error {
	if source.ClassOf(err).Passing() {
		return err
	}
	return fmt.Errorf("%w: %w", err, ops.ErrQuery)
}

// listOfKeys says which documents of a list by keys are kept: each is by itself.
func listOfKeys(r *resource.Resource, keys []row.Key) (*ops.KeptList, error) {
	l := &ops.KeptList{State: "documents", Precise: true,
		Why: "it is made of the documents that it names, each of which is kept by itself"}
	for _, k := range keys {
		kept, err := r.Kept(k)
		if err != nil {
			return nil, err
		}
		l.Documents = append(l.Documents, ops.ListKey{Kept: kept,
			Path: httpfront.DocumentPath(r.Name(), k, len(r.KeyType()))})
	}
	return l, nil
}

// stateWords say what a state of a list means.
var stateWords = map[resource.ListState]string{
	resource.ListHit:       "it is in memory, and nothing that it depends on has changed",
	resource.ListAbsent:    "it was not asked for lately",
	resource.ListOnce:      "it was asked for once: it is kept when it is asked for again",
	resource.ListTooLarge:  "it is larger than a list that is kept may be (1 MiB)",
	resource.ListDiscarded: "a change came while it was read",
	resource.ListEvicted:   "other lists needed its room: see cache.memory",
	resource.ListDiffered:  "the same question was answered with another state of the rows",
	resource.ListMoved:     "what it depends on has changed since it was read",
	resource.ListDirty:     "a change of what it depends on is not settled yet",
	resource.ListEpoch:     "the feed may have missed something since it was read",
	resource.ListForgotten: "it was forgotten, by an operator or because a definition changed",
	resource.ListLagging:   "the feed does not say that it is complete",
}

func listInspection(e *resource.ListExplanation) *ops.KeptList {
	l := &ops.KeptList{Key: e.Key, State: string(e.State), Why: stateWords[e.State], Rows: e.Rows,
		Spelled: e.Spelled, Coarse: e.Coarse, Clock: e.Clock, Guard: guardText(e.Guard),
		Precise: e.Precise || e.Doc == nil && e.Coarse == ""}
	if e.State == resource.ListUnkept {
		l.Why = "lists like it are not kept: " + e.Unkept
	}
	for i := range e.Classes {
		l.Classes = append(l.Classes, classText(&e.Classes[i]))
	}
	for _, t := range e.Within {
		text := "rows of " + t.Table + " within its documents"
		if len(t.Columns) > 0 {
			text += ", by (" + strings.Join(t.Columns, ", ") + ")"
		} else {
			text += ": any row of it"
		}
		l.Classes = append(l.Classes, text)
	}
	l.Words = wordsOf(e.Words)
	return l
}

// wordsOf returns words as they are told.
func wordsOf(words []resource.ListWord) (list []ops.ListWord) {
	for i := range words {
		w := &words[i]
		if len(words) > shownWords && w.Quiet() {
			continue
		}
		list = append(list, ops.ListWord{Name: w.Name(), Stamp: w.Stamp,
			Unsettled: w.Marks, State: w.State()})
	}
	return list
}

// inspectPaths says on what a document depends by paths; nil: it does not.
func inspectPaths(r *resource.Resource, key row.Key) (*ops.KeptPaths, error) {
	e, err := r.ExplainPaths(key, row.FormatJSON)
	if err != nil || e == nil {
		return nil, err
	}
	p := &ops.KeptPaths{State: string(e.State), Why: stateWords[e.State], Clock: e.Clock,
		Precise: e.Precise, Words: wordsOf(e.Words)}
	for i := range e.Paths {
		path := &e.Paths[i]
		p.Paths = append(p.Paths, path.Text)
		for _, s := range path.Steps {
			if !s.Named && s.Why != "" {
				p.Coarse = append(p.Coarse, s.Table+": "+s.Why)
			}
		}
	}
	for i := range e.Words {
		if w := &e.Words[i]; w.OfAny() && len(p.Coarse) == 0 {
			p.Coarse = append(p.Coarse, w.TableName+": named as a whole, or the path leads to"+
				" too many rows")
		}
	}
	return p, nil
}

// classText says which rows a class has, and by which columns changes tell it.
func classText(c *resource.ListClass) string {
	text := resource.CellsText(c.Values)
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

// guardText says why the database is asked, or would not be.
func guardText(g *source.Guard) string {
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
	case len(g.Indexes) == 0 && g.Small:
		return "the table is small; a large one would be refused: " + hint
	case len(g.Indexes) == 0:
		return "refused: " + hint
	}
	names := make([]string, len(g.Indexes))
	for i, x := range g.Indexes {
		names[i] = "(" + strings.Join(x, ", ") + ")"
	}
	text := "found by the index on " + strings.Join(names, ", ")
	for i := range g.Embeds {
		if e := &g.Embeds[i]; e.Known && e.Hint != "" && !e.Small {
			text += "; refused for what it embeds of " + e.Table + ": " + e.Hint
		}
	}
	return text
}
