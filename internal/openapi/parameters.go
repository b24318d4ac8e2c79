package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

const (
	tagPattern  = `^(W/)?"[!#-~]+"$`
	noMatch     = "the tag of the state that the client has: 304 if it is still so"
	onlyIfMatch = "the tag of the state that is changed: 412 if it is another by now"
)

var (
	tag         = object{"type": "string", "pattern": tagPattern}
	ifNoneMatch = header("If-None-Match", noMatch, tag)
	ifMatch     = header("If-Match", onlyIfMatch, tag)
	counting    = prefer("count the rows that the filters find, for Content-Range",
		"count=exact", "count=planned", "count=estimated")
)

// prefer describes preferences. Others are passed over.
func prefer(about string, values ...string) object {
	return header("Prefer", about, object{"type": "string", "examples": values})
}

func header(name, about string, schema object) object {
	return object{"name": name, "in": "header", "description": about, "schema": schema}
}

// keyParameter describes the key in a path. The parts of a key of several columns are parted by
// commas, as arrays are in paths.
func (r *Resource) keyParameter() object {
	parts := make([]object, len(r.Key))
	names := make([]string, len(r.Key))
	for i := range r.Key {
		parts[i], names[i] = keySchema(&r.Key[i]), r.Key[i].Column
	}
	p := object{"name": "key", "in": "path", "required": true,
		"description": strings.Join(names, ", ")}
	if len(parts) == 1 {
		p["schema"] = parts[0]
		return p
	}
	p["style"] = "simple"
	p["schema"] = object{"type": "array", "prefixItems": parts, "items": object{"type": "string"},
		"minItems": len(parts), "maxItems": len(parts)}
	return p
}

// keySchema describes a part of a key.
func keySchema(p *row.KeyPart) object {
	switch p.Kind {
	case row.Bool:
		return object{"type": "boolean"}
	case row.Int, row.Uint:
		least, most := intRange(p)
		return object{"type": "integer", "minimum": least, "maximum": most}
	case row.UUID:
		return object{"type": "string", "format": "uuid"}
	case row.Bytes:
		return object{"type": "string", "pattern": "^([0-9a-f]{2})+$"}
	case row.Date:
		return object{"type": "string", "format": "date"}
	}
	return object{"type": "string", "minLength": 1}
}

// intRange returns the least and the largest integer that a part holds, as far as a number of JSON
// is exact.
func intRange(p *row.KeyPart) (least, most int64) {
	const exact = 1<<53 - 1
	switch {
	case p.Kind == row.Uint && p.Bits == 32:
		return 0, 1<<32 - 1
	case p.Kind == row.Uint:
		return 0, exact
	case p.Bits == 16 || p.Bits == 32:
		return -1 << (p.Bits - 1), 1<<(p.Bits-1) - 1
	}
	return -exact, exact
}

// listParameters describes the query of a list.
func (r *Resource) listParameters() []object {
	most := r.MaxLimit
	if most <= 0 {
		most = query.MaxLimit
	}
	list := []object{parameter("limit", fmt.Sprintf("rows at most, %d if not given",
		min(query.DefaultLimit, most)), object{"type": "integer", "minimum": 0, "maximum": most})}
	if r.Table == nil {
		return list
	}
	list = append(list, parameter("offset", "rows that are passed over",
		object{"type": "integer", "maximum": query.MaxOffset}), counting) // below 0 it is 0
	if orders := r.orders(); len(orders) > 0 {
		one := object{"type": "string", "enum": orders}
		p := parameter("order", "what the rows are ordered by; then by the key", one)
		if r.Any {
			p["schema"] = object{"type": "array", "items": one, "minItems": 1}
			p["style"], p["explode"] = "form", false
		}
		list = append(list, p)
	}
	for i := range r.Table.Columns {
		if p := r.filter(i); p != nil {
			list = append(list, p)
		}
	}
	return list
}

func parameter(name, about string, schema object) object {
	return object{"name": name, "in": "query", "description": about, "schema": schema}
}

// orders returns the orders by one column that are run.
func (r *Resource) orders() (list []string) {
	for i := range r.Table.Columns {
		col := &r.Table.Columns[i]
		if col.Member == "" || !col.Compares {
			continue
		}
		for _, direction := range []string{"", ".asc", ".desc"} {
			o := query.Order{Column: i, Desc: direction == ".desc"}
			o.NullsFirst = o.Desc == r.Table.NullsHigh
			if r.admits(&query.Query{Order: []query.Order{o}}) {
				list = append(list, query.Quoted(col.Member)+direction)
			}
		}
	}
	return list
}

