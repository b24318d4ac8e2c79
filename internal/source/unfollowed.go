package source

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// An UnfollowedError names the tables of which a feed cannot tell every change, and why. It
// is an error of those alone: a feed of the others may be possible.
type UnfollowedError struct {
	Why map[string]string // by the name of the table, as Table.ID gives it
}

// Error returns the reasons, in the order of the tables' names.
func (e *UnfollowedError) Error() string {
	reasons := make([]string, 0, len(e.Why))
	for _, table := range slices.Sorted(maps.Keys(e.Why)) {
		reasons = append(reasons, e.Why[table])
	}
	return strings.Join(reasons, "; ")
}

// NewUnfollowedError returns the error of failures, each in the words of say; nil: one of
// them is about the mode, and there is no feed of any table.
func NewUnfollowedError(failed []Finding, say func(Finding) string) *UnfollowedError {
	why := make(map[string]string)
	for _, f := range failed {
		if len(f.Tables) == 0 {
			return nil
		}
		said := say(f)
		for _, table := range f.Tables {
			if why[table] == "" {
				why[table] = said
			}
		}
	}
	return &UnfollowedError{why}
}

// Names reports whether the error is about a table.
func (e *UnfollowedError) Names(w Watched) bool { return e.Why[w.Table] != "" }

// Leaves reports whether the error is about some of tables, and not about all; nil is about
// none of them, but about the mode.
func (e *UnfollowedError) Leaves(tables []Watched) bool {
	return e != nil && slices.ContainsFunc(tables, func(w Watched) bool { return !e.Names(w) })
}

// UnfollowedOf returns the UnfollowedError within err; nil: it is about something else.
func UnfollowedOf(err error) *UnfollowedError {
	var e *UnfollowedError
	if errors.As(err, &e) {
		return e
	}
	return nil
}
