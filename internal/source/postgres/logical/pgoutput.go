package logical

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// errPgoutput is the error of bytes that are not what the replication protocol
// or the pgoutput plug-in (protocol version 1) sends.
var errPgoutput = errors.New("malformed replication message")

// A walMessage is what one CopyData of a replication connection holds:
// xLogData or keepAlive. Slices alias the input.
type walMessage interface{ isWAL() }

// xLogData carries one message of the output plug-in.
type xLogData struct {
	start, end feed.LSN
	data       []byte
}

// keepAlive says how far the server has read its log for us, and that all that
// we are to see up to there has been sent.
type keepAlive struct {
	end   feed.LSN
	reply bool // the server wants a status update now
}

func (xLogData) isWAL()  {}
func (keepAlive) isWAL() {}

// decodeWAL reads the payload of one CopyData message.
func decodeWAL(b []byte) (walMessage, error) {
	r := reader{b: b}
	switch kind := r.byte(); kind {
	case 'w':
		m := xLogData{start: feed.LSN(r.uint64()), end: feed.LSN(r.uint64())}
		r.uint64() // the server's clock
		m.data = r.rest()
		return m, r.err(kind)
	case 'k':
		m := keepAlive{end: feed.LSN(r.uint64())}
		r.uint64() // the server's clock
		m.reply = r.byte() != 0
		return m, r.done(kind)
	default:
		return nil, fmt.Errorf("%w: unknown kind %q", errPgoutput, kind)
	}
}

// A message is one message of pgoutput. Slices alias the input.
type message interface{ isMessage() }

type (
	// beginMessage starts a transaction that has committed.
	beginMessage struct {
		final feed.LSN // of the commit record
		time  int64    // microseconds since 2000-01-01 UTC
		xid   uint32
	}
	// commitMessage ends it.
	commitMessage struct {
		commit, end feed.LSN
		time        int64
	}
	// relationMessage describes a table before its first row.
	relationMessage struct {
		id           uint32
		schema, name string
		identity     byte // replica identity: d, n, f, i
		columns      []relationColumn
	}
	relationColumn struct {
		key      bool // part of the replica identity
		name     string
		oid      uint32
		modifier int32
	}
	// typeMessage names a type that is not built in; for a domain it gives the
	// name of the type below.
	typeMessage struct {
		id           uint32
		schema, name string
	}
	insertMessage struct {
		relation uint32
		new      []field
	}
	updateMessage struct {
		relation uint32
		oldKind  byte // 0: there is no old tuple; K: its identity; O: all of it
		old, new []field
	}
	deleteMessage struct {
		relation uint32
		oldKind  byte // K or O
		old      []field
	}
	truncateMessage struct {
		relations []uint32
	}
	originMessage struct{}
	// logicalMessage is what pg_logical_emit_message sent.
	logicalMessage struct {
		prefix  string
		content []byte
	}
)

// A field is one column of a tuple.
type field struct {
	kind byte // n: null, u: unchanged and not sent, t: text
	text []byte
}

func (beginMessage) isMessage()    {}
func (commitMessage) isMessage()   {}
func (relationMessage) isMessage() {}
func (typeMessage) isMessage()     {}
func (insertMessage) isMessage()   {}
func (updateMessage) isMessage()   {}
func (deleteMessage) isMessage()   {}
func (truncateMessage) isMessage() {}
func (originMessage) isMessage()   {}
func (logicalMessage) isMessage()  {}

// decodeMessage reads one message of pgoutput. It checks every length before it
// uses it, allocates no more than a small multiple of len(b), and never panics.
// A kind that it does not know is an error: a feed must not guess.
func decodeMessage(b []byte) (message, error) {
	r := reader{b: b}
	var m message
	kind := r.byte()
	switch kind {
	case 'B':
		m = beginMessage{final: feed.LSN(r.uint64()), time: int64(r.uint64()), xid: r.uint32()}
	case 'C':
		r.byte() // flags, none defined
		m = commitMessage{
			commit: feed.LSN(r.uint64()), end: feed.LSN(r.uint64()), time: int64(r.uint64()),
		}
	case 'R':
		m = r.relation()
	case 'Y':
		m = typeMessage{id: r.uint32(), schema: r.string(), name: r.string()}
	case 'I':
		m = r.insert()
	case 'U':
		m = r.update()
	case 'D':
		m = r.delete()
	case 'T':
		m = r.truncate()
	case 'O':
		r.uint64()
		r.string()
		m = originMessage{}
	case 'M':
		r.byte() // flags: transactional
		r.uint64()
		m = logicalMessage{prefix: r.string(), content: r.bytes(r.uint32())}
	default:
		return nil, fmt.Errorf("%w: unknown kind %q", errPgoutput, kind)
	}
	if err := r.done(kind); err != nil {
		return nil, err
	}
	return m, nil
}

