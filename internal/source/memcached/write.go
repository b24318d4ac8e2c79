package memcached

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// writeTries is how often a write begins again because somebody else has
// changed the value in between, and writeAnswers how many answers' time all of it
// may take.
const (
	writeTries   = 16
	writeAnswers = 4
)

// Write reads the value with its cas, has Check compare it, and replaces exactly
// that value (cas), or makes one where there is none (add). A delete is a cas,
// too, to a value that expires at once: the protocol's own delete would remove
// whatever is there by then. set is never sent; besides, a server that cannot
// keep the new value of a set throws the old one away.
func (p *plan) Write(ctx context.Context, w *source.Write) (*source.Written, error) {
	switch {
	case p.src.opts.ReadOnly:
		return nil, &source.Error{Class: source.ReadOnly, Message: "the source is read-only"}
	case w.Op != source.OpDelete && w.Input == nil:
		return nil, invalid("the write has no document")
	case w.Key == "":
		return nil, invalid("the key is not a member of the document: PUT to its path")
	}
	wr := &writer{plan: p, write: w}
	var err error
	if wr.key, wr.onServer, err = p.parse(w.Key); err != nil {
		return nil, fmt.Errorf("write %w", err)
	}
	err = p.src.use(ctx, writeAnswers, wr.run, func() bool { return !wr.sent })
	switch {
	case wr.verdict != nil:
		return nil, wr.verdict
	case err != nil && wr.sent && !answered(err):
		err = &source.Error{Class: source.Unknown, After: retryAfter, Err: err,
			Message: "whether the write took effect is not known: " + err.Error()}
		fallthrough
	case err != nil:
		return nil, fmt.Errorf("write %s/%s: %w", p.name, wr.key, err)
	}
	return &wr.done, nil
}

// answered reports whether an error is the server's own word that it has not stored
// a value. The word of a proxy that its server is gone is not.
func answered(err error) bool {
	var reply *replyError
	return errors.As(err, &reply) && source.ClassOf(err) != source.Unavailable ||
		source.ClassOf(err) == source.Retry
}

// A writer is one Write under way.
type writer struct {
	plan     *plan
	write    *source.Write
	key      row.Key
	onServer string
	touched  bool
	sent     bool  // a command that changes something has been sent
	verdict  error // that nothing was done, in the words of Check or of the write
	done     source.Written
}

// run tries until nobody else comes in between.
func (wr *writer) run(c *conn) error {
	for range writeTries {
		wr.sent = false
		it, err := c.gets(wr.onServer)
		if err != nil {
			return err
		}
		value, err := wr.prepare(it)
		if err != nil {
			wr.verdict = err
			return nil
		}
		expire := int64(wr.plan.spec.Expire / time.Second)
		if wr.write.Op == source.OpDelete {
			expire = -1
		}
		wr.sent = true
		answer, err := c.store(wr.onServer, it, expire, value)
		if err != nil {
			return err
		}
		if answer == "STORED" {
			return wr.finish(it, value)
		}
	}
	return &source.Error{Class: source.Retry, After: retryAfter,
		Message: fmt.Sprintf("others have changed the value %d times meanwhile", writeTries)}
}

// prepare compares the conditions of the write with the value as it is, and
// returns the new one.
func (wr *writer) prepare(it *item) ([]byte, error) {
	op, values := wr.write.Op, &wr.plan.values
	current := source.Loaded{Asked: wr.write.Key}
	var before []byte
	if it != nil {
		var err error
		if current.Values, err = values.decode(it.value); err != nil {
			return nil, fmt.Errorf("write %s/%s: %w", wr.plan.name, wr.key, err)
		}
		current.Key, before = wr.key, it.value
	}
	if wr.write.Check != nil {
		if err := wr.write.Check(&current); err != nil {
			return nil, err
		}
	}
	switch {
	case op == source.OpCreate && it != nil:
		return nil, &source.Error{Class: source.Conflict,
			Message: fmt.Sprintf("there is a value with the key %s already", wr.key)}
	case (op == source.OpMerge || op == source.OpDelete) && it == nil:
		return nil, &source.Error{Class: source.NoRow,
			Message: fmt.Sprintf("%s has no value with the key %s", wr.plan.name, wr.key)}
	}
	var value []byte
	if op != source.OpDelete {
		if op != source.OpMerge {
			before = nil
		}
		var err error
		if value, err = values.encode(before, wr.write.Input); err != nil {
			return nil, fmt.Errorf("write %s/%s: %w", wr.plan.name, wr.key, err)
		}
	}
	wr.touch(it != nil)
	return value, nil
}

// touch tells what is about to change, once.
func (wr *writer) touch(exists bool) {
	if wr.write.Touch == nil || wr.touched {
		return
	}
	wr.touched = true
	row := source.Tuple{{Column: wr.plan.keys[0].Column, Text: string(wr.key)}}
	c := source.Change{Table: wr.plan.table(), Op: source.Update, Old: row, New: row}
	switch {
	case wr.write.Op == source.OpDelete:
		c.Op, c.New = source.Delete, nil
	case !exists:
		c.Op, c.Old = source.Insert, nil
	}
	wr.write.Touch([]source.Change{c}, 0)
}

// finish notes what was done. The value is what was stored: nothing on the
// server could have made another of it.
func (wr *writer) finish(before *item, value []byte) error {
	wr.done.Loaded = source.Loaded{Asked: wr.write.Key}
	if wr.write.Op == source.OpDelete {
		wr.done.Deleted = true
		return nil
	}
	wr.done.Created = before == nil
	wr.done.Loaded.Key = wr.key
	var err error
	wr.done.Loaded.Values, err = wr.plan.values.decode(value)
	return err
}
