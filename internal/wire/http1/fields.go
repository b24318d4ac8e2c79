package http1

import "bytes"

// The limits of a head that is relayed.
const (
	MaxRelayHead   = 64 << 10 // bytes of first line and fields together
	MaxRelayLine   = 16 << 10 // bytes of the first line
	MaxRelayFields = 200      // header lines
)

// A HeadError says what is wrong with a message, and with which status a server
// that got it refuses it.
type HeadError struct {
	Status int
	Reason string
}

// Error implements error.
func (e *HeadError) Error() string { return e.Reason }

// What can be wrong with a message. They are errors of whoever sent it; nothing
// that follows it on the connection can be trusted.
var (
	errLine      = &HeadError{400, "malformed request line"}
	errLongLine  = &HeadError{414, "request line too long"}
	errLarge     = &HeadError{431, "header too large"}
	errMany      = &HeadError{431, "too many header fields"}
	errField     = &HeadError{400, "malformed header field"}
	errLineEnd   = &HeadError{400, "line does not end with CRLF"}
	errHost      = &HeadError{400, "missing, repeated or malformed Host"}
	errAuthority = &HeadError{400, "Host differs from the authority of the target"}
	errLength    = &HeadError{400, "repeated or malformed Content-Length"}
	errCoding    = &HeadError{400, "Transfer-Encoding is not one chunked"}
	errBoth      = &HeadError{400, "both Content-Length and Transfer-Encoding"}
	errExpect    = &HeadError{400, "unknown or repeated Expect"}
	errStatus    = &HeadError{502, "malformed status line"}
	errChunk     = &HeadError{400, "malformed chunk"}
	errTrailer   = &HeadError{400, "malformed or forbidden trailer field"}
)

// A FieldKind is what a relay must know of a field.
type FieldKind uint8

// The kinds. EndToEnd fields are relayed as they are; FieldHop is any field
// that is for the next hop alone and has no kind of its own.
const (
	EndToEnd FieldKind = iota
	FieldHost
	FieldConnection
	FieldContentLength
	FieldTransferEncoding
	FieldExpect
	FieldUpgrade
	FieldTE
	FieldHop
)

// A Field is one line of a head, by offsets into the bytes that were parsed.
type Field struct {
	Start, Colon    int32 // of the line; the name is between
	Value, ValueEnd int32 // without the blanks around it
	End             int32 // behind CRLF
	Kind            FieldKind
}

// A Message is what request and response heads have in common. Offsets and
// slices are good for as long as the bytes that were parsed.
type Message struct {
	Fields []Field
	Length int64 // of the body by Content-Length; -1: not given

	HTTP10    bool
	Chunked   bool
	Close     bool // Connection: close
	KeepAlive bool // Connection: keep-alive
	Upgrade   bool // an Upgrade field, and Connection: upgrade
	Trailers  bool // TE: trailers

	raw       []byte
	lenient   bool // of a response: the same Content-Length may be said again
	nominates bool // Connection names other fields
	upgrades  bool // Connection: upgrade
	offered   bool // there is an Upgrade field
	lengths   bool
	expects   bool
	hosts     int
	host      []byte
}

// reset prepares m for the head in b and keeps its memory.
func (m *Message) reset(b []byte) {
	*m = Message{Fields: m.Fields[:0], Length: -1, raw: b}
}

// Name returns a field's name.
func (m *Message) Name(f *Field) []byte { return m.raw[f.Start:f.Colon] }

// FieldValue returns a field's value.
func (m *Message) FieldValue(f *Field) []byte { return m.raw[f.Value:f.ValueEnd] }

// Line returns a field's whole line with its end.
func (m *Message) Line(f *Field) []byte { return m.raw[f.Start:f.End] }

// Nominated reports whether Connection names an end-to-end field, which makes
// it one for the next hop alone (RFC 9110 7.6.1).
func (m *Message) Nominated(f *Field) bool {
	if !m.nominates {
		return false
	}
	name := m.Name(f)
	for i := range m.Fields {
		if m.Fields[i].Kind == FieldConnection && ListHas(m.FieldValue(&m.Fields[i]), name) {
			return true
		}
	}
	return false
}

// ListHas reports whether a comma-separated list has a member, in any case.
func ListHas(list, member []byte) bool {
	for len(list) > 0 {
		var item []byte
		item, list = cutItem(list)
		if bytes.EqualFold(item, member) {
			return true
		}
	}
	return false
}

// cutItem returns the first member of a list and what follows its comma.
func cutItem(list []byte) (item, rest []byte) {
	if i := bytes.IndexByte(list, ','); i >= 0 {
		return trim(list[:i]), list[i+1:]
	}
	return trim(list), nil
}

