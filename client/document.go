package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/vmihailenco/msgpack/v5"
)

// Format is how a document is represented while it travels.
type Format uint8

// The formats. Whatever the format, struct fields are named by their json tags.
const (
	JSON Format = iota
	MessagePack
	CBOR
)

// String returns the format's name.
func (f Format) String() string {
	switch f {
	case JSON:
		return "json"
	case MessagePack:
		return "msgpack"
	case CBOR:
		return "cbor"
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// Origin says where an answer came from.
type Origin uint8

// The origins.
const (
	FromDatabase Origin = iota // read for this answer, or for one like it
	FromMemory                 // the server's copy, fresh
	FromDisk                   // the same, from its disk
	FromNear                   // this client's own copy, fresh
	FromStale                  // a copy that may be out of date: the feed lags
)

// A Document is one row, or a row and those that belong to it, as the server
// has it. Copies share Body: do not write to it.
type Document struct {
	Key      string
	ETag     string // with its quotes
	Position string // nothing in the answer is behind it: see Client.See
	Lag      time.Duration
	Origin   Origin
	Format   Format
	Body     []byte

	Created     bool // by the write that this answers
	NotModified bool // the entity tag of IfNoneMatch is still the document's
	Missing     bool // there is no such document
}

// Decode stores the document in v: a pointer to a struct, whose fields are named
// by their json tags in every format, to a map, or to an any.
func (d *Document) Decode(v any) error {
	switch {
	case d.Missing:
		return fmt.Errorf("decode %s: %w", d.Key, ErrNotFound)
	case len(d.Body) == 0:
		return fmt.Errorf("decode %s: the answer has no body", d.Key)
	}
	if err := decode(d.Format, d.Body, v); err != nil {
		return fmt.Errorf("decode %s as %s: %w", d.Key, d.Format, err)
	}
	return nil
}

// decode reads a value in a format.
func decode(f Format, body []byte, v any) error {
	switch f {
	case JSON:
		return json.Unmarshal(body, v)
	case MessagePack:
		d := msgpack.GetDecoder()
		defer msgpack.PutDecoder(d)
		d.Reset(bytes.NewReader(body))
		d.SetCustomStructTag("json")
		return d.Decode(v)
	case CBOR:
		return cborDecoder().Unmarshal(body, v)
	}
	return errFormat(f)
}

// cborDecoder reads CBOR as the other formats are read: what goes into an any
// becomes a map[string]any, and a document may be as deep as a server's is.
var cborDecoder = sync.OnceValue(func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DefaultMapType: reflect.TypeFor[map[string]any](), MaxNestedLevels: 1 << 10,
		MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32,
	}.DecMode()
	if err != nil {
		panic("BUG: client: " + err.Error()) // the options are constant
	}
	return mode
})

// cborEncoder writes times as the other formats do that have no type for them.
var cborEncoder = sync.OnceValue(func() cbor.EncMode {
	mode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.EncMode()
	if err != nil {
		panic("BUG: client: " + err.Error()) // the options are constant
	}
	return mode
})

// encode writes a value in a format. Bytes are taken as encoded already.
func encode(f Format, v any) ([]byte, error) {
	switch raw := v.(type) {
	case nil:
		return nil, errors.New("there is no value to write")
	case []byte:
		return raw, nil
	case json.RawMessage:
		if f == JSON {
			return raw, nil
		}
		return nil, fmt.Errorf("JSON cannot be sent as %s", f)
	}
	switch f {
	case JSON:
		return json.Marshal(v)
	case MessagePack:
		var b bytes.Buffer
		e := msgpack.GetEncoder()
		defer msgpack.PutEncoder(e)
		e.Reset(&b)
		e.SetCustomStructTag("json")
		e.UseCompactInts(true)
		err := e.Encode(v)
		return b.Bytes(), err
	case CBOR:
		return cborEncoder().Marshal(v)
	}
	return nil, errFormat(f)
}

func errFormat(f Format) error { return fmt.Errorf("there is no format %d", uint8(f)) }
