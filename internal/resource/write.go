package resource

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Write changes one document in one transaction of the database and answers
// with the document as it is then. What it touches, here and in other resources
// over the same tables, is dropped before the transaction commits and again
// after, so that who reads after Write has returned sees the change.
//
// Errors: ErrReadOnly, ErrPrecondition, row.ErrKey, *source.Error.
func (r *Resource) Write(ctx context.Context, w Write) (Result, error) {
	for begun := monotonic(); ; {
		f := r.revision.Load()
		result, err := f.change(ctx, w)
		if !source.Reshaped(err) || !r.outdated(f, err, begun) {
			return result, err
		}
		// The table has another form since the statements were made: they did nothing.
	}
}

// change is Write by one revision.
func (f *revision) change(ctx context.Context, w Write) (result Result, err error) {
	r, begun := f.r, monotonic()
	if f.plan == nil {
		return Result{}, f.notReady()
	}
	if !r.Allows(w.Op) {
		return Result{}, fmt.Errorf("%s: %w", r.name, ErrReadOnly)
	}
	if r.rules.Load().RequireIfMatch && w.Op != source.OpCreate && w.IfMatch == nil &&
		w.IfNoneMatch == nil {
		return Result{}, fmt.Errorf("%s/%s: %w", r.name, w.Key, ErrUnconditional)
	}
	if w.Input != nil && !f.decodes(&w) {
		return Result{}, r.reshaped()
	}
	if w.Input != nil && w.Op == source.OpCreate {
		if err := w.Input.FirstOdd(); err != nil {
			return Result{}, err
		}
	}
	if w.Key != "" || w.Op != source.OpCreate {
		if w.Key, err = f.canonical(w.Key); err != nil {
			return Result{}, err
		}
	}
	h := &writeIntent{f: f, key: w.Key}
	defer h.written(&err)
	if w.Key != "" {
		h.hold([]fresh.Invalidation{{Space: f.space, Keys: []row.Key{w.Key}}})
	}
	sent := monotonic()
	written, err := f.write(ctx, &w, h)
	done := monotonic()
	h.end(err)
	if err != nil {
		return Result{}, fmt.Errorf("write %s: %w", r.nameOf(w.Key), err)
	}
	r.counts.writes.Add(1)
	h.fill(&written.Loaded)
	result = f.result(&w, written, h.document(w.Format))
	result.Steps = Steps{Lease: time.Duration(sent - begun), Database: time.Duration(done - sent),
		Encode: time.Duration(monotonic() - done)}
	if w.ReportTouched {
		result.Touched = h.touched()
	}
	return result, nil
}

// nameOf returns what an error calls the document of a key: "depts/10", or "depts" where no
// key was named.
func (r *Resource) nameOf(key row.Key) string {
	if key == "" {
		return r.name
	}
	return r.name + "/" + string(key)
}

// decodes reports whether the fields of w's input are those of f.
func (f *revision) decodes(w *Write) bool {
	s := f.plan.Shape()
	return len(w.Input.Present) == len(s.Fields) &&
		(w.Shape == nil || w.Shape == s || reflect.DeepEqual(w.Shape, s))
}

func (r *Resource) reshaped() error {
	return &source.Error{Class: source.Retry,
		Message: r.name + " has changed its form since the body was read"}
}

// write sends the transaction of w.
func (f *revision) write(
	ctx context.Context, w *Write, h *writeIntent,
) (written *source.Written, err error) {
	change := &source.Write{
		Op: w.Op, Key: w.Key, Input: w.Input, Identify: w.Identify,
		Touch: h.touch, As: w.As,
	}
	err = f.sendWrite(ctx, func(ctx context.Context) error {
		change.Check = f.checker(w)
		written, err = f.plan.Write(ctx, change)
		return err
	})
	return written, err
}

// sendWrite calls send, which writes by one transaction, within the source's bounds.
func (f *revision) sendWrite(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, f.src.opts.Timeout)
	defer cancel()
	release, err := f.src.acquireWrite(ctx, f.lanes)
	if err != nil {
		return err
	}
	defer release()
	begin := monotonic()
	err = send(ctx)
	f.src.observe("write", monotonic()-begin, err)
	return err
}

// touch holds what the transaction of the write changes, before it commits.
func (h *writeIntent) touch(changes []source.Change, at source.Position) {
	u := h.f.src
	u.apply.Lock()
	defer u.apply.Unlock()
	invalidations := u.invalidations(&source.Tx{Changes: changes})
	h.changes, h.served = append(h.changes, changes...), u.served.Load()
	u.count(invalidations, func(c *counts) *atomic.Uint64 { return &c.written })
	h.hold(invalidations)
	dropWriteThroughs(h.writeThroughs) // of a try that came to nothing
	h.leaseWriteThrough(at)
}