// admits reports whether a query of the table is run.
func (r *Resource) admits(q *query.Query) bool {
	if r.Any {
		return true
	}
	q.Table = r.Table
	for _, k := range r.Table.Key {
		if !slices.ContainsFunc(q.Order, func(o query.Order) bool { return o.Column == k }) {
			q.Order = append(q.Order, query.Order{Column: k})
		}
	}
	return r.Admits(q)
}

// filter describes the filter by a column; nil: none is run.
func (r *Resource) filter(column int) object {
	col := &r.Table.Columns[column]
	if col.Member == "" {
		return nil
	}
	var ops, nots []string
	for op := query.Eq; op <= query.Is; op++ { // not those of PostgreSQL alone
		t := query.Term{Op: op, Column: column, Values: []string{""}}
		not := t
		not.Not = true
		if col.Takes(op) == nil && r.admits(&query.Query{Where: []query.Term{t}}) {
			ops = append(ops, op.String())
			if r.admits(&query.Query{Where: []query.Term{not}}) {
				nots = append(nots, op.String())
			}
		}
	}
	if len(ops) == 0 {
		return nil
	}
	isKey := slices.Contains(r.Table.Key, column)
	negates := slices.Contains(nots, query.Is.String())
	pattern := filterPattern(col, isKey, negates, ops)
	if len(nots) > 0 {
		pattern += `|not\.` + filterPattern(col, isKey, negates, nots)
	}
	return parameter(query.Quoted(col.Member), "`OPERATOR.VALUE`: "+strings.Join(ops, ", "),
		object{"type": "string", "pattern": "^(" + pattern + ")$"})
}

// filterPattern is a regular expression of filters by a column. negates says that a list of rows
// whose value is not null is run.
func filterPattern(col *query.Column, isKey, negates bool, ops []string) string {
	value := operandPattern(col)
	if isKey && value == anyText {
		value = someText
	}
	var branches []string
	if one := slices.DeleteFunc(slices.Clone(ops), func(op string) bool {
		return op == "in" || op == "is" || op == "like" || op == "ilike"
	}); len(one) > 0 {
		branches = append(branches, "("+strings.Join(one, "|")+`)\.`+value)
	}
	if slices.Contains(ops, "in") {
		branches = append(branches, `in\.\(`+itemPattern(col)+"(,"+itemPattern(col)+`){0,9}\)`)
	}
	for _, op := range []string{"like", "ilike"} {
		if slices.Contains(ops, op) {
			branches = append(branches, op+`\.[^\\\u0000]*`)
		}
	}
	if slices.Contains(ops, "is") {
		states := "null"
		if negates {
			states = "null|not_null"
		}
		if col.Bool {
			states += "|true|false|unknown"
		}
		branches = append(branches, `is\.(`+states+")")
	}
	return "(" + strings.Join(branches, "|") + ")"
}

// operandPattern is a regular expression of values of a column.
func operandPattern(col *query.Column) string {
	switch p := &col.Part; {
	case col.Bool:
		return "(true|false)"
	case p.Kind == row.Int && p.Bits == 16:
		return "-?[0-9]{1,4}"
	case p.Kind == row.Int && p.Bits == 32:
		return "-?[0-9]{1,9}"
	case p.Kind == row.Int:
		return "-?[0-9]{1,18}"
	case p.Kind == row.Uint:
		return "[0-9]{1,9}"
	case p.Kind == row.Decimal, p.Kind == row.Float, p.Kind == row.Float32:
		return `-?[0-9]{1,9}(\.[0-9]{1,4})?`
	case p.Kind == row.UUID:
		return "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
	case p.Kind == row.Date:
		return dayPattern
	case p.Kind == row.Datetime, p.Kind == row.DatetimeTZ:
		return dayPattern + "T" + timePattern + "Z"
	case p.Kind == row.Time:
		return timePattern
	case p.Kind == row.Bytes:
		return "([0-9a-f]{2})*"
	}
	return anyText
}

const (
	dayPattern  = "[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])" // that each month has
	timePattern = "([01][0-9]|2[0-3])(:[0-5][0-9]){2}"

	// Texts have no NUL; as keys they are not empty.
	anyText  = `[^\u0000]*`
	someText = `[^\u0000]+`
)

// itemPattern is a regular expression of one value of in.(...).
func itemPattern(col *query.Column) string {
	if p := operandPattern(col); p != anyText {
		return p
	}
	return `[A-Za-z0-9_ -]+`
}
