package catalog

import (
	"context"
)

// A ForeignKey is one foreign key with what it does. Its actions are shown to who may do
// more with the table than read it; to others they are "".
type ForeignKey struct {
	Child, Parent      Name
	Constraint         string
	Columns            []string // of the child
	References         []string // of the parent
	OnDelete, OnUpdate string   // RESTRICT, NO ACTION, CASCADE, ...
}

// Shown reports whether the user may see what the foreign key does.
func (k *ForeignKey) Shown() bool { return k.OnDelete != "" }

// Deletes reports whether the deletion of a row of the parent may change the child.
func (k *ForeignKey) Deletes() bool { return acts(k.OnDelete) }

// Updates reports whether an update of a row of the parent may change the child.
func (k *ForeignKey) Updates() bool { return acts(k.OnUpdate) }

// acts reports whether a rule changes rows. One that is not shown is taken to.
func acts(rule string) bool { return rule != "RESTRICT" && rule != "NO ACTION" }

// sqlRules asks what foreign keys do.
const sqlRules = `SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE
	FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = ? {}`

// ForeignKeys returns the foreign keys of tables, with their actions.
func (r *Reader) ForeignKeys(ctx context.Context, names ...Name) ([]ForeignKey, error) {
	type constraint struct {
		child Name
		name  string
	}
	type rule struct{ onDelete, onUpdate string }
	rules := make(map[constraint]rule)
	err := r.of(ctx, names, sqlRules, func(child Name, v []any) {
		rules[constraint{child, AsText(v[0])}] = rule{AsText(v[1]), AsText(v[2])}
	})
	if err != nil {
		return nil, err
	}
	keys, err := r.references(ctx, names)
	for i := range keys {
		k := &keys[i]
		of := rules[constraint{k.Child, k.Constraint}]
		k.OnDelete, k.OnUpdate = of.onDelete, of.onUpdate
	}
	return keys, err
}

// references returns the foreign keys of tables, without their actions.
func (r *Reader) references(ctx context.Context, names []Name) ([]ForeignKey, error) {
	var keys []ForeignKey
	err := r.of(ctx, names, sqlForeign, func(child Name, v []any) {
		constraint := AsText(v[0])
		n := len(keys) - 1
		if n < 0 || keys[n].Child != child || keys[n].Constraint != constraint {
			keys = append(keys, ForeignKey{Child: child, Constraint: constraint,
				Parent: Name{AsText(v[2]), AsText(v[3])}})
			n++
		}
		keys[n].Columns = append(keys[n].Columns, AsText(v[1]))
		keys[n].References = append(keys[n].References, AsText(v[4]))
	})
	return keys, err
}
