package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// inspectedBody is how many bytes of a document an inspection shows.
const inspectedBody = 16 << 10

// inspect says what is kept of a document, or of a list; compare reads the document from
// the database as well.
func (s *server) inspect(ctx context.Context, t ops.Target, compare bool) (ops.Inspection, error) {
	var raw string
	t.Path, raw, _ = strings.Cut(t.Path, "?")
	r, key, err := s.target(t)
	switch {
	case err != nil:
		return ops.Inspection{}, err
	case key == nil && compare:
		return ops.Inspection{}, fmt.Errorf("%w: name a document, such as /%s/KEY", ops.ErrKey,
			r.Name())
	case key == nil:
		return s.inspectList(ctx, r, raw)
	}
	in := ops.Inspection{Path: httpfront.DocumentPath(r.Name(), *key, len(r.KeyType()))}
	if in.Kept, err = r.Kept(*key); err != nil {
		return ops.Inspection{}, badKey(err)
	}
	copied, err := r.Get(ctx, *key, resource.Options{OnlyIfCached: true})
	switch {
	case err == nil:
		describe(&in, &copied)
		in.Position, in.Token = r.Spell(copied.Token), tokenText(copied.Token)
	case errors.Is(err, resource.ErrNotCached):
		if in.Kept {
			in.Where = "disk, or not good at this moment"
		}
	default:
		return ops.Inspection{}, badKey(err)
	}
	if in.Depends, err = inspectWords(r, *key); err != nil {
		return ops.Inspection{}, badKey(err)
	}
	if in.Change, err = lastChange(r, *key); err != nil {
		return ops.Inspection{}, badKey(err)
	}
	if !compare {
		return in, nil
	}
	in.Database, err = readDatabase(ctx, r, *key, copied.Doc)
	return in, badKey(err)
}

// lastChange says when a document was changed last; nil when nothing follows it.
func lastChange(r *resource.Resource, key row.Key) (*ops.Change, error) {
	last, ok, err := r.LastChange(key)
	if err != nil || !ok {
		return nil, err
	}
	c := &ops.Change{Whole: last.Whole, Known: ops.Seconds(time.Since(last.Since))}
	if !last.At.IsZero() {
		ago := ops.Seconds(time.Since(last.At))
		c.Ago = &ago
	}
	c.Position = r.Spell(last.Position)
	return c, nil
}

// tokenText is a token as clients see it; "" of none.
func tokenText(t resource.Token) string {
	if t.IsZero() {
		return ""
	}
	return t.String()
}

// describe fills in what an answer from memory says of its document.
func describe(in *ops.Inspection, a *resource.Answer) {
	in.Kept, in.Where, in.Row = true, "memory", !a.Doc.Absent()
	in.Stale = a.Origin == resource.HitStale
	in.Lag, in.Bytes = ops.Seconds(a.Lag), a.Doc.Size()
	if in.Row {
		in.ETag, in.Body = a.Doc.ETag(), shownBody(a.Doc)
	}
}

// shownBody is as much of a document as an inspection shows.
func shownBody(d *row.Document) string {
	body := d.Body()
	return string(body[:min(len(body), inspectedBody)])
}

// readDatabase reads a document from the database, and compares it with doc if there is
// one. A change that commits between the two reads shows as a difference.
func readDatabase(
	ctx context.Context, r *resource.Resource, key row.Key, doc *row.Document,
) (*ops.Compare, error) {
	began := time.Now()
	now, err := r.Get(ctx, key, resource.Options{NoCache: true})
	if err != nil {
		return nil, err
	}
	c := &ops.Compare{Row: !now.Doc.Absent(), Took: ops.Seconds(time.Since(began))}
	if c.Row {
		c.ETag, c.Body = now.Doc.ETag(), shownBody(now.Doc)
	}
	if doc != nil {
		c.Same = doc.Absent() == now.Doc.Absent() &&
			(doc.Absent() || bytes.Equal(doc.Body(), now.Doc.Body()))
	}
	return c, nil
}
