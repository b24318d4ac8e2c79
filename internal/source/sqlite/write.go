package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Write changes one document in one transaction and reads it again. A document
// is deleted by deleting its row: what becomes of the rows embedded in it is
// for the foreign keys of the database to say.
func (p *plan) Write(ctx context.Context, w *source.Write) (*source.Written, error) {
	if p.root.query != nil {
		return nil, fmt.Errorf("write %s: %w", p.name, &source.Error{Class: source.ReadOnly,
			Message: "a resource made by a query takes no writes"})
	}
	if p.s.o.ReadOnly {
		return nil, fmt.Errorf("write %s: %w", p.name, errReadOnly())
	}
	key, args, err := p.writeKey(w)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", p.name, err)
	}
	out := &source.Written{}
	pos, err := p.s.writerNow().change(ctx, func(c *conn) error {
		t := &writing{p: p, c: c, w: w, out: out}
		return t.run(ctx, key, args)
	}, w.Touch)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", p.name, err)
	}
	out.Position = pos
	return out, nil
}

// writeKey returns the key that the write names, in the path or in its body,
// and its values; none when the database is to make it.
func (p *plan) writeKey(w *source.Write) (row.Key, []any, error) {
	if w.Op != source.OpDelete && w.Input == nil {
		return "", nil, invalid("the write has no document")
	}
	key := w.Key
	if w.Input != nil {
		inBody, known, err := p.bodyKey(w.Input)
		switch {
		case err != nil:
			return "", nil, err
		case known && key == "":
			key = inBody
		case known && key != "":
			asked, err := p.kt.Parse(key)
			if err == nil && asked != inBody {
				return "", nil, invalid(fmt.Sprintf(
					"the document's key is %s, but the request names %s", inBody, asked))
			}
		}
	}
	if key == "" {
		if w.Op != source.OpCreate {
			return "", nil, invalid("the write names no key")
		}
		return "", nil, nil
	}
	canonical, err := p.kt.Parse(key)
	if err != nil {
		return "", nil, err
	}
	args, err := keyArgs(p.kt, canonical)
	return canonical, args, err
}

// bodyKey returns the key that the body of a write holds, if it holds one.
func (p *plan) bodyKey(in *row.Input) (row.Key, bool, error) {
	parts := make([]string, len(p.kt))
	for i, part := range p.kt {
		v, present := p.root.input(in, part.Column)
		if !present || v.IsNull() {
			return "", false, nil
		}
		text, ok := row.KeyText(v)
		if !ok {
			return "", false, invalid(fmt.Sprintf("%s cannot be a key", part.Column))
		}
		parts[i] = text
	}
	k, err := p.kt.Parse(row.JoinKey(parts...))
	return k, true, err
}

// input returns what the body of a write says of a column.
func (n *node) input(in *row.Input, col string) (row.Value, bool) {
	for i, f := range n.fields {
		if f.at >= 0 && n.cols[f.at] == col && in.Present[i] {
			return in.Values[i], true
		}
	}
	return row.Value{}, false
}

// A writing is one Write within its transaction.
type writing struct {
	p   *plan
	c   *conn
	w   *source.Write
	out *source.Written
}

// run does the write. args are the key's values; nil: the database makes it.
func (t *writing) run(ctx context.Context, key row.Key, args []any) error {
	if t.mayOverwrite(args) {
		done, err := t.overwrite(ctx, args)
		if done || err != nil {
			return err
		}
	}
	current := source.Loaded{Asked: t.w.Key}
	if args != nil {
		var err error
		if current, err = t.current(ctx, key, args); err != nil {
			return err
		}
	}
	if t.w.Check != nil {
		if err := t.w.Check(&current); err != nil {
			return err
		}
	}
	if current.Found() {
		// The key as the row writes it, which may differ in case.
		var err error
		if args, err = keyArgs(t.p.kt, current.Key); err != nil {
			return err
		}
	}
	return t.apply(ctx, key, args, current.Found())
}

// mayOverwrite reports whether the row may be changed without a look at it first: nobody
// wants to see it, and there is no other way to write its key.
func (t *writing) mayOverwrite(args []any) bool {
	return args != nil && t.w.Check == nil && !t.p.kt.Wide() &&
		(t.w.Op == source.OpReplace || t.w.Op == source.OpMerge)
}