// A reader takes values off the front of b. After the first failure it returns
// zero values; the failure is asked for once, at the end.
type reader struct {
	b   []byte
	bad bool
}

// take returns the next n bytes, or nil when there are not so many.
func (r *reader) take(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) byte() byte {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if v := r.take(2); v != nil {
		return binary.BigEndian.Uint16(v)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if v := r.take(4); v != nil {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if v := r.take(8); v != nil {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

// string returns a text that ends with a zero byte.
func (r *reader) string() string {
	for i, c := range r.b {
		if c == 0 && !r.bad {
			s := string(r.b[:i])
			r.b = r.b[i+1:]
			return s
		}
	}
	r.bad = true
	return ""
}

// bytes returns the next n bytes. A length beyond the input, or beyond what an
// int holds on a small machine, is a failure.
func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	return r.take(int(n))
}

func (r *reader) rest() []byte { return r.take(len(r.b)) }

// err returns the failure, if there was one.
func (r *reader) err(kind byte) error {
	if r.bad {
		return fmt.Errorf("%w: %q is too short or has a bad part", errPgoutput, kind)
	}
	return nil
}

// done is err for a message that must have been read to its end.
func (r *reader) done(kind byte) error {
	if err := r.err(kind); err != nil {
		return err
	}
	if len(r.b) > 0 {
		return fmt.Errorf("%w: %q has %d bytes too many", errPgoutput, kind, len(r.b))
	}
	return nil
}

func (r *reader) relation() relationMessage {
	m := relationMessage{id: r.uint32(), schema: r.string(), name: r.string()}
	m.identity = r.byte()
	n := int(r.uint16())
	for i := 0; i < n && !r.bad; i++ {
		c := relationColumn{key: r.byte()&1 != 0, name: r.string(), oid: r.uint32()}
		c.modifier = int32(r.uint32())
		m.columns = append(m.columns, c)
	}
	return m
}

func (r *reader) insert() insertMessage {
	m := insertMessage{relation: r.uint32()}
	r.expect('N')
	m.new = r.tuple()
	return m
}

func (r *reader) update() updateMessage {
	m := updateMessage{relation: r.uint32()}
	kind := r.byte()
	if kind == 'K' || kind == 'O' {
		m.oldKind = kind
		m.old = r.tuple()
		kind = r.byte()
	}
	if kind != 'N' {
		r.bad = true
	}
	m.new = r.tuple()
	return m
}

func (r *reader) delete() deleteMessage {
	m := deleteMessage{relation: r.uint32(), oldKind: r.byte()}
	if m.oldKind != 'K' && m.oldKind != 'O' {
		r.bad = true
	}
	m.old = r.tuple()
	return m
}

func (r *reader) truncate() truncateMessage {
	n := r.uint32()
	r.byte() // options: CASCADE, RESTART IDENTITY
	m := truncateMessage{}
	if uint64(n)*4 != uint64(len(r.b)) {
		r.bad = true
		return m
	}
	m.relations = make([]uint32, n)
	for i := range m.relations {
		m.relations[i] = r.uint32()
	}
	return m
}

func (r *reader) expect(c byte) {
	if r.byte() != c {
		r.bad = true
	}
}

func (r *reader) tuple() []field {
	n := int(r.uint16())
	if n > len(r.b) { // a column takes at least one byte
		r.bad = true
		return nil
	}
	t := make([]field, 0, n)
	for i := 0; i < n && !r.bad; i++ {
		f := field{kind: r.byte()}
		switch f.kind {
		case 'n', 'u':
		case 't':
			f.text = r.bytes(r.uint32())
		default: // binary values are sent only to those who ask for them
			r.bad = true
		}
		t = append(t, f)
	}
	return t
}
