package sqlite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	driverpkg "modernc.org/sqlite"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// A query is what is known of the SELECT of a resource that is not a table.
type query struct {
	text   string // with a ? for each parameter
	params int
	reads  []string // tables, views and what looks like them
	dates  bool     // it calls date functions, see volatile.go
}

// Scan implements document.Schema.
func (k *compiler) Scan(text string) (*document.Query, error) {
	t, err := scanParams(strings.TrimRight(strings.TrimSpace(text), "; \n\t"))
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	q := &query{text: t.With(func(string) string { return "?" }), params: len(t.Params)}
	return &document.Query{Template: *t, Native: q}, nil
}

// Describe implements document.Schema. The type of a part of the key is that of the
// result's column, if that is one of a table, or of the column that depends names.
func (k *compiler) Describe(q *document.Query) error {
	result, err := k.describe(q.Native.(*query))
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	columns := make([]column, len(result))
	names := make([]string, len(result))
	for i, c := range result {
		names[i] = c.Name
		columns[i].Column = source.Column{Name: c.Name, Kind: kindOf(c.DeclType),
			Native: c.DeclType}
		if of := k.origin(c); of != nil {
			columns[i].affinity, columns[i].collation = of.affinity, of.collation
		}
	}
	for i, name := range q.Key {
		at := slices.Index(names, name)
		var part document.Column
		if at >= 0 && k.origin(result[at]) != nil {
			part = columns[at].As(name)
		} else if of := k.depColumn(q, i); of != nil {
			part = of.As(name)
		} else {
			return fmt.Errorf("key: the type of %s is not known: select it as a column of "+
				"a table, or name the column that holds it in depends%s",
				quoted(name), row.DidYouMean(name, names))
		}
		q.Parts = append(q.Parts, part)
		if at >= 0 { // it is that, whatever it is made of
			columns[at].Kind = part.Info().Kind
		}
	}
	q.Columns = documentColumns(columns)
	return nil
}

// describe asks SQLite for the columns of the query, and which tables it reads.
// The authorizer allows reading only, so that a configuration cannot write.
func (k *compiler) describe(q *query) (cols []driverpkg.ColumnInfo, err error) {
	seen, formats := make(map[string]bool), make(map[string]bool)
	authorize := func(
		action driverpkg.AuthorizerActionCode, arg1, arg2, _, view string,
	) driverpkg.AuthorizerReturnCode {
		switch action {
		case driverpkg.AuthRead:
			seen[arg1] = true
		case driverpkg.AuthFunction:
			if strings.EqualFold(arg2, "strftime") {
				formats[view] = true
			}
		case driverpkg.AuthSelect, driverpkg.AuthRecursive:
		default:
			return driverpkg.AuthorizerDeny
		}
		return driverpkg.AuthorizerOK
	}
	if err := k.c.learn(k.ctx); err != nil {
		return nil, err
	}
	if err := k.c.c.RegisterAuthorizer(authorize); err != nil {
		return nil, wrap(err)
	}
	cols, err = k.c.c.ColumnInfo(q.text)
	if off := k.c.c.RegisterAuthorizer(nil); err == nil {
		err = off
	}
	if codeOf(err)&0xff == codeAuth {
		return nil, fmt.Errorf("only a SELECT can be a resource: %w", wrap(err))
	}
	if err != nil {
		return nil, wrap(err)
	}
	q.reads = slices.Sorted(maps.Keys(seen))
	return cols, q.fixed(k.ctx, k.c, formats)
}

// origin returns the column of a table that a column of the result is.
func (k *compiler) origin(c driverpkg.ColumnInfo) *column {
	if t := k.named[c.TableName]; t != nil {
		if col, ok := t.column(c.OriginName); ok {
			return col
		}
	}
	return nil
}

// depColumn returns the column that holds part i of the key in the first table of depends
// that names one.
func (k *compiler) depColumn(q *document.Query, i int) *column {
	for j := range q.Spec.Depends {
		table, name, ok := q.Spec.Depends[j].Holds(q.Key, i)
		if !ok {
			continue
		}
		if t, err := k.find(table); err == nil {
			if col, err := t.need(name); err == nil {
				return col
			}
		}
	}
	return nil
}

// Reads implements document.Schema. The tables below a view are told too, and the rows of
// json_each are made of its arguments.
func (k *compiler) Reads(q *document.Query) ([]*document.Table, error) {
	var out []*document.Table
	for _, name := range q.Native.(*query).reads {
		if t := k.folded[foldName(name)]; t != nil {
			if !t.View {
				out = append(out, t.document())
			}
			continue
		}
		switch strings.ToLower(name) {
		case "json_each", "json_tree", "jsonb_each", "jsonb_tree":
			continue
		}
		return nil, fmt.Errorf("it reads %s, whose changes cannot be followed", quoted(name))
	}
	return out, nil
}
