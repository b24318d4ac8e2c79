package respfront

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// serveWrites says how its commands are answered.
func (all table) serveWrites() {
	for name, f := range map[string]func(w *writing) ([]byte, error){
		"set": (*writing).set, "setex": (*writing).setex, "psetex": (*writing).setex,
		"hset": (*writing).hset, "hdel": (*writing).hdel,
		"del": (*writing).del, "unlink": (*writing).del,
	} {
		cmd := all[name]
		cmd.writes = true
		cmd.later = func(
			ctx context.Context, c *conn, o *Options, args [][]byte,
		) ([]byte, eventloop.Next) {
			w := &writing{ctx: ctx, c: c, o: o, cmd: cmd, args: args}
			return w.run(f)
		}
	}
	all["set"].check = func(args [][]byte) string {
		_, problem := setOptions(args)
		return problem
	}
	all["setex"].check, all["psetex"].check = setexCheck, setexCheck
	all["hset"].check = func(args [][]byte) string {
		if len(args)%2 != 0 {
			return "ERR wrong number of arguments for 'hset' command"
		}
		return ""
	}
	all["del"].check, all["unlink"].check = checkKeys, checkKeys
}

// A writing is one command that changes rows. It has its arguments, and the identity of
// its connection, for itself: the connection is parked.
type writing struct {
	ctx  context.Context
	c    *conn
	o    *Options
	cmd  *command
	args [][]byte
	key  []byte // whose write it is at
}

// run answers the command by f.
func (w *writing) run(f func(*writing) ([]byte, error)) ([]byte, eventloop.Next) {
	began := time.Now()
	w.key = w.args[1]
	out, err := f(w)
	w.c.LogWrite(began, w.cmd.upper, w.cmd.keys(w.args), w.key, err)
	if err == nil {
		return out, eventloop.More
	}
	next := eventloop.More
	if source.ClassOf(err) == source.Unknown {
		next = eventloop.Close // who goes on might take it for refused
	}
	if errors.Is(err, kv.ErrNoResource) {
		return resp.AppendError(nil, noResource(w.key)), next
	}
	name := ""
	if res, _ := w.c.f.store.Live().Find(w.key); res != nil {
		name = res.Name()
	}
	return resp.AppendError(nil, w.c.f.errorText(w.cmd, name, err)), next
}

// noResource returns the error of a key that names no resource.
func noResource(key []byte) string { return "ERR no resource for the key '" + clip(key) + "'" }

// write asks for one change.
func (w *writing) write(change kv.Change) (resource.Result, error) {
	change.By, change.NoLoop = w.c.track.client, w.c.track.noLoop
	done, err := w.c.f.store.Write(w.ctx, &w.c.Who, w.key, &change)
	if err == nil && done.Doc != nil {
		w.c.wrote = done.Token
	}
	return done, err
}

// A setting is what the options of SET say.
type setting struct {
	onlyNew, onlyOld, get, keep, expires bool
}

// setOptions reads the options of SET.
func setOptions(args [][]byte) (s setting, problem string) {
	for rest := args[3:]; len(rest) > 0; rest = rest[1:] {
		switch option := lower(rest[0]); {
		case option == "nx" && !s.onlyOld:
			s.onlyNew = true
		case option == "xx" && !s.onlyNew:
			s.onlyOld = true
		case option == "get":
			s.get = true
		case option == "keepttl" && !s.expires:
			s.keep = true
		case (option == "ex" || option == "px" || option == "exat" || option == "pxat") &&
			!s.keep && !s.expires && len(rest) > 1:
			rest, s.expires = rest[1:], true
			n, ok := resp.ParseInt(rest[0])
			switch {
			case !ok:
				return s, notInteger
			case n <= 0:
				return s, "ERR invalid expire time in 'set' command"
			}
		default:
			return s, syntaxError
		}
	}
	return s, ""
}

const (
	noExpiry = "ERR rows do not expire"

	// noLocks is said even where times mean nothing: whoever takes a lock relies on its end.
	noLocks = "ERR rows do not expire: a lock, SET with NX and a time, would be held for ever"
)

// setexCheck returns the error of the time of SETEX and PSETEX, or "".
func setexCheck(args [][]byte) string {
	switch n, ok := resp.ParseInt(args[2]); {
	case !ok:
		return notInteger
	case n <= 0:
		return "ERR invalid expire time in '" + lower(args[0]) + "' command"
	}
	return ""
}

// setex is SET with a time.
func (w *writing) setex() ([]byte, error) {
	if !w.o.ExpireIgnored {
		return resp.AppendError(nil, noExpiry), nil
	}
	w.args = [][]byte{w.args[0], w.args[1], w.args[3]}
	return w.set()
}

