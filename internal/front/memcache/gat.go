package memcachefront

import (
	"errors"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

// A gatRead is what gat and gats read besides items: rows and lists, which are looked up on
// the loop as those of get are.
type gatRead struct {
	items  []bool     // of the keys: it is one of an item
	found  []kv.Found // of the others
	misses []kv.Miss
}

// readBeside looks up what the keys of a gat are of that are not of items.
func (t *turn) readBeside(keys [][]byte) (r gatRead) {
	c, s := t.c, t.s
	r.items, r.found = make([]bool, len(keys)), make([]kv.Found, len(keys))
	for i, key := range keys {
		if r.items[i] = t.isItem(key); r.items[i] {
			continue
		}
		by := kv.Reader{Who: &c.Who}
		if f := &r.found[i]; s.Get(by, key, f) {
			s.Count(r.found[i : i+1])
		} else {
			r.misses = append(r.misses, s.Miss(&by, key, f))
		}
	}
	kv.Keep(r.found)
	return r
}

// getAndTouch is gat and gats of items, and of what was looked up beside them.
func (w *writing) getAndTouch() ([]byte, error) {
	r := &w.beside
	if len(r.misses) > 0 {
		w.c.f.store.Load(w.ctx, r.misses)
	}
	for i := range r.found {
		if text := w.c.f.problem(w.cmd, &r.found[i]); text != "" {
			return w.readError(text), nil
		}
	}
	var out []byte
	unique := w.cmd.Op == memcache.Gats
	for i, key := range w.cmd.Keys {
		it, ok := itemOf(&r.found[i], key, unique)
		if r.items[i] {
			got, err := w.touch(key)
			if err != nil {
				return nil, err
			}
			if ok = got != nil; ok {
				it = memcache.Item{Key: key, Value: got.Value, Flags: got.Flags,
					Unique: got.Unique()}
			}
		}
		if !ok {
			continue
		}
		if out = memcache.AppendValue(out, &it, unique); len(out) > front.ListBytes {
			return memcache.AppendLine(nil, tooMuch), nil
		}
	}
	return memcache.AppendLine(out, "END"), nil
}

// readError returns an error of a read, or has the connection closed in its place.
func (w *writing) readError(text string) []byte {
	out, ok := appendReadError(nil, w.cmd.Op, text)
	w.closes = w.closes || !ok
	return out
}

// touch gives an item another time, and returns it: nil for none.
func (w *writing) touch(key []byte) (*kv.Item, error) {
	defer w.turn(key)()
	for range front.ItemRaces {
		old, tag, err := w.current(key)
		if err != nil || old == nil {
			return nil, err
		}
		next := old.Item
		next.Expires = w.expiresAt(w.cmd.Exptime)
		_, err = w.c.f.store.Write(w.ctx, &w.c.Who, key, &kv.Change{Op: source.OpReplace,
			Value: kv.AppendItem(nil, &next), IfMatch: []string{tag}})
		if !errors.Is(err, resource.ErrPrecondition) {
			return &next, err
		}
	}
	return nil, &source.Error{Class: source.Retry, Message: "the item changes all the time"}
}
