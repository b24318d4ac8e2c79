package sqlfront

import (
	"encoding/binary"

	"github.com/hotrow/hotrow/internal/front"
)

// A prepared statement is a text that a name stands for, or what is run under no name.
type prepared struct {
	*known
	types []uint32 // of its parameters, as the client has said
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
