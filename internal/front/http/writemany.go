package httpfront

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A manyQuery is what the query and the preferences of a write of many rows say.
type manyQuery struct {
	where                   string // what finds the rows, as it was sent
	columns, on             []string
	chosen                  *query.Query // the members of the answer; nil: all
	order                   string       // of the rows of the answer, as it was sent
	reread                  string       // asks for what the write itself does not give; ""
	resolution, returns     string
	defaults, count, strict bool
	promise                 int
	hasOn                   bool
	as                      rendering
}

// writeMany answers POST, PATCH and DELETE of the profile.
func (c *call) writeMany(op source.Op) (*answer, error) {
	if err := c.mayWrite(); err != nil {
		return nil, err
	}
	m, err := profileAccept(string(c.r.Accept))
	if err != nil {
		return nil, err
	}
	if m.format != row.FormatJSON {
		return nil, problem{kind: kindNotAcceptable}
	}
	q, err := c.manyQuery(op)
	if err != nil {
		return nil, err
	}
	q.as = m.rendering()

	// What is found by a condition, and what is sent back, is read.
	if op != source.OpCreate || q.returns == "representation" {
		if _, err := c.m.pass(c.o, c.r, c.res.Name(), c.access(c.res).Read); err != nil {
			return nil, err
		}
	}
	w, err := c.manyWrite(op, q)
	if err != nil {
		return nil, err
	}
	if err := c.claim(max(len(w.Inputs), 1)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.o.WriteTimeout)
	defer cancel()
	if w.As, err = c.session(); err != nil {
		return nil, err
	}
	done, err := c.res.WriteMany(ctx, *w)
	if err != nil {
		return nil, err
	}
	a := c.manyResult(op, q, &done, m)
	if q.reread != "" && len(done.Rows) > 0 {
		a.body, err = c.reread(q, done.Rows)
	}
	return a, err
}

// reread returns the rows that were written with what only a list has: embedded rows, an order.
// It is read once they are committed.
func (c *call) reread(q *manyQuery, rows []source.Loaded) ([]byte, error) {
	raw := q.reread + "&" + url.QueryEscape(`"`+keyNames(c.res)[0]+`"`) + "=in.("
	places := make(map[row.Key]int, len(rows))
	for i := range rows {
		if i > 0 {
			raw += ","
		}
		key := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(rows[i].Key))
		raw += url.QueryEscape(`"` + key + `"`)
		places[rows[i].Key] = i
	}
	want, err := c.res.Query(raw+")", query.Options{Reads: c.mayEmbed, Sees: c.sees(),
		Rows: c.rowsOf(false)})
	if err != nil {
		return nil, err
	}
	pack := func(p *resource.Page, _ row.Format) (resource.Packed, error) {
		found := slices.Clone(p.Rows)
		if q.order == "" {
			slices.SortFunc(found, func(a, b source.Loaded) int {
				return places[a.Key] - places[b.Key]
			})
		}
		if q.as.object && len(found) != 1 {
			return resource.Packed{}, problem{kind: kindNotFound, detail: "the row is gone already"}
		}
		return resource.Packed{Body: q.as.append(nil, p.Shape, found), Rows: len(found)}, nil
	}
	got, err := c.res.SelectList(c.ctx, &resource.ListAsk{Query: want, Pack: pack,
		Variant: "written," + q.as.name()}, resource.Options{NoCache: true})
	if err != nil {
		return nil, err
	}
	return got.Doc.Body(), nil
}

