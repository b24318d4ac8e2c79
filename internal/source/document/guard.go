package document

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/query"
)

// A query that no index answers is not run where the table has this many rows or more.
const smallTable = 10_000

// lookAgain is how long it is believed what indexes and how many rows a table has when a
// query is to be refused.
const lookAgain = 5 * time.Second

// A lookup is what is known of how rows of a table can be found.
type lookup struct {
	at      time.Time
	indexes [][]string // the columns of each, never empty
	small   bool
}

// Admit refuses a query that would read many more rows than it finds.
func (p *Plan) Admit(ctx context.Context, c Conn, s *Selection) error {
	q, n := s.query, s.Node
	known := p.lookup.Load()
	if known != nil && (known.small || q.Indexed(known.indexes)) &&
		time.Since(known.at) < time.Minute {
		return nil
	}
	if known == nil || time.Since(known.at) > lookAgain {
		var err error
		if known, err = p.look(ctx, c, n); err != nil {
			return err
		}
		p.lookup.Store(known)
	}
	if known.small || q.Indexed(known.indexes) {
		return nil
	}
	wanted := q.Wanted()
	quoted := make([]string, len(wanted))
	for i, name := range wanted {
		quoted[i] = p.Dialect.Quote(name)
	}
	index := strings.Join(append(append([]string{n.Table.Name}, wanted...), "idx"), "_")
	refused := &query.Error{Code: query.CodeUnindexed,
		Message: "no index of " + n.Table.ID() + " answers these filters and this order, and the" +
			" table is large",
		Hint: fmt.Sprintf("CREATE INDEX %s ON %s (%s)", p.Dialect.Quote(index), n.Table.Into,
			strings.Join(quoted, ", "))}
	if !q.Indexed([][]string{wanted}) {
		refused.Hint = "no one index would: ask for equality, or for a range ordered by its column"
	}
	return refused
}

// look asks the database how rows of a table can be found.
func (p *Plan) look(ctx context.Context, c Conn, n *Node) (*lookup, error) {
	f := &p.Dialect.Filters
	indexes, err := f.Indexes(ctx, c, n)
	if err != nil {
		return nil, err
	}
	indexes = slices.DeleteFunc(indexes, func(x []string) bool { return len(x) == 0 || x[0] == "" })
	known := &lookup{at: time.Now(), indexes: append(indexes, Names(n.KeyCols))}
	rows, err := f.Count(ctx, c, fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM %s LIMIT %d)"+
		" AS few", n.aliased(p.Dialect, n.Table.From), smallTable), nil, false)
	known.small = rows < smallTable
	return known, err
}
