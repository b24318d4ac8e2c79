package document

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// manyChunk is how many rows a statement names, where each takes parameters of its own.
const manyChunk = 128

// A manyWriter is one transaction that changes many documents. Each row is changed by what
// changes one document; only what finds the rows is its own.
type manyWriter struct {
	writer
	many    *source.ManyWrite
	find    *Selection // what Where finds; nil of OpCreate
	on      []Column   // by which a row that is there is found; nil: nobody looks
	written []row.Key  // in the order of the answer
	rows    []source.Loaded
	created int
}

// WriteMany implements source.ManyWriter. A transaction is tried again as that of Write.
func (p *Plan) WriteMany(
	ctx context.Context, w *source.ManyWrite,
) (*source.ManyWritten, error) {
	if err := p.writable(); err != nil {
		return nil, err
	}
	find, on, err := p.manyPlan(w)
	if err != nil {
		return nil, err
	}
	ctx, cancel := p.db.Begin(ctx, writeStatements)
	defer cancel()
	if find != nil {
		err := p.db.Read(ctx, false, func(ctx context.Context, c Conn) error {
			_, err := p.Admit(ctx, c, find)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var wr *manyWriter
	run := func(ctx context.Context, c Conn) error {
		wr = &manyWriter{many: w, find: find, on: on, writer: writer{plan: p,
			write: &source.Write{Op: w.Op, Touch: w.Touch}, c: c,
			before: make(map[*Node]images), parents: make(map[*Node][]row.Key),
			made: make(map[row.Key]bool)}}
		return wr.run(ctx)
	}
	for try := 1; ; try++ {
		t := &Transaction{Run: run, Again: try > 1, Touch: w.Touch, As: w.As}
		done, retry, err := p.db.Transact(ctx, t)
		if err == nil {
			return wr.result(done.Position), nil
		}
		var refused *checkError
		if errors.As(err, &refused) {
			return nil, refused.err
		}
		raced := on != nil && p.Dialect.Duplicate(err) // somebody else has made the row
		if !retry && !raced || source.ClassOf(err) == source.Unknown || try == writeTries ||
			ctx.Err() != nil {
			return nil, p.db.Classify(err)
		}
	}
}

// manyPlan returns how the rows of w are found.
func (p *Plan) manyPlan(w *source.ManyWrite) (find *Selection, on []Column, err error) {
	for _, in := range w.Inputs {
		for _, kid := range p.Root.Kids {
			if in.Present[kid.Member] {
				return nil, nil, invalid(p.Root.Shape.Fields[kid.Member].Name +
					" has rows of another table, which are written with one document alone")
			}
		}
	}
	if w.Op != source.OpCreate {
		if w.Where == nil || len(w.Where.Where) == 0 {
			return nil, nil, invalid("a write of many documents needs a condition")
		}
		find, err = p.Selection(w.Where)
		return find, nil, err
	}
	if w.Present == source.PresentFails {
		return nil, nil, nil
	}
	on, err = p.conflictColumns(w.On)
	return nil, on, err
}

// conflictColumns returns the columns by which a row is found that is there already.
func (p *Plan) conflictColumns(names []string) ([]Column, error) {
	if len(names) == 0 {
		return p.Root.KeyCols, nil
	}
	var on []Column
	for _, name := range names {
		at, err := p.table.Find(name)
		if err != nil {
			return nil, err
		}
		on = append(on, p.cols[at])
	}
	if sameColumns(on, p.Root.KeyCols) {
		return p.Root.KeyCols, nil
	}
	whole := !slices.ContainsFunc(on, func(col Column) bool { return !col.CanBeKey() })
	if !whole || !p.Unique(Names(on)) {
		return nil, &source.Error{Class: source.Invalid, Code: "42P10",
			Message: "there is no unique or exclusion constraint matching the ON CONFLICT " +
				"specification"}
	}
	return on, nil
}

// result returns what was done by the transaction that has this position.
func (wr *manyWriter) result(pos source.Position) *source.ManyWritten {
	return &source.ManyWritten{Rows: wr.rows, Created: wr.created, Position: pos}
}

// run does everything between BEGIN and COMMIT.
func (wr *manyWriter) run(ctx context.Context) error {
	wr.before[wr.plan.Root] = images{}
	var err error
	switch wr.many.Op {
	case source.OpCreate:
		err = wr.makeAll(ctx)
	case source.OpDelete:
		err = wr.removeFound(ctx)
	default:
		err = wr.updateFound(ctx)
	}
	if err != nil {
		return err
	}
	if rows := max(len(wr.written), len(wr.rows)); wr.many.Single && rows != 1 {
		return &source.Error{Class: source.Invalid, Code: "PGRST116",
			Message: "Cannot coerce the result to a single JSON object",
			Detail:  fmt.Sprintf("The result contains %d rows", rows)}
	}
	return wr.conclude(ctx, wr.readAll)
}

// readAll reads the documents as they are after the write.
func (wr *manyWriter) readAll(ctx context.Context) error {
	if wr.many.Op == source.OpDelete || len(wr.written) == 0 {
		return nil
	}
	loaded, err := wr.plan.load(ctx, wr.c, wr.written)
	if err != nil {
		return err
	}
	for i := range loaded {
		if !loaded[i].Found() {
			return source.Gone(wr.plan.Name, wr.written[i])
		}
	}
	wr.rows = loaded
	if wr.many.Check != nil {
		if err := wr.many.Check(loaded); err != nil {
			return &checkError{err}
		}
	}
	return nil
}

// lockFound reads and locks the rows that the condition finds, and returns their keys in order.
func (wr *manyWriter) lockFound(ctx context.Context) ([]row.Key, error) {
	n, d := wr.plan.Root, wr.plan.Dialect
	st := Statement{Node: n, SQL: n.imageSQL(d, wr.find.cond, wr.many.Most+1, true)}
	cols := n.imageColumns(d)
	var keys []row.Key
	err := wr.c.Query(ctx, &st, wr.find.conds, func(r Row) error {
		img, err := wr.image(n, cols, r)
		if err == nil && img.names(n.keyNames) {
			keys = append(keys, img.key)
			wr.before[n][img.key] = img
		}
		return err
	})
	if err != nil && !d.noSuchText(err) {
		return nil, err
	}
	return keys, wr.bounded(len(keys))
}

// bounded refuses a write of more rows than it may be of.
func (wr *manyWriter) bounded(rows int) error {
	w := wr.many
	switch {
	case rows > w.Most:
		return &source.Error{Class: source.Invalid, Code: "PGRST124",
			Message: fmt.Sprintf("a write may change %d rows, and this one finds more", w.Most),
			Hint:    "ask for fewer rows at a time: nothing was changed"}
	case w.Promise > 0 && rows > w.Promise:
		return &source.Error{Class: source.Invalid, Code: "PGRST124",
			Message: "Query result exceeds max-affected preference constraint",
			Detail:  fmt.Sprintf("The query affects %d rows", rows)}
	}
	return nil
}

// removeFound deletes the rows that the condition finds.
func (wr *manyWriter) removeFound(ctx context.Context) error {
	keys, err := wr.lockFound(ctx)
	if err != nil || len(keys) == 0 {
		return err
	}
	if !wr.plan.Dialect.ReportsChanges { // foreign keys may take them away, too
		for _, kid := range wr.plan.Root.Kids {
			if err := wr.lockKids(ctx, kid, keys); err != nil {
				return err
			}
		}
	}
	if wr.rows, err = wr.plan.load(ctx, wr.c, keys); err != nil {
		return err
	}
	return wr.inChunks(keys, func(some []row.Key) error {
		return wr.remove(ctx, wr.plan.Root, some...)
	})
}

// updateFound changes the rows that the condition finds.
func (wr *manyWriter) updateFound(ctx context.Context) error {
	root, in := wr.plan.Root, wr.many.Inputs[0]
	if !slices.Contains(in.Present, true) {
		return nil // as PostgREST has it: no row is changed by nothing
	}
	if err := root.required(in, false); err != nil {
		return err
	}
	var err error
	if wr.written, err = wr.lockFound(ctx); err != nil {
		return err
	}
	return wr.inChunks(wr.written, func(some []row.Key) error {
		return wr.update(ctx, root, in, some, "", false)
	})
}

// inChunks calls fn with some of keys after the other, as many as one statement names.
func (wr *manyWriter) inChunks(keys []row.Key, fn func(some []row.Key) error) error {
	size := manyChunk
	if wr.plan.Dialect.Many {
		size = max(1, len(keys))
	}
	for some := range slices.Chunk(keys, size) {
		if err := fn(some); err != nil {
			return err
		}
	}
	return nil
}

// makeAll makes a row of each document, or changes the one that is there.
func (wr *manyWriter) makeAll(ctx context.Context) error {
	if err := wr.bounded(len(wr.many.Inputs)); err != nil {
		return err
	}
	seen := make(map[row.Key]bool)
	for _, in := range wr.many.Inputs {
		key, there, err := wr.present(ctx, in)
		switch {
		case err != nil:
			return err
		case there && wr.many.Present == source.PresentStays:
			continue
		case there:
			err = wr.mergeInto(ctx, in, key, seen)
		default:
			key, err = wr.makeOne(ctx, in)
		}
		if err != nil {
			return err
		}
		seen[key] = true
		wr.written = append(wr.written, key)
	}
	return nil
}

// makeOne makes the row of a document, and returns its key.
func (wr *manyWriter) makeOne(ctx context.Context, in *row.Input) (row.Key, error) {
	root := wr.plan.Root
	if err := root.required(in, true); err != nil {
		return "", err
	}
	var named row.Key
	if given, ok := root.inputKey(in, ""); ok {
		var err error
		if named, err = wr.plan.ParseKey(given); err != nil {
			return "", err
		}
	}
	key, err := wr.insert(ctx, root, in, root.KeyCols, named)
	if err != nil {
		return "", err
	}
	wr.made[key], wr.created = true, wr.created+1
	return key, nil
}

// mergeInto changes the row of this key to what a document says.
func (wr *manyWriter) mergeInto(
	ctx context.Context, in *row.Input, key row.Key, seen map[row.Key]bool,
) error {
	if seen[key] {
		return &source.Error{Class: source.Invalid, Code: "21000",
			Message: "ON CONFLICT DO UPDATE command cannot affect row a second time",
			Hint: "Ensure that no rows proposed for insertion within the same command have " +
				"duplicate constrained values."}
	}
	if err := wr.plan.Root.required(in, false); err != nil {
		return err
	}
	return wr.update(ctx, wr.plan.Root, in, []row.Key{key}, "", false)
}

// present reads and locks the row that is there with the values of a document in the columns
// by which rows are found. A null is equal to no value.
func (wr *manyWriter) present(
	ctx context.Context, in *row.Input,
) (key row.Key, there bool, err error) {
	if wr.on == nil {
		return "", false, nil
	}
	root := wr.plan.Root
	parts := make([]string, len(wr.on))
	for i, col := range wr.on {
		text, ok := root.inputPart(in, col, "")
		if !ok {
			return "", false, nil
		}
		part := col.KeyPart()
		if parts[i], err = part.Parse(text); err != nil {
			return "", false, invalid(fmt.Sprintf("%s: %s", col.Info().Name, err))
		}
	}
	found, err := wr.images(ctx, root, wr.on, []row.Key{row.JoinKey(parts...)}, true)
	if err != nil || len(found) == 0 {
		return "", false, err
	}
	for k, img := range found {
		key = k
		if _, known := wr.before[root][k]; !known && !wr.made[k] {
			wr.before[root][k] = img
		}
	}
	return key, true, nil
}