// manyWrite reads what is to be written.
func (c *call) manyWrite(op source.Op, q *manyQuery) (*resource.ManyWrite, error) {
	shape, err := c.shape()
	if err != nil {
		return nil, err
	}
	put := op == source.OpReplace
	if put { // an upsert of one row
		op = source.OpCreate
	}
	w := &resource.ManyWrite{Op: op, Shape: shape, On: q.on, Promise: q.promise,
		Most: min(max(c.res.MaxLimit(), 1), front.WriteRows)}
	if q.as.object && q.returns == "representation" {
		w.Single = true
	}
	switch q.resolution {
	case "merge-duplicates":
		w.Present = source.PresentMerges
	case "ignore-duplicates":
		w.Present = source.PresentStays
	}
	if op != source.OpDelete {
		if w.Inputs, err = c.rows(op, shape, q); err != nil {
			return nil, err
		}
		if op == source.OpMerge && len(w.Inputs) != 1 {
			return nil, problem{kind: kindBadBody, detail: "the body is one object of new values"}
		}
	}
	if put {
		w.Present = source.PresentMerges
	}
	if err := c.keepsRows(w, q); err != nil {
		return nil, err
	}
	if put {
		return w, c.putsKey(q, w)
	}
	if op == source.OpCreate {
		if q.where != "" {
			return nil, problem{kind: kindBadQuery, detail: "a POST has no filters"}
		}
		return w, nil
	}
	if w.Where, err = c.res.Query(q.where, query.Options{Sees: c.sees()}); err != nil {
		return nil, err
	}
	if len(w.Where.Where) == 0 {
		what := "UPDATE"
		if op == source.OpDelete {
			what = "DELETE"
		}
		return nil, problem{kind: kindBadQuery, code: "21000",
			detail: what + " requires a WHERE clause", hint: "send a filter: COLUMN=eq.VALUE"}
	}
	w.Where, err = c.res.Query(q.where, query.Options{Sees: c.sees(), Rows: c.rowsOf(true)})
	return w, err
}

// putsKey refuses a PUT that does not say by its filters which row is meant, or whose body has
// another key.
func (c *call) putsKey(q *manyQuery, w *resource.ManyWrite) error {
	where, err := c.res.Query(q.where, query.Options{Sees: c.sees()})
	if err != nil {
		return err
	}
	mismatch := problem{kind: kindBadQuery, code: "PGRST115",
		detail: "Payload values do not match URL in primary key column(s)"}
	if len(w.Inputs) != 1 {
		return mismatch
	}
	t, in := where.Table, w.Inputs[0]
	for i := range where.Where {
		term := &where.Where[i]
		if len(where.Where) != len(t.Key) || !slices.Contains(t.Key, term.Column) ||
			term.Op != query.Eq || term.Not || term.Path != "" {
			return putFilters
		}
		at := w.Shape.Place(t.Columns[term.Column].Member)
		text, ok := row.KeyText(in.Values[at])
		if !in.Present[at] || !ok || text != term.Values[0] {
			return mismatch
		}
	}
	if len(where.Where) == 0 {
		return putFilters
	}
	return nil
}

var putFilters = problem{kind: kindMethod, code: "PGRST105", detail: "Filters must include all " +
	"and only primary key columns with 'eq' operators"}

// manyQuery reads the query and the preferences of a write.
func (c *call) manyQuery(op source.Op) (*manyQuery, error) {
	q := new(manyQuery)
	var filters []string
	chosen := ""
	for pair := range strings.SplitSeq(string(c.r.Query), "&") {
		name, value, _ := strings.Cut(pair, "=")
		text, err := url.QueryUnescape(value)
		if err != nil {
			return nil, problem{kind: kindBadQuery, detail: "the query cannot be read"}
		}
		switch name {
		case "":
		case "columns":
			q.columns = names(text)
		case "on_conflict":
			q.on, q.hasOn = names(text), true
		case "select":
			chosen = value
		case "order":
			q.order = value
		case "limit", "offset", "after", "format":
			return nil, problem{kind: kindBadQuery, code: query.CodeSyntax,
				detail: name + " does not go with a write",
				hint:   "a filter says which rows are meant"}
		default:
			filters = append(filters, pair)
		}
	}
	q.where = strings.Join(filters, "&")
	q.prefer(row.Alias(c.r.Prefer))
	if op != source.OpCreate || q.resolution == "" && !q.hasOn {
		q.resolution, q.on = "", nil
	}
	if q.returns != "representation" {
		return q, nil
	}
	return q, c.choose(op, q, chosen)
}

