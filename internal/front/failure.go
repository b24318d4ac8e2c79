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
}

// A rule says what becomes of an error.
type rule struct {
	slug string
	// showText says that the error's own message goes to the client: it speaks of the
	// request's values. Others may name hosts, users or statements, and go to the
	// log only.
	showText bool
}

// classRules has a rule for each source.Class.
var classRules = [...]rule{
	source.Internal:     {"internal", false},
	source.Unavailable:  {"database-unavailable", false},
	source.Retry:        {"try-again", false},
	source.Conflict:     {"conflict", true},
	source.Invalid:      {"invalid-value", true},
	source.Forbidden:    {"database-forbids", false},
	source.Missing:      {"table-missing", false},
	source.ReadOnly:     {"read-only", false},
	source.TooLarge:     {"too-large", false},
	source.Full:         {"database-full", false},
	source.Unknown:      {"outcome-unknown", false},
	source.Precondition: {"precondition-failed", false},
	source.NoRow:        {"not-found", false},
	source.Busy:         {"database-busy", false},
}

// sentinelRules has the errors that are not a source's.
var sentinelRules = []struct {
	err error
	rule
}{
	{resource.ErrNotCached, rule{"not-cached", false}},
	{resource.ErrPrecondition, rule{"precondition-failed", false}},
	{resource.ErrReadOnly, rule{"read-only", false}},
	{resource.ErrUnconditional, rule{"precondition-required", false}},
	{resource.ErrToken, rule{"bad-header", true}},
	{row.ErrKey, rule{"bad-key", true}},
	{context.DeadlineExceeded, rule{"database-unavailable", false}},
	{context.Canceled, rule{"database-unavailable", false}},
}

// FailureOf returns what a client is told of an error of a resource.
func FailureOf(err error) Failure {
	var d *row.DecodeError
	if errors.As(err, &d) {
		return Failure{Slug: "bad-body", Text: d.Error()}
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
		if errors.Is(err, r.err) {
			f := Failure{Slug: r.slug}
			if r.showText {
				f.Text = err.Error()
			}
			return f
		}
	}
	var e *source.Error
	if !errors.As(err, &e) || int(e.Class) >= len(classRules) {
		return Failure{Slug: "internal"}
	}
	r := classRules[e.Class]
	f := Failure{Slug: r.slug, Code: e.Code, After: e.After}
	if r.showText {
		f.Text, f.Details, f.Hint = e.Message, e.Detail, e.Hint
	}
	return f
}

// Refused reports whether the database has refused something to hotrow's own user.
// The client is not told more than that, so the log is.
func Refused(err error) bool {
	switch source.ClassOf(err) {
	case source.Forbidden, source.Missing, source.ReadOnly:
		return true
	}
	return false
}

// Slugs returns every slug that FailureOf may give: a front has a kind for each.
func Slugs() []string {
	list := []string{"bad-body", "internal", "bad-query", "range-not-satisfiable",
		"unindexed-filter", "ambiguous-relation"}
	for _, r := range classRules {
		list = append(list, r.slug)
	}
	for _, r := range sentinelRules {
		list = append(list, r.slug)
	}
	return list
}
