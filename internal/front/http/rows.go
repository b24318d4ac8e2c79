package httpfront

import (
	"encoding/json"
	"slices"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/jwt"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A rule about rows is kept where they are asked for: it is one more condition of each list, and
// so a part of the list's key. Only the profile has such resources: their access shuts all else
// out.

// access returns who may read and write a resource by the request's path.
func (c *call) access(res *resource.Resource) resource.Access {
	if rows := res.Spec().Rows; rows != nil && c.inProfile() {
		return rows.Access
	}
	return res.Access()
}

// ruled returns the rule about rows of a resource that the request is under; nil: none.
func (c *call) ruled(res *resource.Resource) (*resource.RowRule, error) {
	rows := res.Spec().Rows
	if rows == nil || len(rows.Except) == 0 {
		return rows, nil
	}
	p, err := c.m.identify(c.o, c.r)
	if err != nil {
		return nil, err
	}
	if p != nil && p.claims != "" && slices.ContainsFunc(rows.Except, func(role string) bool {
		return len(p.Roles) > 0 && p.Roles[0] == role
	}) {
		return nil, nil
	}
	return rows, nil
}

// rowsOf returns what gives a query the conditions of rules about rows. writes says that rows
// are to be changed.
func (c *call) rowsOf(writes bool) func(string, *query.Table) ([]query.Term, error) {
	return func(name string, t *query.Table) ([]query.Term, error) {
		res := c.res
		if name != "" {
			res, _ = c.o.Resources.Lookup(name)
		}
		if res == nil { // it has gone meanwhile
			return nil, problem{kind: kindNotFound, detail: "there is no resource " + clip(name)}
		}
		rows, err := c.ruled(res)
		if rows == nil || err != nil {
			return nil, err
		}
		terms, err := c.conditions(res, t, rows.Read)
		if err == nil && writes && name == "" {
			var more []query.Term
			more, err = c.conditions(res, t, rows.Write)
			terms = append(terms, more...)
		}
		return terms, err
	}
}

// conditions returns a rule about rows as conditions, which all must hold.
func (c *call) conditions(
	res *resource.Resource, t *query.Table, rule []resource.RowTerm,
) ([]query.Term, error) {
	p, err := c.m.identify(c.o, c.r)
	if err != nil {
		return nil, err
	}
	var terms []query.Term
	for i := range rule {
		var values []string
		if p != nil && p.claims != "" {
			values = claimTexts(jwt.Claim(p.claims, rule[i].Path), rule[i].In)
		}
		term := t.Equal(rule[i].Column, values)
		if term == nil {
			c.o.Log.Error("a rule about rows cannot be kept: nothing is answered", "resource",
				res.Name(), "column", rule[i].Column)
			return nil, problem{kind: kindInternal, detail: "the rule about rows cannot be kept"}
		}
		terms = append(terms, *term)
	}
	return terms, nil
}

// claimTexts returns the values of a claim: a text or an integer, or a list of these. Anything
// else is no value, and so is a list that is too long.
func claimTexts(v any, in bool) []string {
	list, isList := v.([]any)
	if isList != in || len(list) > front.ClaimValues {
		return nil
	}
	if !in {
		list = []any{v}
	}
	var texts []string
	for _, one := range list {
		switch t := one.(type) {
		case string:
			texts = append(texts, t)
		case json.Number:
			texts = append(texts, t.String())
		}
	}
	return texts
}

// keepsRows has rows that a write makes fulfil the rule: as they are read back, after triggers.
// Rows that are sent back must be such as may be read, too.
func (c *call) keepsRows(w *resource.ManyWrite, q *manyQuery) error {
	rows, err := c.ruled(c.res)
	if rows == nil || err != nil {
		return err
	}
	if w.Present != source.PresentFails {
		return problem{kind: kindBadQuery, code: query.CodeSyntax,
			detail: "an upsert is not offered where a rule says which rows there are",
			hint:   "POST makes a row, PATCH changes one"}
	}
	rule := rows.Write
	if q.returns == "representation" {
		rule = append(slices.Clone(rule), rows.Read...)
	}
	t := c.res.Plan().Table()
	terms, err := c.conditions(c.res, t, rule)
	if err != nil {
		return err
	}
	w.Check = func(shape *row.Shape, written []source.Loaded) error {
		for i := range written {
			for j := range terms {
				at := shape.Place(t.Columns[terms[j].Column].Member)
				text, ok := row.KeyText(written[i].Values[at])
				if !ok || !slices.Contains(terms[j].Values, text) {
					return problem{kind: kindForbidden, code: "42501", detail: "the new row is" +
						" not one that the rule about rows lets this token write"}
				}
			}
		}
		return nil
	}
	return nil
}
