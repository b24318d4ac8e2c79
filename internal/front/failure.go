// Package front has what the fronts say and count alike, whatever they speak:
// why a request has failed, how long requests took, who is on this machine. It
// knows no protocol.
package front

import (
	"context"
	"errors"
	"time"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A Failure is what a client may be told of an error, before a front says it in
// the words of its protocol.
type Failure struct {
	Slug    string        // which sort of failure: one of docs/reference/errors.md
	Text    string        // one sentence; "": what the slug means
	Details string        // the database's own detail
	Hint    string        // how to mend it; "": the slug's
	Code    string        // the database's own code
	After   time.Duration // when to try again; 0: nothing is known
	Logged  bool          // the log has the error: the client is not told all of it
}

// A rule says what becomes of an error.
type rule struct {
	slug string
	text disclosure
}

// A disclosure is who sees an error's own message.
type disclosure int

const (
	untold disclosure = iota // the slug says all
	shown                    // it speaks of the request's values, and goes to the client
	logged                   // it may name hosts, users or statements, and goes to the log only
)

// classRules has a rule for each source.Class.
var classRules = [...]rule{
	source.Internal:     {"internal", logged},
	source.Unavailable:  {"database-unavailable", logged},
	source.Retry:        {"try-again", logged},
	source.Conflict:     {"conflict", shown},
	source.Invalid:      {"invalid-value", shown},
	source.Forbidden:    {"database-forbids", logged},
	source.Missing:      {"table-missing", logged},
	source.ReadOnly:     {"read-only", logged},
	source.TooLarge:     {"too-large", untold},
	source.Full:         {"database-full", logged},
	source.Unknown:      {"outcome-unknown", logged},
	source.Precondition: {"precondition-failed", untold},
	source.NoRow:        {"not-found", untold},
	source.Busy:         {"database-busy", logged},
}

// sentinelRules has the errors that are not a source's.
var sentinelRules = []struct {
	err error
	rule
}{
	{resource.ErrNotCached, rule{"not-cached", untold}},
	{resource.ErrPrecondition, rule{"precondition-failed", untold}},
	{resource.ErrReadOnly, rule{"read-only", untold}},
	{resource.ErrUnconditional, rule{"precondition-required", untold}},
	{resource.ErrUnreadable, rule{"internal", logged}},
	{resource.ErrToken, rule{"bad-header", shown}},
	{row.ErrKey, rule{"bad-key", shown}},
	{context.DeadlineExceeded, rule{"database-unavailable", logged}},
	{context.Canceled, rule{"database-unavailable", logged}},
}

// byClass reports whether the class of err says more than a sentinel: that of a statement whose
// time was over, which may have met a lock.
func byClass(err, sentinel error) bool {
	ended := sentinel == context.DeadlineExceeded || sentinel == context.Canceled
	return ended && errors.As(err, new(*source.Error))
}

// FailureOf returns what a client is told of an error of a resource.
func FailureOf(err error) Failure {
	var d *row.DecodeError
	if errors.As(err, &d) {
		return Failure{Slug: "bad-body", Text: d.Error()}
	}
	var m *row.KeyMismatch
	if errors.As(err, &m) {
		return Failure{Slug: "key-mismatch", Text: m.Error(),
			Hint: "leave " + m.Member + " out of the body, or make them equal"}
	}
	var q *query.Error
	if errors.As(err, &q) {
		f := Failure{Slug: "bad-query", Text: q.Message, Details: q.Detail, Hint: q.Hint,
			Code: q.Code}
		switch q.Code {
		case query.CodeRange:
			f.Slug = "range-not-satisfiable"
		case query.CodeUnindexed:
			f.Slug = "unindexed-filter"
		case query.CodeAmbiguous:
			f.Slug = "ambiguous-relation"
		}
		return f
	}
	for _, r := range sentinelRules {
		if errors.Is(err, r.err) && !byClass(err, r.err) {
			f := Failure{Slug: r.slug, Logged: r.text == logged}
			if r.text == shown {
				f.Text = err.Error()
			}
			return f
		}
	}
	var e *source.Error
	if !errors.As(err, &e) || int(e.Class) >= len(classRules) {
		return Failure{Slug: "internal", Logged: true}
	}
	r := classRules[e.Class]
	f := Failure{Slug: r.slug, Code: e.Code, After: e.After, Logged: r.text == logged}
	if r.text == shown {
		f.Text, f.Details, f.Hint = e.Message, e.Detail, e.Hint
	}
	return f
}

// Slugs returns every slug that FailureOf may give: a front has a kind for each.
func Slugs() []string {
	list := []string{"bad-body", "key-mismatch", "internal", "bad-query", "range-not-satisfiable",
		"unindexed-filter", "ambiguous-relation"}
	for _, r := range classRules {
		list = append(list, r.slug)
	}
	for _, r := range sentinelRules {
		list = append(list, r.slug)
	}
	return list
}