// choose reads which members the answer has, in which order.
func (c *call) choose(op source.Op, q *manyQuery, raw string) (err error) {
	if raw == "" && q.order == "" && !c.sight.narrows(c.res.Plan().Table()) {
		return nil
	}
	if raw == "" {
		raw = "*"
	}
	text := "select=" + raw
	if q.order != "" {
		text += "&order=" + q.order
	}
	q.chosen, err = c.res.Query(text, query.Options{Reads: c.mayEmbed, Sees: c.sees(),
		Rows: c.rowsOf(false)})
	if err != nil {
		return err
	}
	c.coverEmbedded(&c.m.q, q.chosen)
	if len(q.chosen.Embeds()) > 0 || q.order != "" {
		if q.reread = text; op == source.OpDelete || len(keyNames(c.res)) > 1 {
			return problem{kind: kindBadQuery, code: query.CodeSyntax, detail: "an order, or" +
				" embedded rows, go with no DELETE and with no resource of a composite key"}
		}
		return nil
	}
	for i := range q.chosen.Select {
		if m := &q.chosen.Select[i]; m.Cast.Fails() {
			return problem{kind: kindBadQuery, code: query.CodeSyntax, detail: "a cast to " +
				m.Cast.String() + " does not go with a write: it might fail once that is done"}
		}
	}
	return nil
}

// names returns the names of a list with commas, which may be in double quotes.
func names(text string) (list []string) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.Trim(strings.TrimSpace(name), `"`); name != "" {
			list = append(list, name)
		}
	}
	return list
}

// prefer reads the preferences of a write.
func (q *manyQuery) prefer(list string) {
	for name, value := range eachPreference(list) {
		switch name {
		case "resolution":
			q.resolution = value
		case "return":
			if isReturn(value) {
				q.returns = value
			}
		case "missing":
			q.defaults = value == "default"
		case "count":
			q.count = value == "exact"
		case "handling":
			q.strict = value == "strict"
		case "max-affected":
			q.promise, _ = strconv.Atoi(value)
		}
	}
	if !q.strict {
		q.promise = 0
	}
}

// applied are the lines that say which preferences were obeyed, in PostgREST's order.
func (q *manyQuery) applied() string {
	var list []string
	add := func(name, value string, is bool) {
		if is {
			list = append(list, name+"="+value)
		}
	}
	add("resolution", q.resolution, q.resolution != "")
	add("missing", "default", q.defaults)
	add("return", q.returns, q.returns != "")
	add("count", "exact", q.count)
	add("handling", "strict", q.strict)
	add("max-affected", strconv.Itoa(q.promise), q.promise > 0)
	if list == nil {
		return ""
	}
	return "Preference-Applied: " + strings.Join(list, ", ") + "\r\n"
}

