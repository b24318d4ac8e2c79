package source

import "context"

// A Granter is a Source whose database says what roles may do.
type Granter interface {
	Definer

	// Grants returns the rights of roles as they are at a time after the call began. A role
	// that is not there has none.
	Grants(ctx context.Context, roles []string) (map[string]*Grants, error)
}

// Grants are the rights of one role of a database.
type Grants struct {
	Tables map[string]*TableGrants // by Table.ID, views among them
}

// TableGrants are the rights of a role on one table. Columns have their own names.
type TableGrants struct {
	Select, Insert, Update map[string]bool // columns
	Delete                 bool
	Columns                int // how many there are

	// Policies says that row security decides which rows there are for the role.
	Policies bool
}

// Any reports whether the role may do anything with the table. g may be nil.
func (g *TableGrants) Any() bool {
	return g != nil && (g.Delete || len(g.Select)+len(g.Insert)+len(g.Update) > 0)
}

// Whole reports whether the role may see all of every row. g may be nil.
func (g *TableGrants) Whole() bool {
	return g != nil && !g.Policies && len(g.Select) == g.Columns && g.Columns > 0
}

// A Session is who changes rows in a database that has roles. What defaults and triggers find
// there is what PostgREST gives them.
type Session struct {
	Role   string // of the database; "": that of this user
	Claims string // of the token, as JSON; "": there are none
}
