package httpfront

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Where Options.Roles are set, the rights of the database's own roles decide: in the profile for
// each table and column, elsewhere for whole documents. Access can only narrow that.

// A sight is what a request may see and do of a resource, as the database's roles have it. The
// zero value is that of a request that no role decides about: it sees all.
type sight struct {
	role   string
	grants *source.TableGrants // of the resource's table; nil: no role decides
	all    *source.Grants
}

// askBearer asks for a token as PostgREST does.
const askBearer = "WWW-Authenticate: Bearer\r\n"

// granted reports whether the roles of the database decide about requests.
func (o *settings) granted() bool { return len(o.Roles) > 0 }

// role returns the role of the database that a request has. "": none decides.
func (m *memo) role(o *settings, r *request) (string, error) {
	if !o.granted() {
		return "", nil
	}
	p, err := m.identify(o, r)
	switch {
	case err != nil:
		return "", err
	case p == nil && o.Anon == "":
		return "", problem{kind: kindUnauthorized, code: "PGRST302",
			detail: "Anonymous access is disabled", header: askBearer}
	case p == nil:
		return o.Anon, nil
	}
	for _, role := range p.Roles {
		if slices.Contains(o.Roles, role) {
			return role, nil
		}
	}
	return "", problem{kind: kindForbidden, code: "42501",
		detail: "the token names no role that is known here"}
}

// look returns what the request may see and do of a resource. This is the one question about
// rights: an error says that the request may do nothing with it, and is what it is told.
func (c *call) look(res *resource.Resource) (sight, error) {
	role, err := c.m.role(c.o, c.r)
	if err != nil || role == "" {
		return sight{}, err
	}
	s := sight{role: role}
	if err := c.m.grantsOf(c.ctx, res, &s); err != nil {
		return s, err
	}
	plan := res.Plan()
	if plan == nil || plan.Table() == nil {
		return s, noRights(c.r, res.Name())
	}
	s.grants = s.all.Tables[plan.Table().Name]
	if !s.grants.Any() || s.grants.Policies || !s.names(plan.Table()) {
		return s, noRights(c.r, res.Name())
	}
	return s, nil
}

// grantsOf finds what the role of s may do in the database of a resource. Without a context it
// waits for nothing, and is errLater.
func (m *memo) grantsOf(ctx context.Context, res *resource.Resource, s *sight) (err error) {
	// Fast path.
	if s.all, _ = res.GrantsNow(s.role); s.all != nil {
		return nil
	}

	// Slow path.
	switch {
	case ctx == nil:
		return errLater
	case !res.Granting(): // the configuration is checked: it cannot be
		return problem{kind: kindForbidden, detail: "the database has no roles: " + res.Name()}
	}
	s.all, err = res.Grants(ctx, s.role)
	return err
}

// names reports whether the role may see the key, by which all rows are in order.
func (s *sight) names(t *query.Table) bool {
	for _, i := range t.Key {
		if !s.grants.Select[t.Columns[i].Name] {
			return false
		}
	}
	return true
}

// noRights is the problem of a role that has no right on a table, in PostgreSQL's words.
func noRights(r *request, table string) error {
	p := problem{kind: kindForbidden, code: "42501", detail: "permission denied for table " + table}
	if r.credentials() == nil { // as PostgREST has it: a token might help
		p.kind, p.header = kindUnauthorized, askBearer
	}
	return p
}

// sees returns a table as the role knows it.
func (s *sight) sees(t *query.Table) *query.Table {
	if s.all == nil {
		return t
	}
	g := s.all.Tables[t.Name]
	return t.Only(func(column string) bool { return g != nil && g.Select[column] })
}

// narrows reports whether the role does not see all that is shown of a table.
func (s *sight) narrows(t *query.Table) bool { return t != nil && s.sees(t) != t }

// whole returns the problem that keeps a role from documents as they are: it must see all of
// them.
func (m *memo) whole(
	ctx context.Context, o *settings, r *request, res *resource.Resource,
) error {
	role, err := m.role(o, r)
	if err != nil || role == "" {
		return err
	}
	s := sight{role: role}
	if err := m.grantsOf(ctx, res, &s); err != nil {
		return err
	}
	plan := res.Plan()
	if plan == nil {
		return problem{kind: kindUnavailable, logged: true}
	}
	t := plan.Table()
	if t != nil {
		g := s.all.Tables[t.Name]
		if g == nil || g.Policies || s.narrows(t) {
			return noRights(r, res.Name())
		}
	}
	for _, d := range plan.Deps() { // rows of other tables are in documents, too
		if (t == nil || t.Embeds && d.Table != t.Name) && !s.all.Tables[d.Table].Whole() {
			return noRights(r, res.Name())
		}
	}
	return nil
}