// rows reads the documents of the body.
func (c *call) rows(op source.Op, shape *row.Shape, q *manyQuery) ([]*row.Input, error) {
	name, coding := c.r.contentType()
	format, ok := bodyFormat(name, false)
	if !ok || format != row.FormatJSON || coding != "" && coding != "identity" {
		return nil, problem{kind: kindMediaType}
	}
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	if err := c.unseen(op, body, q); err != nil {
		return nil, err
	}
	list, err := shape.DecodeRows(body, q.columns)
	if errors.As(err, new(row.RowsError)) {
		return nil, problem{kind: kindBadBody, detail: err.Error()}
	}
	var d *row.DecodeError
	if errors.As(err, &d) && d.Unknown != "" {
		return nil, c.noColumn(d.Unknown)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range q.columns {
		if !shape.Has(name) {
			return nil, c.noColumn(name)
		}
	}
	for i := 0; i < len(list) && !q.defaults; i++ {
		shape.Complete(list[i], q.columns)
	}
	return list, nil
}

// noColumn is the problem of a body with a member that is no column.
func (c *call) noColumn(name string) error {
	return problem{kind: kindBadBody, code: "PGRST204", detail: "Could not find the '" +
		front.Clip(name, 64) + "' column of '" + c.res.Name() + "' in the schema cache"}
}

// manyResult answers a write that has been done.
func (c *call) manyResult(
	op source.Op, q *manyQuery, done *resource.ManyResult, m *media,
) *answer {
	c.from = &provenance{token: done.Token, lag: done.Lag, steps: done.Steps}
	a := &answer{code: http.StatusNoContent, shared: c.shared(c.o.cacheControl(c.private))}
	a.more = q.applied() + manyRange(op, q, len(done.Rows))
	whole := q.returns == "representation"
	switch {
	case op == source.OpReplace && done.Created > 0:
		a.code = http.StatusCreated
	case op == source.OpCreate:
		a.code = http.StatusCreated
		if q.resolution == "merge-duplicates" && done.Created == 0 {
			a.code = http.StatusOK
		}
		if q.returns == "headers-only" && len(done.Rows) == 1 {
			a.more += "Location: " + c.location(done.Rows[0].Key) + "\r\n"
		}
	case whole:
		a.code = http.StatusOK
	}
	if !whole {
		if a.code != http.StatusNoContent {
			a.more += "Content-Length: 0\r\n"
		}
		return a
	}
	if a.kind = m.name; q.reread == "" || len(done.Rows) == 0 {
		a.body = q.represent(done)
	}
	return a
}

// represent returns the rows that were written, as the answer has them.
func (q *manyQuery) represent(done *resource.ManyResult) []byte {
	shape, rows := done.Shape, done.Rows
	if q.chosen != nil && q.chosen.Select != nil && q.reread == "" {
		shape, rows = project(q.chosen, shape, rows)
	}
	return q.as.append(nil, shape, rows)
}

// project returns rows with the members that a query chooses. None of its casts can fail.
func project(
	q *query.Query, shape *row.Shape, rows []source.Loaded,
) (*row.Shape, []source.Loaded) {
	fields, places := make([]row.Field, len(q.Select)), make([]int, len(q.Select))
	for i := range q.Select {
		m := &q.Select[i]
		places[i] = shape.Place(q.Table.Columns[m.Column].Member)
		fields[i] = m.Field(shape.Fields[places[i]])
	}
	rows = slices.Clone(rows)
	for i := range rows {
		values := make(row.Values, len(places))
		for j, at := range places {
			values[j], _ = q.Select[j].Make(rows[i].Values[at])
		}
		rows[i].Values = values
	}
	return row.NewShape(fields), rows
}

// manyRange is the line that says how many rows were written.
func manyRange(op source.Op, q *manyQuery, rows int) string {
	line := []byte("Content-Range: ")
	if op == source.OpMerge && rows > 0 {
		line = strconv.AppendInt(append(line, "0-"...), int64(rows-1), 10)
	} else {
		line = append(line, '*')
	}
	if line = append(line, '/'); q.count {
		line = strconv.AppendInt(line, int64(rows), 10)
	} else {
		line = append(line, '*')
	}
	return string(append(line, "\r\n"...))
}

// location is the query by which a new row is found.
func (c *call) location(key row.Key) string {
	columns := keyNames(c.res)
	parts, ok := row.SplitKey(key, len(columns))
	if !ok {
		parts = []string{string(key)}
	}
	at := c.o.BasePath + c.o.Postgrest + "/" + url.PathEscape(c.res.Name()) + "?"
	for i := range parts {
		if i > 0 {
			at += "&"
		}
		at += url.QueryEscape(columns[i]) + "=eq." + url.QueryEscape(parts[i])
	}
	return at
}