// checker returns what looks at the document as it is before w changes it: nil where
// nobody needs it.
func (f *revision) checker(w *Write) func(*source.Loaded) error {
	var body *row.Input
	if w.Input != nil && w.Op != source.OpCreate && f.plan.Shape().Uncertain(w.Input) {
		body = w.Input.Clone()
	}
	if body == nil && w.IfMatch == nil && w.IfNoneMatch == nil && w.Before == nil {
		return nil
	}
	return func(current *source.Loaded) error {
		if w.Before != nil && current != nil {
			w.Before(f.plan.Shape(), current.Values)
		}
		err := f.check(w, current)
		switch {
		case err != nil || body == nil:
			return err
		case current == nil || !current.Found():
			return body.FirstOdd()
		}
		return f.plan.Shape().Keep(w.Input, body, current.Values)
	}
}

// check compares a write's conditions with the document as it is, its rows
// locked.
func (f *revision) check(w *Write, current *source.Loaded) error {
	tag := ""
	if current != nil && current.Found() {
		tag = row.ETag(row.Hash(f.plan.Shape().AppendJSON(nil, current.Values)), row.FormatJSON)
	}
	if w.IfMatch != nil && !matches(w.IfMatch, tag) {
		return ErrPrecondition
	}
	if w.IfNoneMatch != nil && matches(w.IfNoneMatch, tag) {
		return ErrPrecondition
	}
	return nil
}

// matches reports whether one of tags is that of the document; tag is "" when
// there is none.
func matches(tags []string, tag string) bool {
	for _, t := range tags {
		if tag != "" && (t == "*" || row.SameETag(t, tag)) {
			return true
		}
	}
	return false
}

// result is the answer to a write that has been committed. doc is the document, if it
// has been made.
func (f *revision) result(w *Write, written *source.Written, doc *row.Document) Result {
	a := f.answerTo(written.Position)
	a.Key = written.Loaded.Key
	switch {
	case doc != nil:
		a.Doc = doc
	case written.Loaded.Found():
		a.Doc = f.encode(written.Loaded.Key, written.Loaded.Values, w.Format, row.Stamp{})
	default:
		a.Key, a.Doc = w.Key, row.NoRow(row.Stamp{})
	}
	return Result{Answer: a, Created: written.Created, Mark: written.Mark}
}

// answerTo returns where the answer to a write is from that has this position.
func (f *revision) answerTo(pos source.Position) Answer {
	p := f.src.domain.Applied()
	t := f.src.token(p)
	f.src.domain.Saw(p, fresh.Position(pos))
	return Answer{Origin: Requested, Token: t.Showing(pos)}
}

// writeIntent is what one write keeps from being stored.
type writeIntent struct {
	f             *revision
	key           row.Key // of the document that the write names; "": the database makes it
	invalidations []fresh.Invalidation
	had           []row.Format // in which memory had that document
	changes       []source.Change
	served        *[]*revision // that are touched; nil: nothing was changed
	ended         bool

	at            fresh.Position // of the transaction, if the source knows; 0: it does not
	writeThroughs []writeThrough
}

// hold drops what touches name and keeps it from being stored.
func (h *writeIntent) hold(invalidations []fresh.Invalidation) {
	if h.invalidations == nil {
		h.look()
	}
	h.f.src.domain.Hold(invalidations)
	h.invalidations = append(h.invalidations, invalidations...)
}

// touched returns the documents that were dropped. It is called after end.
func (h *writeIntent) touched() []Touched {
	u := h.f.src
	u.apply.Lock()
	bySpace := u.bySpace
	u.apply.Unlock()
	var list []Touched
	for i := range h.invalidations {
		t := &h.invalidations[i]
		if f := bySpace[t.Space]; f != nil {
			list = append(list,
				Touched{Resource: f.r, Keys: t.Keys, Whole: t.Whole || t.Unnamed})
		}
	}
	return list
}

// end lets the documents be stored again, once. When nobody knows whether the
// transaction was committed, that has to wait until it cannot be any more: the
// database's own limit on a statement has passed twice.
func (h *writeIntent) end(err error) {
	if h.ended {
		return
	}
	h.ended = true
	if err != nil {
		dropWriteThroughs(h.writeThroughs)
	}
	u := h.f.src
	if err == nil || source.ClassOf(err) != source.Unknown || !u.enter() {
		h.release()
		return
	}
	go u.guarded("release an unknown write", func() {
		defer u.loads.Done()
		sleep(u.ctx, 2*u.opts.Timeout)
		h.release()
	})
}

// release ends the hold. Revisions that have come meanwhile, by a reload or a changed definition,
// may keep what they have read before the commit: it is dropped there, too.
func (h *writeIntent) release() {
	u := h.f.src
	u.domain.Release(h.invalidations, h.at)
	if h.served == nil {
		return
	}
	if u.served.Load() != h.served {
		u.drops(h.changes)
	}
	for next := u.next.Load(); next != nil; next = next.next.Load() {
		next.drops(h.changes)
	}
}

// drops forgets what changes that are committed touch.
func (u *sourceState) drops(changes []source.Change) {
	u.locked(func() {
		if !u.broken {
			u.domain.Apply(0, u.invalidations(&source.Tx{Changes: changes}), nil, monotonic())
		}
	})
}
