package resource

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// A ListCheck says of a list how precisely it can be kept, before anybody has asked for it.
type ListCheck struct {
	Table    string     // whose rows it finds
	By       [][]string // the sets of columns that tell its rows apart; nil: any change counts
	Coarse   string     // why any change counts
	KnowsOld bool       // the feed tells what a row was, or is never in doubt

	// NeedsOld says that By would tell its rows apart if the feed told what a row was.
	NeedsOld bool

	// Blurred are columns that it restricts to values which changes do not tell, or which
	// may be spelled differently.
	Blurred []string

	// Within are the tables whose rows it embeds.
	Within []ListTable

	query *query.Query
}

// A Planned is a resource that is not served yet.
type Planned struct {
	Name string
	Plan source.Plan
}

// samples are values of which a column of any type takes one.
var samples = []string{"1", "x", "true", "2000-01-01", "2000-01-01T00:00:00Z", "00:00:00",
	"00000000-0000-0000-0000-000000000001", "AA=="}

// readSample reads a query, with a value in the place of {} that its column takes. An error
// that is not about the value comes first.
func readSample(raw string, t *query.Table, o query.Options) (*query.Query, error) {
	var first error
	for _, value := range samples {
		full := strings.ReplaceAll(raw, "{}", url.QueryEscape(value))
		q, err := query.Parse(full, t, o)
		if err == nil || full == raw {
			return q, err
		}
		if first == nil || !strings.Contains(err.Error(), strconv.Quote(value)) {
			first = err
		}
	}
	return nil, first
}

// CheckList says how precisely the list that raw asks a resource for can be kept. raw is the
// query of a URL, in which {} stands for any value. all are the resources of its source, whose
// rows it may embed; none: it may embed nothing.
func CheckList(of *Planned, all []Planned, raw string) (*ListCheck, error) {
	t := of.Plan.Table()
	if t == nil {
		return nil, errors.New("it has no lists")
	}
	var o query.Options
	if len(all) > 0 {
		o.Relations, o.Reads = RelationsAmong(all), func(string) error { return nil }
	}
	q, err := readSample(raw, t, o)
	if err != nil {
		return nil, err
	}
	own := of.Plan.Deps()[0]
	c := &ListCheck{Table: own.Table, KnowsOld: own.KnowsOld, Blurred: q.Blurred(), query: q}
	c.Within = embeddedTables(q)
	r := observedRoot(t, &own)
	if r == nil {
		c.Coarse = noRoot
		return c, nil
	}
	if c.Coarse = r.coarse(q); c.Coarse != "" {
		told := listRoot{key: r.key, knows: true}
		c.NeedsOld = told.coarse(q) == ""
		return c, nil
	}
	for _, class := range q.Classes() {
		if !slices.ContainsFunc(c.By, func(by []string) bool {
			return slices.Equal(by, class.Columns)
		}) {
			c.By = append(c.By, class.Columns)
		}
	}
	return c, nil
}

// RelationsAmong returns what finds, for a parser, what may be embedded in rows of resources that
// are not served yet.
func RelationsAmong(all []Planned) func(of *query.Table) []query.Relation {
	var revisions []*revision
	for i := range all {
		plan := all[i].Plan
		f := &revision{r: &Resource{name: all[i].Name}, plan: plan, table: plan.Table()}
		f.root = observedRoot(f.table, &plan.Deps()[0])
		revisions = append(revisions, f)
	}
	return func(of *query.Table) []query.Relation {
		for _, f := range revisions {
			if own, owns := f.base(); own != nil && f.table == of {
				return relationsOf(own, owns, of, revisions)
			}
		}
		return nil
	}
}

// Guard asks the database by which indexes it finds the rows of the list, and those that it
// embeds; nil: it has none.
func (c *ListCheck) Guard(ctx context.Context, plan source.Plan) (*source.Guard, error) {
	guarded, ok := plan.(source.Guarded)
	if !ok {
		return nil, nil
	}
	tables := []source.Guarded{guarded}
	for _, g := range embedded(c.query) {
		if other, ok := g.plan.(source.Guarded); ok {
			tables = append(tables, other)
		}
	}
	for _, t := range tables {
		if err := t.Look(ctx); err != nil {
			return nil, fmt.Errorf("look at the indexes of %s and what it embeds: %w", c.Table, err)
		}
	}
	g := guarded.Guard(c.query)
	return &g, nil
}

// A ListTagColumns says by which columns the lists of a table that was asked for are told
// apart.
type ListTagColumns struct {
	Source, Table string
	Columns       [][]string
	Full          bool // there are as many sets as there may be
	NeedsOld      bool // lists were asked for that would be precise if old rows were told
}

// TagColumns returns by which columns lists are told apart, of each table of which some are.
func (s *Set) TagColumns() (all []ListTagColumns) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, u := range s.sources {
		u.tables.Range(func(id, t any) bool {
			table := t.(*listTable)
			list := ListTagColumns{
				Source: name, Table: id.(string), NeedsOld: table.needsOld.Load(),
			}
			for _, tm := range *table.tagColumns.Load() {
				if !tm.Identity {
					list.Columns = append(list.Columns, tm.Columns)
				}
			}
			list.Full = len(*table.tagColumns.Load()) >= maxTemplates
			if len(list.Columns) > 0 || list.NeedsOld {
				all = append(all, list)
			}
			return true
		})
	}
	return all
}
