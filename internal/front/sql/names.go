package sqlfront

import (
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/front"
)

// A prepared statement is a text that a name stands for, or what is run under no name.
type prepared struct {
	*known
	types []uint32 // of its parameters, as the client has said

	// described is a digest of what the server has said of its parameters and columns; told says
	// of which it has. blind says that it has said so and nobody has seen it.
	described [16]byte
	told      struct{ parameters, columns bool }
	blind     bool
	number    uint64 // of the definitions by which it was prepared, or answered from memory
	unlike    uint64 // a number that no other statement has; 0: none was needed
}

// lastUnlike is the last prepared.unlike.
var lastUnlike atomic.Uint64

// describedBy returns what tells the statement from another with the same text, by definitions of a
// number. The server keeps the types of parameters and columns that it was prepared by. Who was not
// told of them is like all others who have prepared it by these definitions, and like nobody later.
func (p *prepared) describedBy(number uint64) [16]byte {
	d := p.described
	if number == p.number || p.told.parameters && p.told.columns {
		return d
	}
	if p.unlike == 0 {
		p.unlike = lastUnlike.Add(1)
	}
	if !p.told.parameters {
		binary.BigEndian.PutUint64(d[:8], p.unlike)
	}
	if !p.told.columns {
		binary.BigEndian.PutUint64(d[8:], p.unlike)
	}
	return d
}

// answered notes what memory has told: by a Describe of a kind.
func (p *prepared) answered(described [16]byte, told byte) {
	p.described = described
	p.told.columns = true
	p.told.parameters = p.told.parameters || told == 'S'
}

// hears sees what the server says of the parameters and columns.
func (p *prepared) hears(kind byte, body []byte) {
	if kind == msgParameters {
		sum := sha256.Sum256(body)
		copy(p.described[:8], sum[:])
		p.told.parameters = true
		return
	}
	columns := []byte{kind}
	for _, c := range columnsOf(body) {
		columns = append(columns, c[:len(c)-2]...) // without its format
	}
	sum := sha256.Sum256(columns)
	copy(p.described[8:], sum[:])
	p.told.columns = true
}

// setTypes reads what Parse says of parameters.
func (p *prepared) setTypes(b []byte) {
	if len(b) < 2 {
		return
	}
	n := int(binary.BigEndian.Uint16(b))
	for b = b[2:]; n > 0 && len(b) >= 4; n-- {
		p.types, b = append(p.types, binary.BigEndian.Uint32(b)), b[4:]
	}
}

// names are the prepared statements of a session. A name that is not there stands for nothing; one
// with nil for something that nobody knows.
type names struct {
	by    map[string]*prepared
	bytes int // of the texts

	// behind says that the server has another statement without a name than the client: groups
	// that memory has answered prepared it, or ended it.
	behind bool
}

// find returns what a name stands for; nil: nobody knows.
func (n *names) find(name string) *prepared { return n.by[name] }

// set has a name stand for a statement. What is beyond the bounds nobody knows.
func (n *names) set(name string, one *prepared) {
	if n.by == nil {
		n.by = make(map[string]*prepared)
	}
	n.forget(name)
	if one != nil {
		if size := one.reading.Size(); n.bytes+size > front.SQLNameBytes {
			one = nil
		} else {
			n.bytes += size
		}
	}
	if len(n.by) < front.SQLNamesKept {
		n.by[name] = one
	} else if one != nil {
		n.bytes -= one.reading.Size()
	}
}

// forget has a name stand for nothing.
func (n *names) forget(name string) {
	if old := n.by[name]; old != nil {
		n.bytes -= old.reading.Size()
	}
	delete(n.by, name)
}

// catchUp returns what makes the server's statement without a name that of the client. The server
// answers it with one message. A statement that was prepared by other definitions than those of a
// number may be read otherwise by now: the client hears that there is none, and prepares it again.
func (n *names) catchUp(number uint64) (b []byte) {
	one := n.by[""]
	if one == nil || one.number != number {
		b, at := beginMessage(nil, msgClose)
		return endMessage(append(b, 'S', 0), at)
	}
	b, at := beginMessage(nil, msgParse)
	b = append(append(append(b, 0), one.reading.Text()...), 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(one.types)))
	for _, oid := range one.types {
		b = binary.BigEndian.AppendUint32(b, oid)
	}
	return endMessage(b, at)
}

// doubt notes that all names may stand for something else.
func (n *names) doubt() {
	for name := range n.by {
		n.by[name] = nil
	}
	n.bytes = 0
}

// sent notes that what defines says will be so, if the server takes it. Until it has answered
// nobody knows what a name stands for that stood for something before.
func (n *names) sent(defines []define) {
	for i := range defines {
		d := &defines[i]
		_, had := n.by[d.name]
		switch {
		case d.name == "":
			n.set("", d.one)
		case had && d.one != nil:
			n.set(d.name, nil)
		case d.one != nil:
			n.set(d.name, d.one)
		default: // it is closed
			n.set(d.name, nil)
		}
	}
}

// done notes that the server has taken it.
func (n *names) done(defines []define) {
	for i := range defines {
		switch d := &defines[i]; {
		case d.name == "": // a later group may have another by now
		case d.one != nil:
			n.set(d.name, d.one)
		default:
			n.forget(d.name)
		}
	}
}

// failed notes that the server may not have taken it.
func (n *names) failed(defines []define) {
	for i := range defines {
		n.set(defines[i].name, nil)
	}
}
