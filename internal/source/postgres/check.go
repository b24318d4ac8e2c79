package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
	"github.com/hotrow/hotrow/internal/source/postgres/logical"
)

// Check implements source.Plan.
func (p *plan) Check(ctx context.Context) ([]source.Finding, error) {
	findings, errs := p.src.CheckAll(ctx, []source.Plan{p})
	return findings[0], errs[0]
}

// checksAtOnce is how many plans are looked at, or prepared, at a time.
const checksAtOnce = 4

// CheckAll implements source.ManyChecker. It asks the server how it would run each Load, with
// sequential scans made as dear as can be: one that is still there has no index to use instead,
// however small the table is today.
func (s *Source) CheckAll(
	ctx context.Context, plans []source.Plan,
) ([][]source.Finding, []error) {
	findings, errs := make([][]source.Finding, len(plans)), make([]error, len(plans))
	tables, err := s.direct(ctx, plans)
	source.Together(len(plans), checksAtOnce, func(i int) {
		p, err := plans[i].(*plan), err
		if err == nil {
			findings[i], err = p.check(ctx, tables)
		}
		if err != nil {
			errs[i] = fmt.Errorf("check %s: %w", p.Name, err)
		}
	})
	return findings, errs
}

// direct returns the tables whose changes find documents of plans by columns alone, by their
// IDs.
func (s *Source) direct(
	ctx context.Context, plans []source.Plan,
) (map[string]*catalog.Table, error) {
	tables := make(map[string]*catalog.Table)
	var all []source.Watched
	for _, p := range plans {
		all = append(all, p.(*plan).direct()...)
	}
	if len(all) == 0 {
		return tables, nil
	}
	ctx, cancel := s.begin(ctx, 2)
	defer cancel()
	err := s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		found, err := feed.ReadTables(ctx, conn, all, "")
		for _, t := range found {
			tables[t.ID()] = t.Table
		}
		return err
	})
	return tables, err
}

// check looks at one plan. tables are those that direct returns.
func (p *plan) check(
	ctx context.Context, tables map[string]*catalog.Table,
) ([]source.Finding, error) {
	ctx, cancel := p.src.begin(ctx, 1)
	defer cancel()
	var top planNode
	err := p.src.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		top, err = p.explain(ctx, conn)
		return err
	})
	if err != nil {
		return nil, err
	}
	var scans []planNode
	top.scans(&scans)
	var findings []source.Finding
	for _, n := range p.Nodes() {
		findings = append(findings, p.checkNode(n, scans)...)
	}
	if p.Query != nil {
		findings = append(findings, p.checkQuery(scans)...)
	}
	for _, w := range p.direct() {
		if tables[w.Table] == nil {
			continue
		}
		t := &feed.Table{Table: tables[w.Table], Watched: w.Columns, Direct: w.Direct, Old: w.Old}
		for _, f := range logical.CheckIdentity(t) {
			if logical.Blunt(t) && f.Level == source.LevelWarning {
				findings = append(findings, f)
			}
		}
	}
	return findings, nil
}

// direct returns the tables whose changes find documents by columns alone.
func (p *plan) direct() []source.Watched {
	var out []source.Watched
	for _, d := range p.Deps() {
		if len(d.Columns) > 0 && len(d.Identity) == 0 {
			out = append(out, source.Watched{Table: d.Table, Columns: d.Columns, Direct: d.Columns})
		}
	}
	for _, path := range p.Paths() {
		for _, s := range path.Steps {
			seen := slices.ContainsFunc(out, func(w source.Watched) bool {
				return w.Table == s.Table && slices.Equal(w.Columns, s.On)
			})
			if s.Named && len(s.On) > 0 && !seen {
				out = append(out, source.Watched{Table: s.Table, Columns: s.On, Direct: s.On})
			}
		}
	}
	return out
}

// A planNode is what EXPLAIN (FORMAT JSON) says of one step of a plan.
type planNode struct {
	Type      string     `json:"Node Type"`
	Relation  string     `json:"Relation Name"`
	Alias     string     `json:"Alias"`
	IndexCond string     `json:"Index Cond"`
	Filter    string     `json:"Filter"`
	Plans     []planNode `json:"Plans"`
}

