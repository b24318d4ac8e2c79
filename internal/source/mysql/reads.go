package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// A reading finds the tables behind a query or a view. The server has no way to
// tell them that an optimizer has not touched, so they are read out of the text:
// a table is named after FROM, JOIN, a comma or a parenthesis and nowhere else.
// A name that could be a table's is taken for one, so nothing is missed.
type reading struct {
	c      *compiler
	seen   map[string]bool
	tables []*table // those that hold rows
}

// systemSchemas are the databases of the server itself.
var systemSchemas = []string{"information_schema", "mysql", "performance_schema", "sys"}

// beforeTable are the words and marks after which a table may be named.
var beforeTable = []string{"from", "join", "straight_join", ",", "(", "table", "oj"}

// query adds what a text reads, in which a bare name is one of schema.
func (r *reading) query(tokens []token, schema string) error {
	if name := clock(tokens); name != "" {
		return changesByItself(name)
	}
	for i, t := range tokens {
		if !t.isName() {
			continue
		}
		if before(tokens, i, "(") {
			if err := r.call(tokens, i, schema); err != nil {
				return err
			}
			continue
		}
		if err := r.name(tokens, i, schema); err != nil {
			return err
		}
	}
	return nil
}

// follows reports whether the mark stands before token i.
func follows(tokens []token, i int, mark string) bool {
	return i > 0 && tokens[i-1].is(mark)
}

// before reports whether the mark stands behind token i.
func before(tokens []token, i int, mark string) bool {
	return i+1 < len(tokens) && tokens[i+1].is(mark)
}

// name looks at a name that is no function.
func (r *reading) name(tokens []token, i int, schema string) error {
	t := tokens[i]
	if follows(tokens, i, ".") {
		if i >= 2 && tokens[i-2].isName() && !follows(tokens, i-2, ".") {
			return r.qualified(tokens[i-2].text, t.text)
		}
		return nil
	}
	if before(tokens, i, ".") || i == 0 {
		return nil
	}
	if prev := tokens[i-1]; !prev.quoted &&
		slices.Contains(beforeTable, strings.ToLower(prev.text)) {
		return r.table(schema, t.text)
	}
	return nil
}

// qualified looks at schema.name, which may also be a column of a table.
func (r *reading) qualified(schema, name string) error {
	if slices.ContainsFunc(systemSchemas, func(s string) bool {
		return strings.EqualFold(s, schema)
	}) {
		return fmt.Errorf("it reads %s.%s, whose changes no feed follows", schema, name)
	}
	return r.table(schema, name)
}

// table adds a table, or what a view reads; nothing when there is none.
func (r *reading) table(schema, name string) error {
	if id := schema + "." + name; !r.seen[id] {
		r.seen[id] = true
		found, err := r.c.named(catalog.Name{Schema: schema, Table: name})
		if err != nil {
			return err
		}
		for _, t := range found {
			if err := r.add(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a table, or what a view reads.
func (r *reading) add(t *table) error {
	if t.View {
		return r.view(t)
	}
	if !slices.ContainsFunc(r.tables, func(o *table) bool { return o.ID() == t.ID() }) {
		r.tables = append(r.tables, t)
	}
	return nil
}

// view adds what a view reads.
func (r *reading) view(t *table) error {
	r.seen[t.ID()] = true
	r.c.views = append(r.c.views, t.Name)
	ctx, cancel := r.c.src.begin(r.c.ctx, 1)
	defer cancel()
	var text string
	err := r.c.src.read(ctx, func(ctx context.Context, c *conn) error {
		return c.query(ctx, `SELECT VIEW_DEFINITION FROM information_schema.VIEWS
			WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, []any{t.Schema, t.Name},
			func(v []any) error {
				text = catalog.AsText(v[0])
				return nil
			})
	})
	if err != nil {
		return err
	}
	if text == "" {
		return fmt.Errorf("the definition of the view %s cannot be seen: GRANT SHOW VIEW ON %s TO"+
			" hotrow's user", t.ID(), quoteTable(t.Schema, t.Name))
	}
	q, err := scanQuery(text)
	if err != nil {
		return fmt.Errorf("the definition of the view %s: %w", t.ID(), err)
	}
	return r.query(q.tokens, t.Schema)
}

// call refuses stored functions.
func (r *reading) call(tokens []token, i int, schema string) error {
	name := strings.ToLower(tokens[i].text)
	if follows(tokens, i, ".") && i >= 2 {
		return r.routine(tokens[i-2].text, name)
	}
	return r.routine(schema, name)
}

// routine refuses stored functions.
func (r *reading) routine(schema, name string) error {
	is, err := r.c.isRoutine(strings.ToLower(schema + "." + name))
	if is {
		err = fmt.Errorf("it calls %s(), which may read tables that cannot be seen from here:"+
			" write it out", name)
	}
	return err
}
