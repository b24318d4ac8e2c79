package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// build writes the statements of p.
func (p *plan) build() {
	n := p.Root
	params, arrays := make([]string, len(p.types)), make([]string, len(p.types))
	given := make([]string, len(p.types))
	for i, typ := range p.types {
		params[i] = fmt.Sprintf("$%d::%s", i+1, typ)
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, typ)
		given[i] = fmt.Sprintf("k%d", i+1)
	}
	p.probe = "SELECT " + strings.Join(params, ", ")
	reads := strings.Join(n.Reads(dialect), ", ")
	keys := fmt.Sprintf("unnest(%s) WITH ORDINALITY AS k(%s, ord)",
		strings.Join(arrays, ", "), strings.Join(given, ", "))
	if p.Query != nil {
		p.one.SQL = fmt.Sprintf("SELECT %s FROM (%s\n) AS %s", reads,
			p.Query.With(func(part int) string { return params[part] }), n.Alias)
		p.many.SQL = fmt.Sprintf("SELECT k.ord, %s FROM %s CROSS JOIN LATERAL (%s\n) AS %s", reads,
			keys, p.Query.With(func(part int) string { return "k." + given[part] }), n.Alias)
		return
	}
	parts := len(params)
	one, many := make([]string, parts), make([]string, parts)
	for i, col := range n.KeyCols {
		compared := native(col).comparedIn(n)
		is := " " + operator(col, nil, "=") + " "
		one[i], many[i] = compared+is+params[i], compared+is+"k."+given[i]
	}
	p.one.SQL = fmt.Sprintf("SELECT %s FROM %s AS %s WHERE %s", reads, n.Table.From, n.Alias,
		strings.Join(one, " AND "))
	p.many.SQL = fmt.Sprintf("SELECT k.ord, %s FROM %s JOIN %s AS %s ON %s",
		reads, keys, n.Table.From, n.Alias, strings.Join(many, " AND "))
}

// prepare lets the server parse the statements, so that a mistake is known now.
func (p *plan) prepare(ctx context.Context) error {
	ctx, cancel := p.src.begin(ctx, 1)
	defer cancel()
	return p.src.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		statements, page := []string{p.one.SQL, p.many.SQL}, ""
		if p.Query == nil { // which has no list
			page = p.PageSQL()
			statements = append(statements, page)
		}
		answers := conn.PgConn().StartPipeline(ctx)
		for _, sql := range statements {
			answers.SendPrepare("", sql, nil)
		}
		err := answers.Sync()
		for i := 0; i < len(statements) && err == nil; i++ {
			if _, err = answers.GetResults(); err != nil && statements[i] == page &&
				feed.SQLState(err) == "42883" {
				err = p.unordered(err)
			}
		}
		return errors.Join(err, answers.Close())
	})
}

// unordered is the error of a key whose type the operator > does not compare, as that
// of hstore: its rows could be in no list.
func (p *plan) unordered(err error) error {
	columns := make([]string, len(p.Parts))
	for i, col := range p.Parts {
		columns[i] = col.Info().Name + " is of type " + col.Info().Native
	}
	return &source.Error{Class: source.Invalid, Code: feed.SQLState(err), Err: err,
		Message: strings.Join(columns, ", ") + ", which has no operator > and so cannot be a key"}
}

// SQL returns the statements of Load: of one document and of many.
func (p *plan) SQL() []string { return append([]string{p.one.SQL, p.many.SQL}, p.PathSQL()...) }

// Types implements source.Typed: of every column that a statement may read, compare or
// assign to.
func (p *plan) Types() []string {
	var names []string
	add := func(cols []document.Column) {
		for _, c := range cols {
			names = append(names, native(c).name, native(c).base, native(c).read)
		}
	}
	for _, n := range p.Nodes() {
		add(n.Table.Cols)
	}
	add(p.Parts)
	return names
}

// keyArrays returns an array's text for each column of a key, with the parts
// of all keys.
func keyArrays(keys []row.Key, cols []document.Column) ([]any, error) {
	arrays := make([][]byte, len(cols))
	for i := range arrays {
		arrays[i] = append(arrays[i], '{')
	}
	for n, k := range keys {
		texts, err := splitKey(k, cols)
		if err != nil {
			return nil, err
		}
		for i, text := range texts {
			if n > 0 {
				arrays[i] = append(arrays[i], ',')
			}
			arrays[i] = appendElement(arrays[i], text)
		}
	}
	args := make([]any, len(arrays))
	for i := range arrays {
		args[i] = string(append(arrays[i], '}'))
	}
	return args, nil
}

// splitKey returns the texts of the parts of k as the server reads them for
// these columns.
func splitKey(k row.Key, cols []document.Column) ([]string, error) {
	parts, ok := row.SplitKey(k, len(cols))
	if !ok {
		return nil, fmt.Errorf("%w: %q has not %d parts", row.ErrKey, k, len(cols))
	}
	for i := range parts {
		parts[i] = native(cols[i]).keyText(parts[i])
	}
	return parts, nil
}
