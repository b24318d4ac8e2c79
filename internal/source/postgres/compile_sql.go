package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// build writes the statements of p.
func (p *plan) build() {
	n := p.root
	params, arrays := make([]string, len(p.types)), make([]string, len(p.types))
	given := make([]string, len(p.types))
	for i, typ := range p.types {
		params[i] = fmt.Sprintf("$%d::%s", i+1, typ)
		arrays[i] = fmt.Sprintf("$%d::%s[]", i+1, typ)
		given[i] = fmt.Sprintf("k%d", i+1)
	}
	p.probe = "SELECT " + strings.Join(params, ", ")
	keys := fmt.Sprintf("unnest(%s) WITH ORDINALITY AS k(%s, ord)",
		strings.Join(arrays, ", "), strings.Join(given, ", "))
	if p.query != "" {
		p.one = fmt.Sprintf("SELECT %s FROM (%s\n) AS %s", n.reads(), p.queryWith(params), n.alias)
		for i := range given {
			given[i] = "k." + given[i]
		}
		p.many = fmt.Sprintf("SELECT k.ord, %s FROM %s CROSS JOIN LATERAL (%s\n) AS %s",
			n.reads(), keys, p.queryWith(given), n.alias)
		return
	}
	cols, one, many := make([]string, len(params)), make([]string, len(params)), make([]string,
		len(params))
	var present []string
	for i, col := range n.keyCols {
		cols[i] = n.col(col)
		one[i] = cols[i] + " = " + params[i]
		many[i] = cols[i] + " = k." + given[i]
		if !col.NotNull {
			present = append(present, cols[i]+" IS NOT NULL")
		}
	}
	read := fmt.Sprintf("SELECT %s FROM %s AS %s", n.reads(), n.from, n.alias)
	p.one = read + " WHERE " + strings.Join(one, " AND ")
	p.many = fmt.Sprintf("SELECT k.ord, %s FROM %s JOIN %s AS %s ON %s",
		n.reads(), keys, n.from, n.alias, strings.Join(many, " AND "))
	p.buildList(read, cols, params, present)
}

// buildList writes the statements of List. A row comparison follows the order
// of a composite key and uses its index.
func (p *plan) buildList(read string, cols, params, present []string) {
	list := strings.Join(cols, ", ")
	after := append(slices.Clone(present),
		fmt.Sprintf("(%s) > (%s)", list, strings.Join(params, ", ")))
	if len(present) > 0 {
		p.first = " WHERE " + strings.Join(present, " AND ")
	}
	p.first = fmt.Sprintf("%s%s ORDER BY %s LIMIT $1::bigint", read, p.first, list)
	p.next = fmt.Sprintf("%s WHERE %s ORDER BY %s LIMIT $%d::bigint",
		read, strings.Join(after, " AND "), list, len(params)+1)
}

// prepare lets the server parse the statements, so that a mistake is known now.
func (p *plan) prepare(ctx context.Context) error {
	ctx, cancel := p.src.begin(ctx, 1)
	defer cancel()
	return p.src.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		for _, sql := range []string{p.one, p.many, p.next} {
			if sql == "" { // a query has no list
				continue
			}
			if _, err := conn.PgConn().Prepare(ctx, "", sql, nil); err != nil {
				if sql == p.next && sqlState(err) == "42883" {
					return p.unordered(err)
				}
				return err
			}
		}
		return nil
	})
}

// unordered is the error of a key whose type the operator > does not compare, as that
// of hstore: its rows could be in no list.
func (p *plan) unordered(err error) error {
	columns := make([]string, len(p.parts))
	for i, col := range p.parts {
		columns[i] = col.Name + " is of type " + col.Native
	}
	return &source.Error{Class: source.Invalid, Code: sqlState(err), Err: err,
		Message: strings.Join(columns, ", ") + ", which has no operator > and so cannot be a key"}
}

// Shape returns how rows of the plan are encoded.
func (p *plan) Shape() *row.Shape { return p.root.shape }

// KeyType returns the columns of the key and their types.
func (p *plan) KeyType() row.KeyType { return p.keys }

// Deps returns the tables whose rows feed the documents.
func (p *plan) Deps() []source.Dep { return p.deps }

// SQL returns the statements of Load: of one document and of many.
func (p *plan) SQL() []string { return []string{p.one, p.many} }

// oneArgs returns the parameters of the statement for one key: the text of each
// part, which the server parses as its column's type.
func (p *plan) oneArgs(k row.Key) ([]any, error) {
	parts, err := p.split(k)
	args := make([]any, len(parts))
	for i := range parts {
		args[i] = parts[i]
	}
	return args, err
}

// manyArgs returns the parameters of the statement for many keys: an array of
// texts for each part.
func (p *plan) manyArgs(keys []row.Key) ([]any, error) { return keyArrays(keys, p.parts) }

// split returns the texts of the parts of k as the server reads them.
func (p *plan) split(k row.Key) ([]string, error) { return splitKey(k, p.parts) }

// keyArrays returns an array's text for each column of a key, with the parts
// of all keys.
func keyArrays(keys []row.Key, cols []*column) ([]any, error) {
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
func splitKey(k row.Key, cols []*column) ([]string, error) {
	parts, ok := row.SplitKey(k, len(cols))
	if !ok {
		return nil, fmt.Errorf("%w: %q has not %d parts", row.ErrKey, k, len(cols))
	}
	for i := range parts {
		if cols[i].kind == row.Bytes {
			parts[i] = `\x` + parts[i]
		}
	}
	return parts, nil
}
