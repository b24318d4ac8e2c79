package kv

import (
	"context"
	"errors"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// ErrNoResource is the error of a write to a key that names no resource.
var ErrNoResource = errors.New("no resource has this key")

// ErrStarting is the error of a key that names no resource while nobody knows which there
// are: it may be there, so it is not absent.
var ErrStarting = errors.New("the tables of the database are not known yet")

// starting reports whether tables are not known yet.
func (o *Options) starting() bool { return o.Starting != nil && o.Starting() }

// NoResource returns why a look has not found the resource of a key: ErrNoResource or
// ErrStarting.
func (o *Options) NoResource(key []byte) error {
	if o.starting() {
		return ErrStarting
	}
	// They may have become known since that look.
	if res, _ := o.Find(key); res != nil {
		return ErrStarting
	}
	return ErrNoResource
}

// A Change is one write of one row, as a front has it.
type Change struct {
	Op     source.Op
	Value  []byte     // the document or, for a merge, some members of it
	Format row.Format // of Value

	// Members, if it is not nil, makes Value, in JSON, by the columns of the table: nil when
	// nothing is to be written. It is called when it is known that the client may write, for
	// what it says tells of them.
	Members func(*row.Shape) ([]byte, error)

	// JSONNull says that a null in Value is that of JSON, where the column holds JSON, and
	// not SQL's: a key whose value is the column reads it back.
	JSONNull bool

	// Of which entity tags the row must have one, or none: see resource.Write.
	IfMatch, IfNoneMatch []string

	// Before is told of the row as it was, within the transaction: see resource.Write.
	Before func(*row.Shape, row.Values)

	// By is the client that writes, if it keeps copies: it is told of what the change has
	// touched before Write returns or, with NoLoop, never.
	By     *Tracked
	NoLoop bool
}

// Find returns the resource that a key is of, nil for none, and the key of the row, which
// aliases it.
func (o *Options) Find(key []byte) (*resource.Resource, row.Key) {
	text := row.Alias(key)
	name, rest, ok := o.cut(text)
	if own, served := o.resourceOf(name); ok && served {
		if r, known := o.Resources.Lookup(own); known {
			return r, row.Key(rest)
		}
	}
	if whole, has := o.keyOfDefault(text); has {
		if r, known := o.Resources.Lookup(o.Default); known {
			return r, row.Key(whole)
		}
	}
	return nil, ""
}

// Write changes the row of a key for who. An outcome is waited for even when the Store is
// closed: a statement that is cut off has one that nobody knows.
//
// Errors: ErrNoResource, ErrStarting, ErrForbidden, row.ErrKey, *row.DecodeError, those of
// c.Members and of resource.Write. The zero Result says that there was nothing to write.
func (s *Store) Write(
	ctx context.Context, who *Identity, key []byte, c *Change,
) (resource.Result, error) {
	o, began := s.Live(), time.Now()
	res, of := o.Find(key)
	if res == nil {
		s.stats.unknown.Add(1)
		return resource.Result{}, o.NoResource(key)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.WriteTimeout)
	defer cancel()
	result, err := s.write(ctx, o, who, res, row.Key(string(of)), c)
	s.observe(res.Name(), CodeOf(err), time.Since(began))
	return result, err
}

// write is Write of a resource.
func (s *Store) write(
	ctx context.Context, o *Options, who *Identity, res *resource.Resource, key row.Key,
	c *Change,
) (resource.Result, error) {
	if !res.Allows(c.Op) {
		return resource.Result{}, resource.ErrReadOnly
	}
	if !who.MayWrite(o, res) {
		return resource.Result{}, ErrForbidden
	}
	w := resource.Write{Op: c.Op, Key: key, IfMatch: c.IfMatch, IfNoneMatch: c.IfNoneMatch,
		Before: c.Before, ReportTouched: c.By != nil, Identify: c.NoLoop}
	if c.Op != source.OpDelete {
		if w.Shape = res.Shape(); w.Shape == nil {
			return resource.Result{}, &source.Error{Class: source.Unavailable,
				Message: "the database has not been reached yet"}
		}
		var err error
		if w.Input, err = c.decode(w.Shape); err != nil || w.Input == nil {
			return resource.Result{}, err
		}
		if err := w.Shape.CheckKey(res.KeyType(), w.Input, key); err != nil {
			return resource.Result{}, err
		}
	}
	if c.By == nil {
		return res.Write(ctx, w)
	}
	if c.NoLoop {
		c.By.begin()
	}
	result, err := res.Write(ctx, w)
	s.tracker.wrote(o, c, &result)
	return result, err
}

// decode reads what c makes of a row, nil for nothing.
func (c *Change) decode(shape *row.Shape) (*row.Input, error) {
	format, value := c.Format, c.Value
	if c.Members != nil {
		var err error
		if value, err = c.Members(shape); err != nil || value == nil {
			return nil, err
		}
		format = row.FormatJSON
	}
	in, err := shape.Decode(format, value)
	if err != nil || !c.JSONNull {
		return in, err
	}
	for i := range shape.Fields {
		if shape.Fields[i].Kind == row.JSON && in.Present[i] && in.Values[i].IsNull() {
			in.Values[i] = row.TextValue(row.JSON, "null")
		}
	}
	return in, nil
}
