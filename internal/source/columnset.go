package source

import (
	"slices"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
)

// A ColumnSet is the columns of a table by whose values lists are told apart. It grows
// while a feed runs: a feed loads it for each row, or less often, and puts into the
// tuples of a change what it knows of those columns. Of what it leaves out the caller
// takes the worst. A nil *ColumnSet is empty.
type ColumnSet struct{ names atomic.Pointer[[]string] }

// Load returns the names of the columns. The slice is never changed; a set that has not
// changed returns the same one.
func (s *ColumnSet) Load() []string {
	if s == nil {
		return nil
	}
	names := s.names.Load()
	if names == nil {
		return nil
	}
	return *names
}

// Store replaces the names, which belong to s from now on.
func (s *ColumnSet) Store(names []string) { s.names.Store(&names) }

// nullText stands for NULL among the texts of Tuple.Values. A text that is equal to it
// makes two classes one, which costs a load and nothing else.
const nullText = "\x00"

// UnfoldedText is what Tuple.Values makes of texts that do not fold. It is one class of
// all such rows, of which any list may have some.
const UnfoldedText = "\x01"

// Values returns the texts of columns, NULL among them, joined as a key is; those of folded,
// which are some of the columns, as row.Fold makes them, and UnfoldedText if that has none
// for one of them. It reports false when t does not know all of the columns.
func (t Tuple) Values(columns, folded []string) (string, bool) {
	parts := make([]string, len(columns))
	unfolded := false
next:
	for i, c := range columns {
		for j := range t {
			if t[j].Column != c {
				continue
			}
			switch parts[i] = t[j].Text; {
			case t[j].Null:
				parts[i] = nullText
			case slices.Contains(folded, c):
				text, ok := row.Fold(parts[i])
				parts[i], unfolded = text, unfolded || !ok
			}
			continue next
		}
		return "", false
	}
	if unfolded {
		return UnfoldedText, true
	}
	return string(row.JoinKey(parts...)), true
}
