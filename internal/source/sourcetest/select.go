package sourcetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// A pool is a column of the table that queries are tried on, and the values in it.
type pool struct {
	name    string
	types   map[string]string // by the name of the dialect; "" for all others
	texts   []string          // as queries write them
	quoted  bool              // in SQL
	like    []string          // patterns, for texts
	boolean bool
}

// pools are the columns besides the key.
var pools = []pool{
	{name: "n", types: map[string]string{"": "integer"},
		texts: []string{"-5", "0", "3", "7", "2000000000"}},
	{name: "t", types: map[string]string{"": "text", "mysql": "varchar(40)"}, quoted: true,
		texts: []string{"", "a", "A", "Ab", "ab", "a,b", "null", `x"y`, "(z)", "50%", "a_b", "über",
			"a*b", "a?b", "[a]", "it's", "{q}", "a.b", "!"},
		like: []string{"a*", "*b", "%", "_", "A_", `50\%`, `a\_b`, `*\*`, `*\**`, "ü*", "[a]", "!",
			"", "a?*"}},
	{name: "c", types: map[string]string{"": "text", "sqlite": "text COLLATE NOCASE",
		"mysql": "varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"}, quoted: true,
		texts: []string{"x", "X", "xy", "Xy", "z"}, like: []string{"x*", "X*", "*Y", "__"}},
	{name: "b", types: map[string]string{"": "boolean"}, texts: []string{"true", "false"},
		boolean: true},
	{name: "f", types: map[string]string{"": "double precision", "sqlite": "real"},
		texts: []string{"-2.5", "0.1", "0", "3", "1e300"}},
	{name: "d", types: map[string]string{"": "numeric(8,2)"},
		texts: []string{"-1", "0.1", "0.15", "12", "99999.5", "1.005"}},
	{name: "day", types: map[string]string{"": "date"}, quoted: true,
		texts: []string{"1999-12-31", "2024-02-29", "2026-01-01"}},
}

// A trial makes queries and says in plain SQL what they find.
type trial struct {
	s    *suite
	rand *rand.Rand
	rows [][]string // texts of the columns, "\x00" for NULL; the id is the place
}

// selects compares what random queries find with plain SQL.
func (s *suite) selects() {
	if _, ok := s.src.(source.Store); !ok {
		s.t.Fatal("a source of tables must be a Store")
	}
	seed := rand.Uint64()
	s.t.Logf("seed %d", seed)
	k := &trial{s: s, rand: rand.New(rand.NewPCG(seed, 1))}
	k.fill(120)
	plan := s.compile(&source.Spec{Table: "trial"})
	found := 0
	for range 400 {
		raw, where := k.query()
		order, by := k.order()
		want := k.ids("SELECT id FROM trial WHERE " + where + by)
		k.pages(plan, raw+order, want)
		found += len(want)
	}
	if found == 0 {
		s.t.Error("no query found anything")
	}
}

// fill makes the table.
func (k *trial) fill(n int) {
	columns := "id integer PRIMARY KEY"
	for _, p := range pools {
		typ, ok := p.types[k.s.env.Dialect.Name]
		if !ok {
			typ = p.types[""]
		}
		columns += ", " + p.name + " " + typ
	}
	k.s.env.Exec(k.s.t, "CREATE TABLE trial ("+columns+")")
	for id := range n {
		row := make([]string, len(pools))
		values := fmt.Sprint(id)
		for i, p := range pools {
			row[i] = "\x00"
			if k.rand.IntN(5) > 0 {
				row[i] = p.texts[k.rand.IntN(len(p.texts))]
			}
			if p.name == "d" && row[i] == "1.005" {
				row[i] = "1" // which the column can hold
			}
			values += ", " + p.literal(row[i])
		}
		k.rows = append(k.rows, row)
		k.s.env.Exec(k.s.t, "INSERT INTO trial VALUES ("+values+")")
	}
}

