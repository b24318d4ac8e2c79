package httpfront

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/fallback"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A Fallback is a PostgREST that is asked what the profile does not answer itself. Whatever a
// rule of ours refuses is never asked of it: who may read is known here first.
type Fallback struct {
	Server *fallback.Server
	Source string // with the database that it is in front of

	Headers   []string        // of requests that it gets besides relayedNames
	Costly    bool            // it answers lists that no index answers
	Monotonic bool            // what it has shown is in every later answer of ours
	Shut      map[string]bool // resources of which it is asked nothing

	// LeftOut returns the schema of a table of Source that is no resource by its kind or its
	// policy; false: there is none of this name. "" for schema is the database's default.
	LeftOut func(ctx context.Context, schema, name string) (of string, ok bool)
}

// behind answers by the fallback a request of the profile that ended with refused, if it lacks
// only what is not done here. Else it returns refused.
func (c *call) behind(t *target, refused error) (*answer, error) {
	f := c.o.Fallback
	if f == nil || !c.lacking(t, refused) {
		return nil, refused
	}
	if !c.mayFollow() {
		return nil, problem{kind: kindCrossOrigin,
			detail: "a page of another site may not ask this"}
	}
	schema, err := c.meant()
	if err != nil {
		return nil, err
	}
	if t.kind != pathFunction {
		of, ok, err := c.reaches(t.name, schema)
		if err != nil {
			return nil, err
		}
		if schema = of; !ok {
			return nil, refused
		}
	}
	if err := c.mayReach(schema); err != nil {
		return nil, err
	}
	if c.foreign && len(c.r.credentials()) == 0 {
		return nil, unauthorized(c.r, "a page of another origin needs a token to write")
	}
	return c.relay(t, schema)
}

// meant returns the schema that a request means where the roles of the database decide; else "".
func (c *call) meant() (string, error) {
	if !c.o.granted() {
		return "", nil
	}
	return c.o.schema(row.Alias(c.r.Profile))
}

// reaches reports whether the fallback may be asked for a table of a schema, and which that is
// to it. An error is why the client may not ask for it anywhere.
func (c *call) reaches(name, schema string) (of string, ok bool, err error) {
	f := c.o.Fallback
	res, served := c.o.Resources.Lookup(name)
	if c.o.granted() {
		res, err = c.findGranted(name)
		served = err == nil
	}
	if !served {
		of, ok = f.LeftOut(c.ctx, schema, name)
		return of, ok, nil
	}
	if of, ok = f.mirrors(res, name); !ok {
		return "", false, nil
	}
	if _, err := c.m.pass(c.o, c.r, name, res.Access().Read); err != nil {
		return "", false, err
	}
	s, err := c.look(res)
	if err != nil {
		return "", false, err
	}
	return of, !s.narrows(res.Plan().Table()), nil
}

// lacking reports whether a request was refused because hotrow does not have what it asks for,
// and not because it may not.
func (c *call) lacking(t *target, refused error) bool {
	var q *query.Error
	var p problem
	isProblem := errors.As(refused, &p)
	switch {
	case !relays(c.r.Method):
		return false
	case t.kind == pathFunction:
		return isProblem && p.code == codeNoFunction
	case c.res == nil:
		return isProblem && p.kind == kindNotFound
	case c.r.Method == http.MethodOptions:
		return false
	case c.r.Method != http.MethodGet && c.r.Method != http.MethodHead:
		return isProblem && p.kind == kindMethod && !c.res.Writable()
	case errors.As(refused, &q):
		return q.Code == query.CodeSyntax && !q.Bound || q.Code == query.CodeUnrelated ||
			q.Code == query.CodeUnindexed && c.o.Fallback.Costly
	}
	return isProblem && (p.kind == kindNotAcceptable || p.lacks)
}

// relays reports whether requests of a method are relayed.
func relays(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return true
	}
	return false
}

// mirrors returns the schema of the table of a resource that shows all of it under its own
// names, that of the table among them: what the fallback calls so is the same, and has no column
// that is hidden here.
func (f *Fallback) mirrors(res *resource.Resource, name string) (schema string, ok bool) {
	spec, plan := res.Spec(), res.Plan()
	if res.Source() != f.Source || f.Shut[res.Name()] || spec.Table.Query != "" ||
		len(spec.Table.Embeds) > 0 || plan == nil || plan.Table() == nil {
		return "", false
	}
	t := plan.Table()
	for i := range t.Columns {
		if t.Columns[i].Member != t.Columns[i].Name {
			return "", false
		}
	}
	if t.Name == name && strings.IndexByte(name, '.') < 0 { // of a database without schemas
		return "", true
	}
	return strings.CutSuffix(t.Name, "."+name)
}

