package resource

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// The states that documents have besides those of lists.
const (
	ListOnDisk   ListState = "disk"     // memory has no copy, the disk has one
	ListStale    ListState = "stale"    // memory answers, and the answer is flagged
	ListExpired  ListState = "expired"  // it is older than the resource's ttl
	ListReplaced ListState = "replaced" // all of the resource was dropped since it was read
)

// An Explanation says what memory has of a document, and why it would not answer.
type Explanation struct {
	Key    row.Key // which all of its spellings have in common
	State  ListState
	Unkept string // why no document of the resource is kept

	Doc   *row.Document // that is in memory, good or not; nil: none
	Token Token         // every change up to here is in the answer of a hit
	Lag   time.Duration // how long ago the feed was known to be complete

	Versions *VersionExplanation // of a document of which changes do not always name the key
	Last     *LastChange         // nil: nothing tells of changes
}

// Explain says what memory has of the document of key in a format, and why it would not
// answer. It counts, keeps and loads nothing. Errors: row.ErrKey.
func (r *Resource) Explain(
	ctx context.Context, key row.Key, of row.Format,
) (*Explanation, error) {
	f := r.revision.Load()
	k, err := f.canonical(key)
	if err != nil {
		return nil, err
	}
	f.src.wake(ctx)
	at := f.src.asOf(monotonic())
	e := &Explanation{Key: k, Token: at.Token, Lag: at.Lag, Unkept: f.unkeptRow()}
	if e.Versions, err = r.ExplainVersions(k, of); err != nil {
		return nil, err
	}
	if last, ok, err := r.LastChange(k); err == nil && ok {
		e.Last = &last
	}
	if e.Unkept != "" {
		e.State = ListUnkept
		return e, nil
	}
	ref := tier.Ref{Resource: f.number, Format: of, Key: k}
	e.Doc = f.held(&ref)
	switch _, state, _ := f.classify(k, e.Doc, &at, false); state {
	case Hit, Absent:
		e.State = ListHit
	case Stale:
		e.State = ListStale
	default:
		e.State = f.whyMiss(e, &ref, &at)
	}
	return e, nil
}

// unkeptRow says why no document is ever kept; "" if it may be.
func (f *revision) unkeptRow() string {
	switch {
	case f.memory == nil || f.space == nil:
		return "the resource keeps nothing in memory"
	case f.spec.TTL == 0 && !f.followed():
		return "no feed tells of changes, and the resource has no ttl"
	}
	return ""
}

// whyMiss says why memory would not answer with what it has.
func (f *revision) whyMiss(e *Explanation, ref *tier.Ref, at *AsOf) ListState {
	switch {
	case e.Doc == nil && f.onDisk(ref):
		return ListOnDisk
	case e.Doc == nil:
		return ListAbsent
	case f.spec.TTL > 0 && at.now-e.Doc.Stamp().At > int64(f.spec.TTL):
		return ListExpired
	case e.Versions != nil && e.Versions.State != ListForgotten:
		return e.Versions.State
	case e.Doc.Stamp().Epoch != at.epoch:
		return ListEpoch
	case !f.valid(e.Doc):
		return ListReplaced
	}
	return ListLagging
}

// onDisk reports whether the disk has a copy, good or not.
func (f *revision) onDisk(ref *tier.Ref) bool {
	if f.disk == nil {
		return false
	}
	_, kept := f.disk.Get(*ref)
	return kept
}
