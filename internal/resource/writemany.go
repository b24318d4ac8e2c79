package resource

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A ManyWrite is a change of many documents that a front asks for: see source.ManyWrite.
type ManyWrite struct {
	Op      source.Op
	Where   *query.Query // made by Query; of OpMerge and OpDelete
	Inputs  []*row.Input
	Shape   *row.Shape // what Inputs were decoded by
	Present source.Present
	On      []string
	Most    int
	Promise int
	Single  bool
	As      *source.Session // see Write.As

	Check func(*row.Shape, []source.Loaded) error // see source.ManyWrite.Check; nil: nobody asks
}

// ManyResult is what a ManyWrite did.
type ManyResult struct {
	Shape   *row.Shape // of the rows
	Rows    []source.Loaded
	Created int
	Answer  // where it is from: it has no document
}

// WriteMany changes many documents in one transaction of the database, and answers with them as
// they are then. What it touches is dropped as that of Write is.
//
// Errors: those of Write.
func (r *Resource) WriteMany(ctx context.Context, w ManyWrite) (ManyResult, error) {
	for begun := monotonic(); ; {
		f := r.revision.Load()
		result, err := f.changeMany(ctx, &w)
		if !source.Reshaped(err) || !r.outdated(f, err, begun) {
			return result, err
		}
	}
}

// changeMany is WriteMany by one revision.
func (f *revision) changeMany(ctx context.Context, w *ManyWrite) (_ ManyResult, err error) {
	r := f.r
	if f.plan == nil {
		return ManyResult{}, f.notReady()
	}
	plan, ok := f.plan.(source.ManyWriter)
	if !ok {
		return ManyResult{}, &source.Error{Class: source.Invalid,
			Message: r.name + " is written one document at a time"}
	}
	if err := f.mayWriteMany(w); err != nil {
		return ManyResult{}, err
	}
	h := &writeIntent{f: f}
	defer h.written(&err)
	written, err := f.writeMany(ctx, plan, w, h)
	h.end(err)
	if err != nil {
		return ManyResult{}, fmt.Errorf("write %s: %w", r.name, err)
	}
	r.counts.writes.Add(uint64(len(written.Rows)))
	return ManyResult{Shape: f.plan.Shape(), Rows: written.Rows, Created: written.Created,
		Answer: f.answerTo(written.Position)}, nil
}

// mayWriteMany returns why w is not for f to do.
func (f *revision) mayWriteMany(w *ManyWrite) error {
	r := f.r
	ops := []source.Op{w.Op}
	if w.Present == source.PresentMerges {
		ops = append(ops, source.OpMerge)
	}
	for _, op := range ops {
		if !r.Allows(op) {
			return fmt.Errorf("%s: %w", r.name, ErrReadOnly)
		}
		if op != source.OpCreate && r.rules.Load().RequireIfMatch {
			return fmt.Errorf("%s: %w", r.name, ErrUnconditional)
		}
	}
	if w.Where != nil && w.Where.Table != f.table {
		return r.reshaped()
	}
	for _, in := range w.Inputs {
		if !f.decodes(&Write{Input: in, Shape: w.Shape}) {
			return r.reshaped()
		}
		if err := in.FirstOdd(); err != nil {
			return err
		}
	}
	return nil
}

// writeMany sends the transaction of w.
func (f *revision) writeMany(
	ctx context.Context, plan source.ManyWriter, w *ManyWrite, h *writeIntent,
) (written *source.ManyWritten, err error) {
	change := &source.ManyWrite{Op: w.Op, Inputs: w.Inputs,
		Where: w.Where, Present: w.Present, On: w.On, Most: w.Most, Promise: w.Promise,
		Single: w.Single, Touch: h.touch, As: w.As}
	if w.Check != nil {
		change.Check = func(rows []source.Loaded) error { return w.Check(f.plan.Shape(), rows) }
	}
	err = f.sendWrite(ctx, func(ctx context.Context) error {
		written, err = plan.WriteMany(ctx, change)
		return err
	})
	return written, err
}