// mayReach returns why the tables that a request embeds, by whatever name, may not be asked of
// the fallback: each must be one that a path may name.
func (c *call) mayReach(schema string) error {
	names, ok := embeddedNames(string(c.r.Query))
	if !ok {
		return problem{kind: kindBadQuery, code: query.CodeSyntax,
			detail: "it cannot be told which tables this embeds, so the fallback is not asked",
			hint:   "leave out semicolons, and quotes in select"}
	}
	if len(names) > 0 && c.o.Fallback.ruled(c.o.Resources) {
		return problem{kind: kindBadQuery, code: query.CodeUnrelated, // rows between are not named
			detail: "where a rule says which rows there are, the fallback embeds none"}
	}
	if len(names) > 0 && c.hidesPairs(schema) {
		return problem{kind: kindBadQuery, code: query.CodeUnrelated,
			detail: "a table that joins others is not for this client, so the fallback embeds none"}
	}
	for _, name := range names {
		_, ok, err := c.reaches(name, schema)
		switch {
		case err != nil:
			return err
		case !ok:
			return problem{kind: kindBadQuery, code: query.CodeUnrelated,
				detail: "rows of " + clip(name) + " are not asked of the fallback",
				hint:   "embed a table by its name, which is served with all of its columns"}
		}
	}
	return nil
}

// hidesPairs reports whether there is a table of pairs that the fallback may not be asked for: it
// joins those on both sides of one without being named. Such a table has both in its key.
func (c *call) hidesPairs(schema string) bool {
	return slices.ContainsFunc(c.o.Resources.All(), func(res *resource.Resource) bool {
		if res.Source() != c.o.Fallback.Source || len(res.KeyType()) < 2 {
			return false
		}
		_, ok, err := c.reaches(strings.TrimPrefix(res.Name(), schema+"."), schema)
		return err != nil || !ok
	})
}

// ruled reports whether a resource of the fallback's source has a rule about rows.
func (f *Fallback) ruled(served *resource.Set) bool {
	return slices.ContainsFunc(served.All(), func(res *resource.Resource) bool {
		return res.Spec().Rows != nil && res.Source() == f.Source
	})
}

// embeddedNames returns the tables that the select of a query embeds, at any depth, as they are
// called there. It reports false where two programs could read the query differently.
func embeddedNames(raw string) (names []string, ok bool) {
	if strings.IndexByte(raw, ';') >= 0 { // a separator to some
		return nil, false
	}
	for i := range len(raw) {
		if raw[i] <= ' ' || raw[i] >= 0x7f || raw[i] == '#' {
			return nil, false
		}
	}
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return nil, false
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return nil, false
		}
		if name != "select" {
			continue
		}
		if strings.ContainsAny(value, "\"\\\x00") {
			return nil, false
		}
		names = appendEmbedded(names, value)
	}
	return names, true
}

// appendEmbedded appends what stands before the brackets of a select: "a" of x:a!b(c). An
// aggregate is none: count(), c.sum().
func appendEmbedded(names []string, text string) []string {
	from := 0
	for i := range len(text) {
		switch text[i] {
		case ',', ')':
			from = i + 1
		case '(':
			name := strings.TrimSpace(text[from:i])
			from = i + 1
			if strings.HasPrefix(text[i:], "()") && isAggregate(name) {
				continue
			}
			name = name[strings.LastIndexByte(name, ':')+1:]
			name, _, _ = strings.Cut(strings.TrimSpace(name), "!")
			name = strings.TrimSpace(strings.TrimPrefix(name, "..."))
			names = append(names, name)
		}
	}
	return names
}

// isAggregate reports whether what stands before () is an aggregate of PostgREST.
func isAggregate(name string) bool {
	name = name[strings.LastIndexByte(name, ':')+1:]
	at := strings.LastIndexByte(name, '.')
	switch name[at+1:] {
	case "count":
		return true
	case "avg", "max", "min", "sum":
		return at > 0
	}
	return false
}

// LeftOut returns the tables of a catalogue that no resource can show by itself, for their kind
// or their policy, and that none shows in another way.
func LeftOut(cat *source.Catalog, served *resource.Set) []*source.Table {
	shown := make(map[string]bool)
	for _, res := range served.All() {
		spec := res.Spec()
		if t, ok := cat.Table(spec.Table.Table); ok {
			shown[t.ID()] = true
		}
	}
	var left []*source.Table
	for i := range cat.Tables {
		t := &cat.Tables[i]
		if (t.Refused != "" || len(t.Key) == 0) && !shown[t.ID()] {
			left = append(left, t)
		}
	}
	return left
}
