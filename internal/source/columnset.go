package source

import (
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

// Values returns the texts of columns, NULL among them, joined as a key is. It reports
// false when t does not know all of them.
func (t Tuple) Values(columns []string) (string, bool) {
	parts := make([]string, len(columns))
next:
	for i, c := range columns {
		for j := range t {
			if t[j].Column != c {
				continue
			}
			if parts[i] = t[j].Text; t[j].Null {
				parts[i] = nullText
			}
			continue next
		}
		return "", false
	}
	return string(row.JoinKey(parts...)), true
}