// explain returns the plan of the statement for one key, made for any key. The server gets all
// that this takes at once.
func (p *plan) explain(ctx context.Context, conn *pgx.Conn) (planNode, error) {
	nulls := make([]string, len(p.types))
	for i := range nulls {
		nulls[i] = "NULL"
	}
	explain := fmt.Sprintf("EXPLAIN (FORMAT JSON) EXECUTE hotrow_check(%s)",
		strings.Join(nulls, ", "))
	const undo, forget = "ROLLBACK", "DEALLOCATE hotrow_check" // which outlives the transaction
	batch := new(pgconn.Batch)
	statements := []string{
		"BEGIN",
		"SET LOCAL plan_cache_mode = force_generic_plan",
		"SET LOCAL enable_seqscan = off",
		"PREPARE hotrow_check AS " + p.one.SQL,
		explain, undo, forget,
	}
	for _, sql := range statements {
		batch.ExecParams(sql, nil, nil, nil, nil)
	}
	var text []byte
	answers := conn.PgConn().ExecBatch(ctx, batch)
	for i := 0; answers.NextResult(); i++ {
		if r := answers.ResultReader().Read(); statements[i] == explain && len(r.Rows) == 1 {
			text = r.Rows[0][0]
		}
	}
	if err := answers.Close(); err != nil {
		// A connection that cannot do either is closed when it is released.
		_, _ = conn.Exec(ctx, undo)
		_, _ = conn.Exec(ctx, forget)
		return planNode{}, err
	}
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) != 1 {
		return planNode{}, fmt.Errorf("read the plan: %w", err)
	}
	return plans[0].Plan, nil
}

// scans adds the steps that read a table without looking anything up in an index.
func (n *planNode) scans(found *[]planNode) {
	if n.Type == "Seq Scan" || strings.HasPrefix(n.Type, "Index") && n.IndexCond == "" {
		*found = append(*found, *n)
	}
	for i := range n.Plans {
		n.Plans[i].scans(found)
	}
}

// checkNode returns what is wrong with the way that rows of n are found.
func (p *plan) checkNode(n *document.Node, scans []planNode) []source.Finding {
	cols := n.KeyCols
	if n.On != nil {
		cols = n.On
	}
	scanned := slices.ContainsFunc(scans, func(s planNode) bool {
		// The parts of a partitioned table are called alias_1, alias_2, ...
		return s.Alias == n.Alias || strings.HasPrefix(s.Alias, n.Alias+"_")
	})
	if !scanned || n.Table.Result || len(cols) == 0 {
		return nil
	}
	list := strings.Join(document.Names(cols), ", ")
	f := source.Finding{
		Level: source.LevelWarning,
		Text: fmt.Sprintf("%s: rows of %s are found by (%s) without an index", p.Name, n.Name,
			list),
		Why: "every load reads the whole table",
	}
	if bad := p.comparison(n, cols); bad != "" {
		f.Text = p.Name + ": " + bad
		return []source.Finding{f}
	}
	if !n.Table.View {
		f.Apply, f.Remove = indexSQL(n, cols)
	}
	return []source.Finding{f}
}

// comparison says which comparison of a child with its parent keeps an index
// from being used, or "".
func (p *plan) comparison(n *document.Node, cols []document.Column) string {
	for _, parent := range p.Nodes() {
		if n.On == nil || !slices.Contains(parent.Kids, n) {
			continue
		}
		for i, col := range cols {
			if key := native(parent.KeyCols[i]); key.kind != native(col).kind {
				return fmt.Sprintf("%s.%s is %s and %s.%s is %s: to compare them every row of "+
					"%s is"+
					" converted, and no index on it is of use",
					n.Name, col.Info().Name, col.Info().Native, parent.Name, key.Name, key.Native,
					n.Name)
			}
		}
	}
	return ""
}

// indexSQL returns the statements that make and remove an index on columns.
func indexSQL(n *document.Node, cols []document.Column) (apply, remove []string) {
	quoted := make([]string, len(cols))
	for i, col := range cols {
		quoted[i] = pgx.Identifier{col.Info().Name}.Sanitize()
	}
	t := n.Table.Native.(*table)
	name := t.Name + "_" + strings.Join(document.Names(cols), "_") + "_idx"
	if len(name) > 63 { // longer names are cut short by the server
		name = name[:63]
	}
	concurrently := "CONCURRENTLY "
	if t.kind == catalog.KindPartitioned { // not possible there
		concurrently = ""
	}
	apply = []string{fmt.Sprintf("CREATE INDEX %s%s ON %s (%s)", concurrently,
		pgx.Identifier{name}.Sanitize(), n.Table.Into, strings.Join(quoted, ", "))}
	remove = []string{fmt.Sprintf("DROP INDEX %s%s", concurrently,
		pgx.Identifier{t.Schema, name}.Sanitize())}
	return apply, remove
}

// checkQuery returns what a query reads without an index. Which index would
// help is for its author to say.
func (p *plan) checkQuery(scans []planNode) []source.Finding {
	var findings []source.Finding
	for _, s := range scans {
		named := func(n *document.Node) bool { return n.Alias == s.Alias }
		if slices.ContainsFunc(p.Nodes(), named) {
			continue
		}
		findings = append(findings, source.Finding{
			Level: source.LevelWarning,
			Text:  fmt.Sprintf("%s: the query reads all of %s (%s)", p.Name, s.Relation, s.Filter),
			Why: "every load reads the whole table: there is no index for the condition, or the" +
				" key is compared as another type than the column's",
		})
	}
	return findings
}
