package row

import (
	"slices"
	"strings"
)

// A Shape says how the columns of a row become the members of a document. It
// is compiled once, when a configuration is loaded, and never changes. Shapes
// are made by NewShape: one made without it encodes and decodes the same
// documents, but is compiled again at each use.
type Shape struct {
	Fields []Field

	heads []head // of Fields
	order []int  // of Fields in CBOR, each name once
}

// A Field is one member of a document.
type Field struct {
	Name     string // of the member
	Column   string // that it comes from; "" for embedded documents
	Kind     Kind   // what the source says that the column holds
	Elem     Kind   // of an Array's elements; Null: whatever they are
	Key      bool   // the column is part of what names a row
	Dynamic  bool   // the column may hold a value of any kind, whatever Kind says (SQLite)
	Loose    bool   // rows may have what Kind has not: days such as 0000-00-00, 2 for true (MySQL)
	OmitNull bool   // leave the member out when the value is Null
	RFC3339  bool   // write a Date as a date-time: "1981-06-09T00:00:00Z"
	Shape    *Shape // of the embedded documents, when Kind is Rows or Row

	// What clients are told of it, and writers have to know. None of a SELECT is set.
	Bits      int  // of an Int, 16, 32 or 64; of a Uint, 32 or 64
	MaxLen    int  // of a Text, in characters; 0: no bound
	NotNull   bool // no row has null
	Default   bool // the database has a value for a row that is made without one
	Generated bool // the database alone makes it
	Required  bool // who writes must say it, and not null
	Parent    bool // of embedded documents: it says whose they are
}

// A head is what comes before a member's value in each format. The names of
// members never change, so they are escaped once and not for each document.
type head struct {
	json    string // a comma, the escaped name in quotes, a colon
	msgpack string // the name as a MessagePack str
	cbor    string // the name as a CBOR text
}

// NewShape compiles fields, which it keeps. When two fields have one name the
// first of them is the one that a decoder sets.
func NewShape(fields []Field) *Shape {
	s := &Shape{Fields: fields, heads: make([]head, len(fields)), order: make([]int, len(fields))}
	var all []byte // the heads of all fields are parts of one text
	ends := make([][3]int, len(fields))
	for i := range fields {
		name, end := fields[i].Name, &ends[i]
		all = append(appendJSONString(append(all, ','), name), ':')
		end[0] = len(all)
		all = appendMsgPackString(all, name)
		end[1] = len(all)
		all = appendCBORText(all, name)
		end[2] = len(all)
	}
	text, from := string(all), 0
	for i, end := range ends {
		s.order[i] = i
		s.heads[i] = head{text[from:end[0]], text[end[0]:end[1]], text[end[1]:end[2]]}
		from = end[2]
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		return strings.Compare(s.heads[a].cbor, s.heads[b].cbor)
	})
	s.order = slices.CompactFunc(s.order, func(a, b int) bool {
		return fields[a].Name == fields[b].Name
	})
	return s
}

// place returns the place in Fields of the member called name; false: there is none.
func (s *Shape) place(name string) (int, bool) {
	var room [64]byte
	text := appendCBORText(room[:0], name)
	at, found := slices.BinarySearchFunc(s.order, text, func(i int, text []byte) int {
		return strings.Compare(s.heads[i].cbor, string(text))
	})
	if !found || s.Fields[s.order[at]].Name != name {
		return 0, false
	}
	return s.order[at], true
}

// compiled returns s, or s compiled when NewShape did not make it.
func (s *Shape) compiled() *Shape {
	if len(s.heads) != len(s.Fields) {
		return NewShape(s.Fields)
	}
	return s
}

// Append appends the document of one row in a format: see AppendJSON, AppendMsgPack and
// AppendCBOR. A format that is none of a client's is JSON.
func (s *Shape) Append(dst []byte, f Format, v Values) []byte {
	switch f {
	case FormatMsgPack:
		return s.AppendMsgPack(dst, v)
	case FormatCBOR:
		return s.AppendCBOR(dst, v)
	}
	return s.AppendJSON(dst, v)
}

// Format is a representation of documents.
type Format uint8

// The formats. Their number is the size of arrays indexed by Format.
//
// FormatPrepared is no format that a client can ask for: it is what a front has
// made of a row for itself, such as the head of a redirect. It lives and dies
// with the row's other representations.
const (
	FormatJSON Format = iota
	FormatMsgPack
	FormatCBOR
	FormatPrepared
	NumFormats = iota
)

// MediaType returns the format's registered media type.
func (f Format) MediaType() string {
	switch f {
	case FormatMsgPack:
		return "application/vnd.msgpack"
	case FormatCBOR:
		return "application/cbor"
	case FormatPrepared:
		return "application/octet-stream"
	}
	return "application/json"
}

// title returns the format's name for people.
func (f Format) title() string {
	switch f {
	case FormatMsgPack:
		return "MessagePack"
	case FormatCBOR:
		return "CBOR"
	}
	return "JSON"
}

// String returns the format's name in the configuration.
func (f Format) String() string {
	switch f {
	case FormatMsgPack:
		return "msgpack"
	case FormatCBOR:
		return "cbor"
	case FormatPrepared:
		return "prepared"
	}
	return "json"
}