// set is PUT of a document.
func (w *writing) set() ([]byte, error) {
	s, _ := setOptions(w.args)
	switch {
	case s.expires && !w.o.ExpireIgnored:
		return resp.AppendError(nil, noExpiry), nil
	case s.expires && s.onlyNew:
		return resp.AppendError(nil, noLocks), nil
	}
	if len(w.args[2]) > w.o.MaxBody {
		return resp.AppendError(nil, texts["too-large"]), nil
	}
	v, err := w.valued(s.get)
	if err != nil {
		return nil, err
	}
	old := w.c.v.AppendNil(nil)
	change := kv.Change{Op: source.OpReplace, Value: w.args[2], Format: v.format}
	if s.get {
		change.Before = func(shape *row.Shape, was row.Values) {
			if old = w.c.v.AppendNil(nil); was != nil {
				old = appendField(w.c, nil, v.of(shape, was))
			}
		}
	}
	switch {
	case s.onlyNew:
		change.IfNoneMatch = []string{"*"}
	case s.onlyOld:
		change.IfMatch = []string{"*"}
	}
	if v.isColumn {
		err = w.setColumn(v, change)
	} else {
		_, err = w.write(change)
	}
	switch {
	case errors.Is(err, resource.ErrPrecondition) && s.get:
		return old, nil
	case errors.Is(err, resource.ErrPrecondition):
		return w.c.v.AppendNil(nil), nil
	case err != nil:
		return nil, err
	case s.get:
		return old, nil
	}
	return resp.AppendSimple(nil, "OK"), nil
}

// hset changes fields. It replies with how many of them have got a value.
func (w *writing) hset() ([]byte, error) {
	var fields []kv.Field
	names := make(map[string]bool)
	for i := 2; i < len(w.args); i += 2 {
		fields = append(fields, kv.Field{Name: w.args[i], Value: w.args[i+1]})
		names[string(w.args[i])] = true
	}
	var had map[string]bool
	done, made, err := w.upsert(kv.Change{
		Members: func(shape *row.Shape) ([]byte, error) {
			return kv.AppendMembers(nil, shape, fields)
		},
		Before: func(shape *row.Shape, was row.Values) { had = havingValue(shape, was, names) },
	})
	if err != nil {
		return nil, err
	}
	got, has := int64(0), kv.FieldNames(done.Doc)
	for name := range names {
		if (made || !had[name]) && has[name] {
			got++
		}
	}
	return resp.AppendInt(nil, got), nil
}

// upsert changes columns of a row as change says, or makes it of them: it is PATCH of a
// document, or PUT when there is no row yet.
func (w *writing) upsert(change kv.Change) (done resource.Result, made bool, err error) {
	for range front.WriteRaces {
		change.Op, change.IfNoneMatch = source.OpMerge, nil
		if done, err = w.write(change); source.ClassOf(err) != source.NoRow {
			return done, false, err
		}
		change.Op, change.IfNoneMatch = source.OpReplace, []string{"*"}
		if done, err = w.write(change); !errors.Is(err, resource.ErrPrecondition) {
			return done, true, err
		}
	}
	return done, false, err
}

// havingValue returns which of the fields called names have a value in a row; it may be nil.
func havingValue(shape *row.Shape, was row.Values, names map[string]bool) map[string]bool {
	have := make(map[string]bool)
	for i := range was {
		v, name := &was[i], shape.Fields[i].Name
		null := v.IsNull() || v.Kind() == row.JSON && strings.TrimSpace(v.Text()) == "null"
		if names[name] && !null {
			have[name] = true
		}
	}
	return have
}

// hdel is PATCH of a document with nulls. It replies with how many fields have lost their
// value: what the database fills itself has not.
func (w *writing) hdel() ([]byte, error) {
	names := make(map[string]bool)
	var had map[string]bool
	done, err := w.write(kv.Change{
		Op: source.OpMerge,
		Members: func(shape *row.Shape) ([]byte, error) {
			var fields []kv.Field
			for _, name := range w.args[2:] {
				if kv.IndexOf(shape, name) >= 0 {
					fields = append(fields, kv.Field{Name: name})
					names[string(name)] = true
				}
			}
			if len(fields) == 0 { // no row has them
				return nil, nil
			}
			return kv.AppendMembers(nil, shape, fields)
		},
		Before: func(shape *row.Shape, was row.Values) { had = havingValue(shape, was, names) },
	})
	if errors.Is(err, kv.ErrNoResource) || source.ClassOf(err) == source.NoRow {
		return resp.AppendInt(nil, 0), nil
	}
	if err != nil {
		return nil, err
	}
	lost, has := int64(0), kv.FieldNames(done.Doc)
	for name := range had {
		if !has[name] {
			lost++
		}
	}
	return resp.AppendInt(nil, lost), nil
}

// del deletes rows, each in a transaction of its own, and replies with how many there were.
func (w *writing) del() ([]byte, error) {
	removed := int64(0)
	for _, w.key = range w.args[1:] {
		existed := false
		_, err := w.write(kv.Change{
			Op:     source.OpDelete,
			Before: func(_ *row.Shape, was row.Values) { existed = was != nil },
		})
		switch {
		case errors.Is(err, kv.ErrNoResource):
		case errors.Is(err, row.ErrKey): // no row can have it
		case source.ClassOf(err) == source.NoRow:
		case err != nil:
			return nil, err
		case existed:
			removed++
		}
	}
	return resp.AppendInt(nil, removed), nil
}
