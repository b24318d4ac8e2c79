package sqlfront

import (
	"encoding/binary"
	"slices"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/sqlcache"
)

// A define is a name of a group, and what it is to stand for; nil: it is closed.
type define struct {
	name string
	one  *prepared
}

// A group is what the client sends.
type group struct {
	running []*shape
	quiet   bool // it began when nothing was under way, in no transaction
	inside  bool // it began when nothing was under way, in a transaction
	within  bool // the session was in a transaction by what was known
	first   bool // it is the first of what has come, and began with it
	asks    bool // the state of the session is of use
	doubts  uint64
	number  uint64 // of the definitions

	why     sqlcache.Why // it is passed on; "": nothing speaks against a look
	defines []define

	describing []*prepared // in the order of the answers

	ask  sqlcache.Ask
	one  *prepared
	over bool // there are more than defines or describing has

	order [front.SQLPlain + 1]byte // the kinds of its messages, if there are few
	kinds int
	uses  bool // it needs a statement without a name that was prepared before

	portal, name string // that Bind has named
	told         string // what Describe has named
	binds        int    // so many Binds have come
	run          bool   // and one Execute
	part         uint64 // of what the client has sent, in which the first Bind was
}

// passes notes why the group is passed on. The first reason counts.
func (g *group) passes(why sqlcache.Why) {
	if g.why == sqlcache.Looked {
		g.why = why
	}
}

// find returns what a name stands for within the group; nil: nobody knows.
func (g *group) find(n *names, name string) *prepared {
	for i := len(g.defines) - 1; i >= 0; i-- {
		if g.defines[i].name == name {
			return g.defines[i].one
		}
	}
	return n.find(name)
}

func (g *group) define(name string, one *prepared) {
	if len(g.defines) < front.SQLGroups {
		g.defines = append(g.defines, define{name, one})
		return
	}
	g.passes(sqlcache.WhyName)
	g.over = true
}

// sees notes the kind of a message.
func (g *group) sees(kind byte) {
	if g.kinds < len(g.order) {
		g.order[g.kinds] = kind
		g.kinds++
	}
}

// usesName notes that the group is about a statement of a name.
func (g *group) usesName(name string) {
	g.uses = g.uses || name == "" &&
		!slices.ContainsFunc(g.defines, func(d define) bool { return d.name == "" })
}

// isPlain reports whether the group is one that memory can answer: how the answer is made up
// follows from it.
func (g *group) isPlain() bool {
	switch string(g.order[:g.kinds]) {
	case "Q", "BES", "BDES", "DBES", "PBES", "PBDES", "PDBES":
		return len(g.defines) == 0 || g.name == ""
	}
	return false
}

// answer appends the answer to the group.
func (g *group) answer(out []byte, a sqlcache.Answer) []byte {
	for _, kind := range g.order[:g.kinds] {
		switch kind {
		case msgParse:
			out = append(out, msgParsed, 0, 0, 0, headSize-1)
		case msgBind:
			out = append(out, msgBound, 0, 0, 0, headSize-1)
		case msgDescribe:
			out = append(out, a.Columns...)
		case msgQuery:
			out = append(append(out, a.Columns...), a.Rows...)
		case msgExecute:
			out = append(out, a.Rows...)
		}
	}
	return append(out, msgReady, 0, 0, 0, headSize, 'I')
}

// query sees a simple query.
func (g *group) query(one *prepared) {
	if g.binds > 0 || g.run || len(g.defines) > 0 {
		g.passes(sqlcache.WhySeveral)
	}
	g.one, g.run = one, true
	g.ask = sqlcache.Ask{Reading: one.reading, Told: msgQuery}
}

// bind sees values, behind the names of portal and statement.
func (g *group) bind(one *prepared, portal, name string, b []byte) {
	switch {
	case g.binds > 0:
		g.passes(sqlcache.WhySeveral)
	case one == nil || one.blind:
		g.passes(sqlcache.WhyName)
	}
	g.usesName(name)
	g.binds++
	g.one, g.portal, g.name = one, portal, name
	if one == nil {
		return
	}
	g.ask.Reading, g.ask.Types = one.reading, one.types
	if !slices.ContainsFunc(g.defines, func(d define) bool { return d.one == one }) {
		g.ask.Described = one.describedBy(g.number)
	}
	formats, rest, ok := cut(b, 2)
	if !ok {
		g.passes(sqlcache.WhyParameter)
		return
	}
	n := valuesSize(rest)
	if n < 0 {
		g.passes(sqlcache.WhyParameter)
		return
	}
	g.ask.Formats, g.ask.Values, g.ask.Results = formats, rest[:n], rest[n:]
}

// cut cuts a count and so many parts of a size off.
func cut(b []byte, size int) (parts, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(b)) * size
	if b = b[2:]; n > len(b) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// valuesSize returns how many bytes the values of a Bind have, with their count; -1: they do not
// end.
func valuesSize(b []byte) int {
	if len(b) < 2 {
		return -1
	}
	at := 2
	for range int(binary.BigEndian.Uint16(b)) {
		if len(b) < at+4 {
			return -1
		}
		size := int32(binary.BigEndian.Uint32(b[at:]))
		if at += 4 + int(max(size, 0)); at > len(b) {
			return -1
		}
	}
	return at
}

// asked returns the values with which the portal is run, or a simple query; nil: nobody knows them.
// part is of what the client sends.
func (g *group) asked(portal string, part uint64) *sqlcache.Ask {
	if g.binds == 0 && portal == "" && g.ask.Told == msgQuery ||
		g.binds == 1 && portal == g.portal && part == g.part {
		return &g.ask
	}
	return nil
}

// describe sees that a statement or portal is to be described: one, or nobody knows which.
func (g *group) describe(one *prepared, body []byte) {
	if len(g.describing) < front.SQLGroups {
		g.describing = append(g.describing, one)
	} else if g.over = true; one != nil {
		one.blind = true
	}
	switch t, ok := texts(body, 1); {
	case !ok || len(t[0]) == 0, g.ask.Told != 0:
		g.passes(sqlcache.WhySeveral)
	default:
		g.ask.Told, g.told = t[0][0], string(t[0][1:])
		if g.ask.Told == 'S' {
			g.usesName(g.told)
		}
	}
}

// describes reports whether what is described is what is run.
func (g *group) describes() bool {
	switch g.ask.Told {
	case 'S':
		return g.told == g.name
	case 'P':
		return g.told == g.portal
	}
	return true
}

// execute sees that a portal is run. rest begins with how many rows are wanted.
func (g *group) execute(one *prepared, portal string, rest []byte) {
	switch {
	case g.run, g.binds == 0, portal != g.portal, len(rest) < 4:
		g.passes(sqlcache.WhySeveral)
	case one == nil:
		g.passes(sqlcache.WhyName)
	default:
		g.ask.Rows = binary.BigEndian.Uint32(rest)
	}
	g.run = true
}