// session returns who writes, for the database.
func (c *call) session() (*source.Session, error) {
	if c.o.JWT == nil && !c.o.granted() || !c.res.Granting() {
		return nil, nil
	}
	role, err := c.m.role(c.o, c.r)
	if err != nil {
		return nil, err
	}
	p, err := c.m.identify(c.o, c.r)
	switch {
	case err != nil:
		return nil, err
	case p != nil && p.claims != "":
		return &source.Session{Role: role, Claims: p.claims}, nil
	case role == "":
		return nil, nil
	}
	return &source.Session{Role: role,
		Claims: string(appendMember(nil, `{"role":`, role)) + "}"}, nil
}

// schema returns the schema that a request means, of those that are there.
func (o *settings) schema(list string) (string, error) {
	if list == "" {
		return o.Schemas[0], nil
	}
	name, rest, more := strings.Cut(list, ",") // of both headers
	if rest = strings.TrimSpace(rest); slices.Contains(o.Schemas, name) && (!more || rest == name) {
		return name, nil
	}
	return "", problem{kind: kindProfile, code: "PGRST106",
		hint:   "Only the following schemas are exposed: " + strings.Join(o.Schemas, ", "),
		detail: "Invalid schema: " + front.Clip(list, 64)}
}

// findGranted returns the resource whose table a path of the profile names in its schema. What it
// answers about tables is the same whether they are in another schema or nowhere.
func (c *call) findGranted(name string) (*resource.Resource, error) {
	if _, err := c.m.role(c.o, c.r); err != nil {
		return nil, err
	}
	schema, err := c.o.schema(row.Alias(c.r.Profile))
	if err != nil {
		return nil, err
	}
	for _, try := range []string{schema + "." + name, name} {
		res, err := c.o.find(try)
		if err == nil && res.Plan() != nil && res.Plan().Table() != nil &&
			strings.HasPrefix(res.Plan().Table().Name, schema+".") {
			return res, nil
		}
		var p problem
		if errors.As(err, &p) && p.kind == kindStarting {
			return nil, err
		}
	}
	return nil, problem{kind: kindNotFound, code: "PGRST205", detail: "Could not find the table '" +
		front.Clip(schema+"."+name, 128) + "' in the schema cache"}
}

// writable reports whether the role knows a column that is written by an operation.
func (s *sight) writable(op source.Op, column string) bool {
	g := s.grants
	return g == nil || g.Select[column] || op != source.OpMerge && g.Insert[column] ||
		op != source.OpCreate && g.Update[column]
}

// unseen refuses a body, or a list of its columns, with a member that the role may neither see
// nor write, as one that there is not: before its value is looked at.
func (c *call) unseen(op source.Op, body []byte, q *manyQuery) error {
	if c.sight.grants == nil {
		return nil
	}
	if op == source.OpCreate && q.resolution == "merge-duplicates" {
		op = source.OpReplace
	}
	for _, name := range q.on {
		if _, err := c.sight.sees(c.res.Plan().Table()).Find(name); err != nil {
			return err
		}
	}
	named := slices.Clone(q.columns)
	var rows []map[string]json.RawMessage
	if json.Unmarshal(body, &rows) != nil {
		rows = make([]map[string]json.RawMessage, 1)
		_ = json.Unmarshal(body, &rows[0]) // what is no object is refused by who decodes it
	}
	for i := range rows {
		named = slices.AppendSeq(named, maps.Keys(rows[i]))
	}
	shape := c.res.Shape()
	for _, name := range named {
		if !shape.Has(name) || !c.sight.writable(op, shape.Fields[shape.Place(name)].Column) {
			return c.noColumn(name)
		}
	}
	return nil
}

// scrub takes out of a database's error what it says of columns that the role does not see. A
// detail has values of a row.
func (s *sight) scrub(res *resource.Resource, err error, p *problem) {
	if res != nil && res.Spec().Rows != nil && errors.As(err, new(*source.Error)) {
		p.details = ""
	}
	if s.grants == nil || res.Plan() == nil || !s.narrows(res.Plan().Table()) {
		return
	}
	var asked *query.Error
	if !errors.As(err, new(*source.Error)) &&
		(!errors.As(err, &asked) || asked.Code != query.CodeUnindexed) {
		return
	}
	p.details = ""
	for _, col := range res.Plan().Table().Columns {
		if s.grants.Select[col.Name] {
			continue
		}
		if strings.Contains(p.detail, col.Name) {
			p.detail = ""
		}
		if strings.Contains(p.hint, col.Name) {
			p.hint = ""
		}
	}
}