// overwrite changes the row of a key if there is one. Where there is none, or the body
// cannot be what it is changed to, it does nothing: which of the two it is matters.
func (t *writing) overwrite(ctx context.Context, key []any) (done bool, err error) {
	n := t.p.root
	sql, args, err := n.updating(t.w.Input, key, t.w.Op == source.OpReplace)
	if err != nil || sql == "" {
		return false, nil
	}
	res, err := n.runUpdate(ctx, t.c, sql, args)
	if err != nil {
		return false, err
	}
	changed, err := res.RowsAffected()
	if err != nil || changed == 0 {
		return false, err
	}
	return true, t.complete(ctx, key)
}

// apply changes the row and what is embedded, and reads the document again.
func (t *writing) apply(ctx context.Context, key row.Key, args []any, exists bool) error {
	root := t.p.root
	var err error
	switch {
	case t.w.Op == source.OpCreate && exists:
		return &source.Error{Class: source.Conflict,
			Message: fmt.Sprintf("there is a row with key %s already", key)}
	case !exists && (t.w.Op == source.OpMerge || t.w.Op == source.OpDelete):
		return &source.Error{Class: source.NoRow,
			Message: fmt.Sprintf("there is no row with key %s", t.w.Key)}
	case t.w.Op == source.OpDelete:
		t.out.Loaded, t.out.Deleted = source.Loaded{Asked: t.w.Key}, true
		return root.remove(ctx, t.c, args)
	case !exists:
		t.out.Created = true
		args, err = root.insert(ctx, t.c, t.w.Input, root.key.columns, args)
	default:
		err = root.update(ctx, t.c, t.w.Input, args, t.w.Op == source.OpReplace)
	}
	if err != nil {
		return err
	}
	return t.complete(ctx, args)
}

// complete changes what is embedded in the row, and reads the document again.
func (t *writing) complete(ctx context.Context, args []any) error {
	if err := t.p.root.reconcile(ctx, t.c, t.w.Input, args); err != nil {
		return err
	}
	return t.readBack(ctx, args)
}

// readBack reads the document as it is after the write: triggers and defaults
// may have changed it.
func (t *writing) readBack(ctx context.Context, args []any) error {
	key, ok := keyOf(t.p.root.key.kinds, args)
	if !ok {
		return invalid("the row's key cannot be a key of the resource")
	}
	loaded, err := t.read(ctx, key, args)
	if err != nil {
		return err
	}
	if !loaded.Found() {
		return source.Gone(t.p.name, key)
	}
	loaded.Asked = t.w.Key
	if loaded.Asked == "" {
		loaded.Asked = loaded.Key
	}
	t.out.Loaded = loaded
	return nil
}

// current reads what there is of a key: of the whole document only if somebody
// wants to see it.
func (t *writing) current(ctx context.Context, key row.Key, args []any) (source.Loaded, error) {
	if t.w.Check != nil {
		return t.read(ctx, key, args)
	}
	found, _, err := t.p.find(ctx, t.c, []row.Key{key}, [][]any{args})
	if err != nil || found[0] == nil {
		return source.Loaded{}, err
	}
	return source.Loaded{Key: found[0].key, Values: found[0].values}, nil
}

// read reads the document of one key in the transaction.
func (t *writing) read(ctx context.Context, key row.Key, args []any) (source.Loaded, error) {
	out, err := t.p.load(ctx, t.c, []row.Key{key}, [][]any{args})
	if err != nil {
		return source.Loaded{}, err
	}
	return out[0], nil
}

// An assignment is a column and what is to be stored in it.
type assignment struct {
	column string
	value  any
}

// assignments returns what the body says of columns other than those in skip.
func (n *node) assignments(in *row.Input, skip []string) ([]assignment, error) {
	var out []assignment
	for i, f := range n.fields {
		if f.at < 0 || !in.Present[i] {
			continue
		}
		if contains(skip, f.column.Name) {
			continue
		}
		if f.column.Generated {
			continue // the database computes it; a document that was read may be sent back
		}
		v := in.Values[i]
		if f.required && v.IsNull() {
			return nil, n.missing(i)
		}
		arg, why := boundAs(n.shape.Fields[i].Kind, v)
		if why != "" {
			return nil, invalid(fmt.Sprintf("member %q: %s", n.shape.Fields[i].Name, why))
		}
		out = append(out, assignment{f.column.Name, arg})
	}
	return out, nil
}

