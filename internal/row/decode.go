package row

import "fmt"

// Limits of what DecodeJSON, DecodeMsgPack and DecodeCBOR take, beside the length
// of the body, which is the caller's to bound. They bound the memory and the stack that
// a small hostile body can cost.
const (
	MaxDepth    = 32      // arrays and objects within one another, the body's own included
	MaxElements = 1 << 16 // values in a body, those within others included
)

// Decode reads the body of a write in one of the formats that travel.
func (s *Shape) Decode(f Format, body []byte) (*Input, error) {
	switch f {
	case FormatMsgPack:
		return s.DecodeMsgPack(body)
	case FormatCBOR:
		return s.DecodeCBOR(body)
	}
	return s.DecodeJSON(body)
}

// A DecodeError says where a body is wrong, and how.
type DecodeError struct {
	Offset  int    // of the byte where the wrong value or token begins; -1: not known
	Path    string // of the member: "emps[3].sal"; "" for the body as a whole or its syntax
	Message string
	Unknown string // the member of a body that is none of its document; "": another error
}

// Error returns "emps[3].sal: 1.5 is not a 64-bit integer (byte 117)".
func (e *DecodeError) Error() string {
	text := e.Message
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	if e.Offset < 0 {
		return text
	}
	return fmt.Sprintf("%s (byte %d)", text, e.Offset)
}

// within returns e as the error of what follows the items of n so far: its member
// called name, or its next element.
func (e *DecodeError) within(n *node, name string) *DecodeError {
	path := name
	if q := quote(name); q != `"`+name+`"` { // it is long, or could end a line of a log
		path = q
	}
	if n.kind == nodeList {
		path = fmt.Sprintf("[%d]", len(n.items))
	}
	if e.Path != "" && e.Path[0] != '[' {
		path += "."
	}
	e.Path = path + e.Path
	return e
}

// A node is one value of a body, before it is known of which kind it has to be.
// All formats are read into nodes, so that one binder gives all one meaning.
type node struct {
	kind   nodeKind
	truth  bool
	offset int    // of its first byte
	end    int    // of the byte after its last; JSON only
	text   string // of a number, a string, bytes, a time
	items  []node // of a list, or the members of a map

	name       string // as a member of a map
	nameOffset int
}

type nodeKind uint8

const (
	nodeNull   nodeKind = iota
	nodeBool            // truth
	nodeNumber          // text in JSON's grammar
	nodeNamed           // text "NaN", "Infinity", "-Infinity": a binary float
	nodeString          // text in UTF-8
	nodeBytes           // text; binary formats only
	nodeTime            // text of a DatetimeTZ; binary formats only
	nodeList            // items
	nodeMap             // items, with names
)

// String names what a client wrote, for errors.
func (n *node) String() string {
	switch n.kind {
	case nodeNull:
		return "null"
	case nodeBool:
		return fmt.Sprint(n.truth)
	case nodeNumber, nodeNamed, nodeTime:
		if len(n.text) > 64 {
			return n.text[:64] + "..."
		}
		return n.text
	case nodeString:
		return quote(n.text)
	case nodeBytes:
		return fmt.Sprintf("a byte string of length %d", len(n.text))
	case nodeList:
		return "an array"
	}
	return "an object"
}

// member returns the member of a map called name.
func (n *node) member(name string) bool {
	for i := range n.items {
		if n.items[i].name == name {
			return true
		}
	}
	return false
}

// members collects a map's members and finds names that come twice: RFC 8259
// leaves their meaning open, so a body that has them is refused.
type members struct {
	node  *node
	names map[string]struct{} // once there are too many to look at one by one
}

// add adds a member. It reports false when there is one of that name.
func (m *members) add(v node) bool {
	const few = 16
	if m.names == nil {
		if m.node.member(v.name) {
			return false
		}
		if m.node.items = append(m.node.items, v); len(m.node.items) == few {
			m.names = make(map[string]struct{}, 2*few)
			for i := range m.node.items {
				m.names[m.node.items[i].name] = struct{}{}
			}
		}
		return true
	}
	if _, taken := m.names[v.name]; taken {
		return false
	}
	m.names[v.name] = struct{}{}
	m.node.items = append(m.node.items, v)
	return true
}