// scan reads the header lines that begin at from. It returns the length of the
// head, 0 while its end has not come.
func (m *Message) scan(b []byte, from int) (int, error) {
	for at := from; ; {
		length := bytes.IndexByte(b[at:], '\n')
		end := at + length
		switch {
		case length < 0 && len(b) >= MaxRelayHead, end >= MaxRelayHead:
			return 0, errLarge
		case length < 0:
			return 0, nil
		case length == 0 || b[end-1] != '\r':
			return 0, errLineEnd
		case length == 1:
			return end + 1, nil
		case len(m.Fields) == MaxRelayFields:
			return 0, errMany
		}
		if err := m.field(b, at, end-1); err != nil {
			return 0, err
		}
		at = end + 1
	}
}

// field reads the line b[start:end], which CRLF follows.
func (m *Message) field(b []byte, start, end int) error {
	line := b[start:end]
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !allToken(line[:colon]) {
		return errField
	}
	value, last := start+colon+1, end
	for value < last && (b[value] == ' ' || b[value] == '\t') {
		value++
	}
	for last > value && (b[last-1] == ' ' || b[last-1] == '\t') {
		last--
	}
	if hasControl(b[value:last]) {
		return errField
	}
	m.Fields = append(m.Fields, Field{
		Start: int32(start), Colon: int32(start + colon), Value: int32(value),
		ValueEnd: int32(last), End: int32(end + 2), Kind: relayKind(line[:colon]),
	})
	f := &m.Fields[len(m.Fields)-1]
	switch {
	case f.Kind == EndToEnd:
		return nil
	case f.Kind == FieldContentLength && m.lenient && m.repeats(f):
		m.Fields = m.Fields[:len(m.Fields)-1]
		return nil
	}
	return m.note(f.Kind, b[value:last])
}

// repeats reports whether a Content-Length is the same as one before it, to the letter, as
// net/http compares them.
func (m *Message) repeats(last *Field) bool {
	for i := range m.Fields[:len(m.Fields)-1] {
		f := &m.Fields[i]
		if f.Kind == FieldContentLength && bytes.Equal(m.FieldValue(f), m.FieldValue(last)) {
			return true
		}
	}
	return false
}

// note draws the conclusions from a field that is not end to end.
func (m *Message) note(kind FieldKind, value []byte) error {
	switch kind {
	case FieldHost:
		m.hosts++
		m.host = value
		if m.hosts > 1 || !validHost(value) {
			return errHost
		}
	case FieldConnection:
		m.connection(value)
	case FieldContentLength:
		n, ok := parseLength(value)
		if !ok || !once(&m.lengths) {
			return errLength
		}
		m.Length = n
	case FieldTransferEncoding:
		if !isName(value, "chunked") || !once(&m.Chunked) {
			return errCoding
		}
	case FieldExpect:
		if !isName(value, "100-continue") || !once(&m.expects) {
			return errExpect
		}
	case FieldUpgrade:
		m.offered = true
	case FieldTE:
		m.Trailers = m.Trailers || ListHas(value, []byte("trailers"))
	}
	return nil
}

// connection reads the options of a Connection field.
func (m *Message) connection(list []byte) {
	for len(list) > 0 {
		var item []byte
		item, list = cutItem(list)
		switch {
		case isName(item, "close"):
			m.Close = true
		case isName(item, "keep-alive"):
			m.KeepAlive = true
		case isName(item, "upgrade"):
			m.upgrades = true
		case len(item) > 0:
			m.nominates = true
		}
	}
}

// framing says whether the fields agree on where the body ends.
func (m *Message) framing() error {
	m.Upgrade = m.offered && m.upgrades
	switch {
	case m.Chunked && m.lengths:
		return errBoth
	case m.Chunked && m.HTTP10:
		return errCoding
	}
	return nil
}

// relayKind classifies a field by its name.
func relayKind(name []byte) FieldKind {
	is := func(want string, k FieldKind) FieldKind {
		if isName(name, want) {
			return k
		}
		return EndToEnd
	}
	switch len(name) {
	case 2:
		return is("te", FieldTE)
	case 4:
		return is("host", FieldHost)
	case 6:
		return is("expect", FieldExpect)
	case 7:
		return is("upgrade", FieldUpgrade)
	case 8:
		return is("trailers", FieldHop) // an old misspelling, as chocon removes it
	case 10:
		if name[0]|0x20 == 'k' {
			return is("keep-alive", FieldHop)
		}
		return is("connection", FieldConnection)
	case 14:
		return is("content-length", FieldContentLength)
	case 16:
		return is("proxy-connection", FieldHop)
	case 17:
		return is("transfer-encoding", FieldTransferEncoding)
	case 18:
		return is("proxy-authenticate", FieldHop)
	case 19:
		return is("proxy-authorization", FieldHop)
	}
	return EndToEnd
}
