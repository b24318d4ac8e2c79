package feed

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// CheckTable is about what any feed needs of a table.
func (f *Facts) CheckTable(t *Table) []source.Finding {
	var out []source.Finding
	if kind := map[string]string{
		"f": "a foreign table", "v": "a view", "m": "a materialized view",
	}[t.Kind]; kind != "" {
		out = append(out, source.Finding{
			Level: source.LevelError, Tables: []string{t.ID()},
			Text: fmt.Sprintf("%s is %s", t.ID(), kind),
			Why:  "nothing tells when its rows change; serve it with a ttl",
		})
	}
	for i := range t.Aside {
		if l := &t.Aside[i]; l.Kind == catalog.KindForeign {
			out = append(out, source.Finding{
				Level: source.LevelError, Tables: []string{t.ID()},
				Text: fmt.Sprintf("%s is partitioned, and its partition %s.%s is a foreign table",
					t.ID(), l.Schema, l.Name),
				Why: "nothing tells when its rows change; serve it with a ttl",
			})
		}
	}
	if on, role := " ON "+t.SQL(), catalog.QuoteName(f.Server.User); !t.Select {
		out = append(out, source.Finding{
			Level: source.LevelError, Tables: []string{t.ID()},
			Text:   fmt.Sprintf("role %s may not read %s", f.Server.User, t.ID()),
			Why:    "its rows cannot be served",
			Apply:  []string{"GRANT SELECT" + on + " TO " + role},
			Remove: []string{"REVOKE SELECT" + on + " FROM " + role},
		})
	}
	if t.Parent {
		out = append(out, source.Finding{
			Level: source.LevelError, Tables: []string{t.ID()},
			Text: fmt.Sprintf("other tables inherit from %s", t.ID()),
			Why: "it is served without their rows (FROM ONLY), and nothing of it is kept;" +
				" use declarative partitions to have all of them",
		})
	}
	if t.RLS {
		out = append(out, source.Finding{
			Level: source.LevelInfo,
			Text:  fmt.Sprintf("%s has row-level security", t.ID()),
			Why:   "every reader gets the documents that role " + f.Server.User + " sees",
		})
	}
	return out
}

// IDs returns the names of tables.
func IDs(tables []*Table) []string {
	out := make([]string, len(tables))
	for i, t := range tables {
		out[i] = t.ID()
	}
	return out
}

// SQLNames names tables for SQL.
func SQLNames(tables []*Table) string {
	out := make([]string, len(tables))
	for i, t := range tables {
		out[i] = t.SQL()
	}
	return strings.Join(out, ", ")
}

// Failures returns the findings that a mode cannot work with.
func Failures(findings []source.Finding) []source.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f source.Finding) bool {
		return f.Level != source.LevelError
	})
}

// Refusal returns the error of failures, of which there is one at least: a
// source.UnfollowedError if each is about tables, without which there may be a feed.
func Refusal(failed []source.Finding) error {
	e := source.NewUnfollowedError(failed, func(f source.Finding) string {
		return Sentence([]source.Finding{f})
	})
	if e != nil {
		return e
	}
	return errors.New(Sentence(failed))
}

// Sentence tells the first of several failures and how to mend it. Many statements are
// doctor's to print.
func Sentence(failed []source.Finding) string {
	f := failed[0]
	s := f.Text
	if f.Why != "" {
		s += " (" + strings.ReplaceAll(f.Why, "\n", " ") + ")"
	}
	mend := slices.Concat(f.ByHand, f.Apply)
	switch text := strings.Join(mend, "; "); {
	case len(mend) > 4 || strings.Contains(text, "\n"):
		s += "; hotrow doctor --sql prints what mends it"
	case text != "":
		s += "; " + text
	}
	if n := len(failed) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more: hotrow doctor)", n)
	}
	return s
}