// complete checks that a whole document has the members that it must have.
func (n *node) complete(in *row.Input) error {
	for i, f := range n.fields {
		if f.required && !in.Present[i] {
			return n.missing(i)
		}
	}
	return nil
}

// missing is the error of a document without a member that is required.
func (n *node) missing(i int) error {
	return invalid(fmt.Sprintf("member %q is required", n.shape.Fields[i].Name))
}

// insert makes a row and returns its key's values. fixed are columns whose
// values are given beside the body's; with nil values the database makes them.
func (n *node) insert(
	ctx context.Context, c *conn, in *row.Input, fixed []string, values []any,
) ([]any, error) {
	if err := n.complete(in); err != nil {
		return nil, err
	}
	skip := fixed
	if values == nil {
		skip = nil
	}
	set, err := n.assignments(in, skip)
	if err != nil {
		return nil, err
	}
	for i := range values {
		set = append(set, assignment{fixed[i], values[i]})
	}
	var cols, marks []string
	var args []any
	for _, a := range set {
		if a.value == nil && contains(n.key.columns, a.column) {
			continue // "no key given": NULL in a key would be stored as such
		}
		cols, marks = append(cols, quote(a.column)), append(marks, "?")
		args = append(args, a.value)
	}
	sql := "INSERT INTO " + quote(n.table.Name)
	if len(cols) == 0 {
		sql += " DEFAULT VALUES"
	} else {
		sql += " (" + strings.Join(cols, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	}
	returning := make([]string, len(n.key.columns))
	for i, k := range n.key.columns {
		returning[i] = "+" + quote(k)
	}
	var key []any
	err = c.query(ctx, sql+" RETURNING "+strings.Join(returning, ", "), args,
		func(v []any) error {
			key = append([]any(nil), v...)
			return nil
		})
	if err == nil && key == nil {
		err = &source.Error{Class: source.Conflict, Message: "the row was not made, and the write" +
			" was undone: a trigger of " + n.table.Name + " ignores it (RAISE(IGNORE))"}
	}
	return key, err
}

// update changes the row of a key, see updating.
func (n *node) update(
	ctx context.Context, c *conn, in *row.Input, key []any, whole bool,
) error {
	sql, args, err := n.updating(in, key, whole)
	if err != nil || sql == "" {
		return err
	}
	_, err = n.runUpdate(ctx, c, sql, args)
	return err
}

// updating returns the statement that changes the row of a key, and its arguments; ""
// when there is nothing to change. whole: columns that the body leaves out get their
// defaults, except those that documents do not show.
func (n *node) updating(
	in *row.Input, key []any, whole bool,
) (sql string, args []any, err error) {
	skip := append(append([]string(nil), n.key.columns...), n.on.columns...)
	for i, kept := range in.Kept { // a value of another kind than the column's, perhaps
		if kept {
			skip = append(skip, n.shape.Fields[i].Column)
		}
	}
	set, err := n.assignments(in, skip)
	if err != nil {
		return "", nil, err
	}
	var parts []string
	for _, a := range set {
		parts, args = append(parts, quote(a.column)+" = ?"), append(args, a.value)
	}
	if whole {
		if err := n.complete(in); err != nil {
			return "", nil, err
		}
		for i, f := range n.fields {
			if f.at < 0 || in.Present[i] || f.column.Generated || contains(skip, f.column.Name) {
				continue
			}
			preset := f.column.preset
			if preset == "" {
				preset = "NULL"
			}
			parts = append(parts, quote(f.column.Name)+" = ("+preset+")")
		}
	}
	if len(parts) == 0 {
		return "", nil, nil
	}
	return "UPDATE " + quote(n.table.Name) + " SET " + strings.Join(parts, ", ") +
		" WHERE " + oneOf(n.key.columns, 1), append(args, key...), nil
}

// runUpdate runs such a statement.
func (n *node) runUpdate(
	ctx context.Context, c *conn, sql string, args []any,
) (driver.Result, error) {
	if n.briefUpdate {
		return c.runBrief(ctx, sql, args)
	}
	return c.run(ctx, sql, args)
}

// remove deletes the row of a key.
func (n *node) remove(ctx context.Context, c *conn, key []any) error {
	return c.exec(ctx, "DELETE FROM "+quote(n.table.Name)+" WHERE "+oneOf(n.key.columns, 1), key...)
}

// contains reports whether list has s.
func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