// literal writes a value in SQL.
func (p *pool) literal(text string) string {
	switch {
	case text == "\x00":
		return "NULL"
	case p.quoted:
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return text
}

// query returns the filters of a query, and what they mean.
func (k *trial) query() (raw, where string) {
	where = "1 = 1"
	for range 1 + k.rand.IntN(2) {
		text, cond := k.term(2)
		raw += "and=" + url.QueryEscape("("+text+")") + "&"
		where += " AND " + cond
	}
	if k.rand.IntN(2) > 0 {
		name, operation, cond := k.leaf()
		raw += name + "=" + url.QueryEscape(operation(false)) + "&"
		where += " AND " + cond
	}
	return raw, where
}

// term returns a condition as one of a group, and what it means.
func (k *trial) term(depth int) (text, cond string) {
	if depth > 0 && k.rand.IntN(3) == 0 {
		op := [...]string{"and", "or"}[k.rand.IntN(2)]
		var texts, conds []string
		for range 1 + k.rand.IntN(3) {
			text, cond := k.term(depth - 1)
			texts, conds = append(texts, text), append(conds, cond)
		}
		text = op + "(" + strings.Join(texts, ",") + ")"
		cond = "(" + strings.Join(conds, " "+strings.ToUpper(op)+" ") + ")"
		if k.rand.IntN(3) == 0 {
			return "not." + text, "NOT " + cond
		}
		return text, cond
	}
	name, operation, cond := k.leaf()
	return name + "." + operation(true), cond
}

// leaf returns a comparison: its column, a function that writes what follows, in a group or
// not, and what it means.
func (k *trial) leaf() (name string, operation func(grouped bool) string, cond string) {
	at := k.rand.IntN(len(pools))
	p := &pools[at]
	not := ""
	if k.rand.IntN(4) == 0 {
		not = "not."
	}
	var op, operand string
	switch choice := k.rand.IntN(10); {
	case choice == 0:
		op, operand, cond = "is", "null", p.name+" IS NULL"
	case choice == 1 && p.boolean:
		op, operand, cond = "is", "true", "("+p.name+" IS NOT NULL AND "+p.name+" = true)"
	case choice <= 3:
		op, operand, cond = k.several(p)
	case choice <= 5 && p.like != nil:
		op, operand, cond = k.pattern(at)
	default:
		op, operand, cond = k.compared(p)
	}
	if not != "" {
		cond = "NOT (" + cond + ")"
	}
	return p.name, func(grouped bool) string {
		if grouped && op != "in" {
			return not + op + "." + quoted(operand)
		}
		return not + op + "." + operand
	}, cond
}

// signs are the operators that compare, and what they mean.
var signs = [][2]string{{"eq", "="}, {"neq", "<>"}, {"gt", ">"}, {"gte", ">="}, {"lt", "<"},
	{"lte", "<="}}

// compared returns a comparison with one value.
func (k *trial) compared(p *pool) (op, operand, cond string) {
	value := p.texts[k.rand.IntN(len(p.texts))]
	if k.rand.IntN(6) == 0 {
		return "isdistinct", value, "(" + p.name + " IS NULL OR " + p.name + " <> " +
			p.literal(value) + ")"
	}
	sign := signs[k.rand.IntN(len(signs))]
	return sign[0], value, p.name + " " + sign[1] + " " + p.literal(value)
}

// several returns a comparison with several values.
func (k *trial) several(p *pool) (op, operand, cond string) {
	items := make([]string, k.rand.IntN(4))
	for i := range items {
		items[i] = p.texts[k.rand.IntN(len(p.texts))]
	}
	written := make([]string, len(items))
	for i, item := range items {
		written[i] = quoted(item)
	}
	list := strings.Join(written, ",")
	sign, quant := signs[0], "any"
	if k.rand.IntN(2) == 0 {
		op, operand = "in", "("+list+")"
	} else {
		if sign = signs[k.rand.IntN(len(signs))]; sign[0] == "neq" {
			sign = signs[0]
		}
		quant = [...]string{"any", "all"}[k.rand.IntN(2)]
		op, operand = sign[0]+"("+quant+")", "{"+list+"}"
	}
	conds := make([]string, len(items))
	for i, item := range items {
		conds[i] = p.name + " " + sign[1] + " " + p.literal(item)
	}
	switch {
	case len(conds) == 0 && quant == "all":
		return op, operand, "1 = 1"
	case len(conds) == 0:
		return op, operand, "1 = 0"
	case quant == "all":
		return op, operand, "(" + strings.Join(conds, " AND ") + ")"
	}
	return op, operand, "(" + strings.Join(conds, " OR ") + ")"
}

// pattern returns a comparison with a pattern. What it finds is computed here.
func (k *trial) pattern(at int) (op, operand, cond string) {
	p := &pools[at]
	operand = p.like[k.rand.IntN(len(p.like))]
	op = [...]string{"like", "ilike"}[k.rand.IntN(2)]
	if k.s.env.Dialect.Name == "sqlite" && strings.Contains(operand, "ü") {
		op = "like" // SQLite folds ASCII only
	}
	var re strings.Builder
	re.WriteString("(?s)^")
	if op == "ilike" {
		re.WriteString("(?i)")
	}
	escaped := false
	for _, r := range operand {
		switch {
		case !escaped && r == '\\':
			escaped = true
			continue
		case !escaped && (r == '%' || r == '*'):
			re.WriteString(".*")
		case !escaped && r == '_':
			re.WriteString(".")
		default:
			re.WriteString(regexp.QuoteMeta(string(r)))
		}
		escaped = false
	}
	matches := regexp.MustCompile(re.String() + "$")
	ids := "-1"
	for id, row := range k.rows {
		if row[at] != "\x00" && matches.MatchString(row[at]) {
			ids += fmt.Sprint(", ", id)
		}
	}
	return op, operand, "(CASE WHEN " + p.name + " IS NULL THEN NULL WHEN id IN (" + ids +
		") THEN 1 = 1 ELSE 1 = 0 END)"
}

// order returns an order and what it means: where the nulls are is said in every case.
func (k *trial) order() (text, by string) {
	var items []string
	high := k.s.env.Dialect.Name == "postgres"
	by = " ORDER BY "
	for range k.rand.IntN(3) {
		p := &pools[k.rand.IntN(len(pools))]
		if slices.ContainsFunc(items, func(it string) bool {
			return it == p.name || strings.HasPrefix(it, p.name+".")
		}) {
			continue
		}
		item, desc, first := p.name, k.rand.IntN(2) == 0, false
		if desc {
			item += ".desc"
		}
		switch k.rand.IntN(3) {
		case 0:
			item, first = item+".nullsfirst", true
		case 1:
			item += ".nullslast"
		default:
			first = desc == high
		}
		items = append(items, item)
		null := "1"
		if first {
			null = "-1"
		}
		by += "CASE WHEN " + p.name + " IS NULL THEN " + null + " ELSE 0 END, " + p.name
		if desc {
			by += " DESC"
		}
		by += ", "
	}
	if len(items) > 0 {
		text = "order=" + strings.Join(items, ",")
	}
	if k.rand.IntN(4) == 0 {
		if text == "" {
			text = "order=id.desc"
		} else {
			text += ",id.desc"
		}
		return text, by + "id DESC"
	}
	return text, by + "id"
}

// ids returns the ids that a statement finds.
func (k *trial) ids(sql string) []string {
	k.s.t.Helper()
	var ids []string
	err := k.s.src.(source.Store).Query(k.s.ctx, sql, nil, func(r source.StoreRow) error {
		ids = append(ids, fmt.Sprint(r.Int(0)))
		return nil
	})
	if err != nil {
		k.s.t.Fatalf("%s: %v", sql, err)
	}
	return ids
}

// pages reads a query page by page, by cursor, and once by a window.
func (k *trial) pages(plan source.Plan, raw string, want []string) {
	k.s.t.Helper()
	got := make([]string, 0, len(want))
	for next := raw + fmt.Sprintf("&limit=%d", 1+k.rand.IntN(60)); next != ""; {
		q, found := k.one(plan, next, query.CountExact)
		if found.Total != int64(len(want)) {
			k.s.t.Fatalf("%s: counted %d, want %d", next, found.Total, len(want))
		}
		got = append(got, keysOf(found)...)
		if next = ""; found.More {
			if found.Last == nil {
				k.s.t.Fatalf("%s: no cursor for the next page", q)
			}
			next = q.Next(found.Last)
		}
		if len(got) > len(want) {
			break
		}
	}
	if d := cmp.Diff(want, got); d != "" && len(want)+len(got) > 0 {
		k.s.t.Fatalf("%s: pages (-want +got):\n%s", raw, d)
	}
	if len(want) > 5 { // rows passed over behind a cursor
		q, found := k.one(plan, raw+"&limit=2", query.CountNone)
		_, found = k.one(plan, q.Next(found.Last)+"&offset=1", query.CountNone)
		if d := cmp.Diff(want[3:5], keysOf(found)); d != "" {
			k.s.t.Fatalf("%s: one row behind the second (-want +got):\n%s", raw, d)
		}
	}
	offset, limit := k.rand.IntN(10), k.rand.IntN(20)
	_, found := k.one(plan, fmt.Sprintf("%s&limit=%d&offset=%d&select=x:t,d", raw, limit, offset),
		query.CountNone)
	rest := want[min(offset, len(want)):]
	if d := cmp.Diff(rest[:min(limit, len(rest))], keysOf(found)); d != "" &&
		len(rest)+len(found.Rows) > 0 && limit > 0 {
		k.s.t.Fatalf("%s: limit %d, offset %d (-want +got):\n%s", raw, limit, offset, d)
	}
	if found.More != (len(rest) > limit) || len(found.Rows) > limit {
		k.s.t.Fatalf("%s: limit %d, offset %d: %d rows, more: %v", raw, limit, offset,
			len(found.Rows), found.More)
	}
}

// one runs one query.
func (k *trial) one(
	plan source.Plan, raw string, count query.Count,
) (*query.Query, *source.Selected) {
	k.s.t.Helper()
	q, err := query.Parse(raw, plan.Table(), query.Options{Count: count})
	if err != nil {
		k.s.t.Fatalf("%s: %v", raw, err)
	}
	found, err := plan.Select(k.s.ctx, q)
	if err != nil {
		k.s.t.Fatalf("%s: %v", q, err)
	}
	return q, found
}

func keysOf(found *source.Selected) []string {
	keys := make([]string, len(found.Rows))
	for i, r := range found.Rows {
		keys[i] = string(r.Key)
	}
	return keys
}

// quoted writes a value in double quotes.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// guard refuses on a large table what no index answers, until one does.
func (s *suite) guard() {
	s.env.Exec(s.t, "CREATE TABLE large (id integer PRIMARY KEY, n integer, m integer)",
		"INSERT INTO large VALUES (0, 0, 0)")
	for i := 1; i <= 8192; i *= 2 {
		s.env.Exec(s.t, fmt.Sprintf("INSERT INTO large SELECT id + %d, id + %[1]d, id + %[1]d + 1"+
			" FROM large", i))
	}
	k := &trial{s: s}
	plan := s.compile(&source.Spec{Table: "large"})
	for raw, want := range map[string]int{"id=eq.5": 1, "id=gte.16380&order=id": 4,
		"id=in.(1,2)&n=gt.1": 1} {
		if _, found := k.one(plan, raw, query.CountNone); len(found.Rows) != want {
			s.t.Errorf("%s: %d rows, want %d", raw, len(found.Rows), want)
		}
	}
	q, err := query.Parse("n=eq.7", plan.Table(), query.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = plan.Select(s.ctx, q)
	var refused *query.Error
	if !errors.As(err, &refused) || refused.Code != query.CodeUnindexed {
		s.t.Fatalf("a filter without an index: %v", err)
	}
	s.waysPastTheGuard()
	s.env.Exec(s.t, refused.Hint)
	plan = s.compile(&source.Spec{Table: "large"})
	if _, found := k.one(plan, "n=eq.7", query.CountEstimated); len(found.Rows) != 1 ||
		found.Total != 1 {
		s.t.Errorf("with the index: %d rows of %d", len(found.Rows), found.Total)
	}
	_, found := k.one(plan, "limit=1", query.CountPlanned)
	if found.Total < 0 {
		s.t.Errorf("planned: %d", found.Total)
	}
	if _, found = k.one(plan, "limit=1", query.CountEstimated); found.Total < 10_001 {
		s.t.Errorf("estimated: %d", found.Total)
	}
}
