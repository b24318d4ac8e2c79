package memcachefront

import (
	"context"
	"errors"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

// write has a command that changes a row answered by a goroutine. It reports false when
// there is a batch that comes first.
func (t *turn) write(cmd *memcache.Command) bool {
	if t.batch != nil {
		return false
	}
	add(&t.s.writes, 1)
	if t.s.live.RefuseExpiry && cmd.Exptime != 0 && !t.items(cmd) {
		t.reply(cmd, noExpiry)
		return true
	}
	c, o := t.c, t.s.live
	w := &writing{c: c, o: o, cmd: cmd.Clone()}
	t.next = eventloop.Parked
	work := parked
	work.Size, work.Run = front.WriteReplyBytes, w.run
	if cmd.Op == memcache.Gat || cmd.Op == memcache.Gats {
		w.beside = t.readBeside(w.cmd.Keys)
		work.Size += c.f.store.Size(w.beside.misses)
		work.Busy, work.Crash = nil, nil
	}
	c.Do(work)
	return true
}

// A writing is one command that changes a row. It has the identity of its connection for
// itself: the connection is parked.
type writing struct {
	ctx     context.Context
	c       *conn
	o       *Options
	cmd     *memcache.Command
	existed bool // there was a row before
	closes  bool // the connection is closed behind the reply
	beside  gatRead

	column *kv.Column // whose value the command is about; nil: an item, or a document
	shape  *row.Shape // of its row
}

// run makes the change and replies.
func (w *writing) run(ctx context.Context) ([]byte, eventloop.Next) {
	w.ctx = ctx
	began := time.Now()
	var out []byte
	var err error
	switch op := w.cmd.Op; {
	case w.cmd.Fault != "":
		out, err = w.dropOld()
	case op == memcache.Gat, op == memcache.Gats:
		out, err = w.getAndTouch()
	case w.hasItem() && (w.column == nil || op != memcache.MetaDelete || !w.cmd.Has('I')):
		out, err = w.item(w.cmd.Keys[0])
	default:
		out, err = w.row()
	}
	w.c.LogWrite(began, w.cmd.Op.String(), w.cmd.Keys[:1], w.cmd.Keys[0], err)
	next := eventloop.More
	if err != nil {
		out = w.readError(w.textOf(err))
		if source.ClassOf(err) == source.Unknown {
			next = eventloop.Close // who goes on might take it for refused
		}
	}
	if w.closes {
		next = eventloop.Close
	}
	if w.cmd.Noreply && !w.cmd.Op.Meta() {
		out = nil
	}
	return out, next
}

// dropOld deletes the item that a value which is too large was to replace.
func (w *writing) dropOld() ([]byte, error) {
	defer w.turn(w.cmd.Keys[0])()
	_, err := w.ask(kv.Change{Op: source.OpDelete})
	if err != nil && !errors.Is(err, row.ErrKey) && source.ClassOf(err) != source.NoRow {
		return nil, err
	}
	w.closes = w.cmd.Swallow > front.SwallowedBytes
	return memcache.AppendLine(nil, w.cmd.Fault), nil
}

// row changes a row whose document is the value.
func (w *writing) row() ([]byte, error) {
	switch w.cmd.Op {
	case memcache.Delete, memcache.MetaDelete:
		return w.delete()
	case memcache.Set, memcache.Add, memcache.Replace, memcache.CAS, memcache.MetaSet:
		return w.store()
	}
	return w.change() // append, prepend, incr, decr and ma
}

// textOf returns what the client is told of an error.
func (w *writing) textOf(err error) string {
	if errors.Is(err, kv.ErrNoResource) {
		return noResource
	}
	name := ""
	if res, _ := w.c.f.store.Live().Find(w.cmd.Keys[0]); res != nil {
		name = res.Name()
	}
	return w.c.f.errorText(w.cmd, name, err)
}

// ask asks for one change.
func (w *writing) ask(change kv.Change) (resource.Result, error) {
	change.Before = func(_ *row.Shape, was row.Values) { w.existed = was != nil }
	return w.c.f.store.Write(w.ctx, &w.c.Who, w.cmd.Keys[0], &change)
}

// An outcome is the reply to a write: that of a text command, and that of a meta command.
type outcome struct{ text, code string }

var (
	stored    = outcome{"STORED", "HD"}
	deleted   = outcome{"DELETED", "HD"}
	notStored = outcome{"NOT_STORED", "NS"}
	exists    = outcome{"EXISTS", "EX"}
	notFound  = outcome{"NOT_FOUND", "NF"}
)

// say appends a reply. A quiet meta command that has succeeded says nothing.
func (w *writing) say(v outcome, it *memcache.Item) []byte {
	switch {
	case !w.cmd.Op.Meta():
		return memcache.AppendLine(nil, v.text)
	case v.code == "HD" && w.cmd.Noreply:
		return nil
	case v.code == "HD" && it != nil:
		return memcache.AppendMeta(nil, w.cmd, it, false)
	}
	return memcache.AppendCode(nil, w.cmd, v.code)
}

// store is set, add, replace, cas and ms: PUT of the document, under conditions.
func (w *writing) store() ([]byte, error) {
	change := kv.Change{Op: source.OpReplace, Value: w.cmd.Data, Format: w.o.Format}
	unique := w.cmd.Op == memcache.CAS || w.cmd.Op == memcache.MetaSet && w.cmd.Has('C')
	switch {
	case w.cmd.Mode == 'A' || w.cmd.Mode == 'P':
		return w.change()
	case w.cmd.Op == memcache.Add, w.cmd.Mode == 'E':
		change.IfNoneMatch = []string{"*"}
	case unique:
		change.IfMatch = []string{tagOf(w.cmd.Unique)}
	case w.cmd.Op == memcache.Replace, w.cmd.Mode == 'R':
		change.IfMatch = []string{"*"}
	}
	result, err := w.ask(change)
	switch {
	case errors.Is(err, resource.ErrPrecondition) && unique && w.existed:
		return w.say(exists, nil), nil
	case errors.Is(err, resource.ErrPrecondition) && unique:
		return w.say(notFound, nil), nil
	case errors.Is(err, resource.ErrPrecondition), source.ClassOf(err) == source.Conflict:
		return w.say(notStored, nil), nil
	case err != nil:
		return nil, err
	}
	it := memcache.Item{TTL: -1}
	if d := result.Doc; d != nil && !d.Absent() {
		it.Unique, it.Value = uniqueOf(d), d.Body()
	}
	return w.say(stored, &it), nil
}

// tagOf returns the entity tag of a document with this unique.
func tagOf(unique uint64) string { return row.ETag(unique, row.FormatJSON) }

// delete is delete and md: the row goes or, with I, its copy.
func (w *writing) delete() ([]byte, error) {
	if w.cmd.Op == memcache.MetaDelete && w.cmd.Has('I') {
		return w.invalidate()
	}
	change := kv.Change{Op: source.OpDelete}
	unique := w.cmd.Op == memcache.MetaDelete && w.cmd.Has('C')
	if unique {
		change.IfMatch = []string{tagOf(w.cmd.Unique)}
	}
	_, err := w.ask(change)
	switch {
	case errors.Is(err, resource.ErrPrecondition) && unique && w.existed:
		return w.say(exists, nil), nil
	case errors.Is(err, resource.ErrPrecondition), errors.Is(err, row.ErrKey),
		errors.Is(err, kv.ErrNoResource),
		source.ClassOf(err) == source.NoRow:
		return w.say(notFound, nil), nil
	case err != nil:
		return nil, err
	case !w.existed:
		return w.say(notFound, nil), nil
	}
	return w.say(deleted, nil), nil
}

// invalidate drops the copy of a row, for whoever may write it, and has it read again.
func (w *writing) invalidate() ([]byte, error) {
	live := w.c.f.store.Live()
	res, key := live.Find(w.cmd.Keys[0])
	switch {
	case res == nil:
		err := live.NoResource(w.cmd.Keys[0])
		if err == kv.ErrNoResource {
			return w.say(notFound, nil), nil
		}
		return nil, err
	case !res.Writable():
		return nil, resource.ErrReadOnly
	case !w.c.Who.MayWrite(live, res):
		return nil, kv.ErrForbidden
	}
	if err := res.Invalidate(&key); err != nil {
		if errors.Is(err, row.ErrKey) {
			return w.say(notFound, nil), nil
		}
		return nil, err
	}
	answer, err := res.Get(w.ctx, key, resource.Options{})
	switch {
	case err != nil:
		return nil, err
	case answer.Doc.Absent():
		return w.say(notFound, nil), nil
	}
	return w.say(stored, nil), nil
}

// change is what works on a value that is no document.
func (w *writing) change() ([]byte, error) {
	live := w.c.f.store.Live()
	switch res, _ := live.Find(w.cmd.Keys[0]); {
	case res == nil:
		return nil, live.NoResource(w.cmd.Keys[0])
	case !res.Writable():
		return nil, resource.ErrReadOnly
	case !w.c.Who.MayWrite(live, res):
		return nil, kv.ErrForbidden
	}
	return memcache.AppendLine(nil, unsupported), nil
}
