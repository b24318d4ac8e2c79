package document

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// A query that no index answers is not run where the table has this many rows or more.
const smallTable = 10_000

// lookAgain is how long it is believed what indexes and how many rows a table has when a
// query is to be refused.
const lookAgain = 5 * time.Second

// A lookup is what is known of how rows of a table can be found.
type lookup struct {
	at      time.Time
	indexes []query.Index
	small   bool
}

// Admit refuses a query that would read many more rows than it finds. refused is that of one
// that may be tried all the same.
func (p *Plan) Admit(ctx context.Context, c Conn, s *Selection) (refused *query.Error, err error) {
	if err = p.admit(ctx, c, s); err != nil && p.unguarded && errors.As(err, &refused) &&
		refused.Code == query.CodeUnindexed {
		return refused, nil
	}
	return nil, err
}

// gaveUp reports whether err is that of a statement which took too long.
func gaveUp(ctx context.Context, err error) bool {
	var e *source.Error
	return err != nil && (errors.As(err, &e) && e.Class == source.Busy ||
		errors.Is(ctx.Err(), context.DeadlineExceeded))
}

// admit is Admit without the exception.
func (p *Plan) admit(ctx context.Context, c Conn, s *Selection) error {
	q, n := s.query, s.Node
	ok, err := p.finds(ctx, c, n, q.Indexed)
	if err == nil && !ok {
		ok, err = p.few(ctx, c, s)
	}
	if err != nil {
		return err
	}
	if ok {
		return p.admitEmbeds(ctx, c, n, q)
	}
	refused := n.unindexed("these filters and this order", p.admits(q, n))
	if why := q.Passed(p.lookup.Load().indexes); why != "" {
		refused.Message += ": " + why
	}
	return refused
}

// few reports whether the query asks for a range of a column with an index, such as the key,
// that has few rows. They are counted, as far as that matters, each time.
func (p *Plan) few(ctx context.Context, c Conn, s *Selection) (bool, error) {
	counted := make(map[string]bool)
	for _, x := range p.lookup.Load().indexes {
		terms := s.query.Range(x.Columns[0])
		if len(terms) == 0 || counted[x.Columns[0]] || x.Ops != nil ||
			!x.Has(p.table, s.query.Where) {
			continue
		}
		counted[x.Columns[0]] = true
		w := &where{n: s.Node, d: p.Dialect, cols: p.cols}
		cond, err := w.terms(terms, " AND ")
		if err != nil {
			return false, err
		}
		n, err := p.countFew(ctx, c, s.Node, " WHERE "+cond, w.args)
		if err != nil || n < smallTable {
			return err == nil, err
		}
	}
	return false, nil
}

// countFew counts rows of the table of n, up to as many as are too many for no index.
func (p *Plan) countFew(
	ctx context.Context, c Conn, n *Node, where string, args []any,
) (int64, error) {
	return p.Dialect.Filters.Count(ctx, c, fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM %s%s"+
		" LIMIT %d) AS few", n.aliased(p.Dialect, n.Table.From), where, smallTable), args, false)
}

// finds reports whether the table of n is small, or has indexes that are enough.
func (p *Plan) finds(
	ctx context.Context, c Conn, n *Node, enough func(indexes []query.Index) bool,
) (bool, error) {
	known := p.lookup.Load()
	if known != nil && (known.small || enough(known.indexes)) &&
		time.Since(known.at) < time.Minute {
		return true, nil
	}
	if known == nil || time.Since(known.at) > lookAgain {
		var err error
		if known, err = p.look(ctx, c, n); err != nil {
			return false, err
		}
		p.lookup.Store(known)
	}
	return known.small || enough(known.indexes), nil
}

// unindexed is the error of rows that no index finds, with what makes one.
func (n *Node) unindexed(what, hint string) *query.Error {
	return &query.Error{Code: query.CodeUnindexed, Hint: hint,
		Message: "no index of " + n.Table.ID() + " answers " + what + ", and the table is large"}
}

// admits returns the statement that makes an index which answers q, or says that none does.
func (p *Plan) admits(q *query.Query, n *Node) string {
	if column, method, ok := q.WantedNative(); ok {
		return fmt.Sprintf("CREATE INDEX ON %s USING %s (%s)", n.Table.Into, method,
			p.Dialect.Quote(column))
	}
	wanted := q.Wanted()
	if !q.Indexed([]query.Index{query.IndexOf(wanted...)}) {
		return "no one index would: ask for equality, or for a range ordered by its column"
	}
	return p.creating(n, wanted)
}

// creating returns the statement that makes an index of columns.
func (p *Plan) creating(n *Node, wanted []string) string {
	quoted := make([]string, len(wanted))
	for i, name := range wanted {
		quoted[i] = p.Dialect.Quote(name)
	}
	name := ""
	if !p.Dialect.Filters.NamesIndexes {
		parts := append(append([]string{n.Table.Name}, wanted...), "idx")
		name = p.Dialect.Quote(strings.Join(parts, "_")) + " "
	}
	return fmt.Sprintf("CREATE INDEX %sON %s (%s)", name, n.Table.Into, strings.Join(quoted, ", "))
}

// Guard says by what is known of the table's indexes whether Admit refuses a query. It asks
// the database nothing.
func (p *Plan) Guard(q *query.Query) source.Guard {
	known := p.lookup.Load()
	if known == nil {
		return source.Guard{}
	}
	g := source.Guard{Known: true, Small: known.small, Free: q.Free(), Tried: p.unguarded}
	if g.Free {
		g.Embeds = p.guardEmbeds(q)
		return g
	}
	for _, x := range known.indexes {
		if q.Indexed([]query.Index{x}) {
			g.Indexes = [][]string{x.Columns}
			break
		}
	}
	switch {
	case len(g.Indexes) > 0:
	case q.Indexed(known.indexes): // each branch of a condition by another
		for _, x := range known.indexes {
			if x.Columns[0] != "" {
				g.Indexes = append(g.Indexes, x.Columns)
			}
		}
	default:
		g.Hint, g.Passed = p.admits(q, p.Root), q.Passed(known.indexes)
	}
	g.Embeds = p.guardEmbeds(q)
	return g
}

// Look asks the database what Guard goes by.
func (p *Plan) Look(ctx context.Context) error {
	ctx, cancel := p.db.Begin(ctx, 2)
	defer cancel()
	return p.db.Read(ctx, false, func(ctx context.Context, c Conn) error {
		known, err := p.look(ctx, c, p.Root)
		if err == nil {
			p.lookup.Store(known)
		}
		return err
	})
}

// look asks the database how rows of a table can be found.
func (p *Plan) look(ctx context.Context, c Conn, n *Node) (*lookup, error) {
	f := &p.Dialect.Filters
	indexes, err := f.Indexes(ctx, c, n)
	if err != nil {
		return nil, err
	}
	known := &lookup{at: time.Now(), indexes: append(indexes, query.IndexOf(Names(n.KeyCols)...))}
	rows, err := p.countFew(ctx, c, n, "", nil)
	known.small = rows < smallTable
	return known, err
}
