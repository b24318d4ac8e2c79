package main

import (
	"context"
	"fmt"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

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
	in.Position, in.Token = r.Spell(e.Token), tokenText(e.Token)
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

func listInspection(e *resource.ListExplanation) *ops.KeptList {
	return &ops.KeptList{Key: e.Key, State: string(e.State), Why: e.Why(), Rows: e.Rows,
		Spelled: e.Spelled, Coarse: e.Coarse, Clock: e.Clock, Guard: e.Index(),
		Precise: e.Precise || e.Doc == nil && e.Coarse == "",
		Classes: e.Depends(), Words: wordsOf(e.Versions)}
}

// wordsOf returns words as they are told.
func wordsOf(words []resource.ListVersion) (list []ops.ListWord) {
	for _, w := range resource.VersionsToShow(words) {
		list = append(list, ops.ListWord{Name: w.Name(), Stamp: w.Stamp,
			Unsettled: w.Marks, State: w.State()})
	}
	return list
}

// inspectWords says on what a document depends of which changes do not always name the key;
// nil: they do.
func inspectWords(r *resource.Resource, key row.Key) (*ops.KeptWords, error) {
	e, err := r.ExplainVersions(key, row.FormatJSON)
	if err != nil || e == nil {
		return nil, err
	}
	p := &ops.KeptWords{State: string(e.State), Why: e.State.Why(), Clock: e.Clock,
		Precise: e.Precise, Words: wordsOf(e.Words), Coarse: e.Coarse()}
	for i := range e.Paths {
		p.Paths = append(p.Paths, e.Paths[i].Text)
	}
	return p, nil
}
