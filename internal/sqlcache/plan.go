package sqlcache

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/sqlread"
)

// An Ask is one execution of a statement, as a client asks for it. Its bytes are the caller's.
type Ask struct {
	Reading *Reading
	Types   []uint32 // of parameters, as the client has said; 0: it has not
	Formats []byte   // of parameters, as Bind has them
	Values  []byte   // the same
	Results []byte   // formats of columns, as Bind has them
	Rows    uint32   // at most; 0: all
	Told    byte     // how the columns are described: 'S', 'P', 'Q' for a simple query, 0: not

	// Described is a digest of what the client was told before of parameters and columns, by which
	// it writes values and reads rows.
	Described [16]byte
}

// A plan is an Ask that memory could answer.
type plan struct {
	rel     *relation
	params  []param
	exact   bool // the order of rows is given, or there is one at most
	limited bool // only some of the rows are in the answer
}

// A param is a value that is bound.
type param struct {
	oid    uint32
	binary bool
	null   bool
	value  []byte
}

// maxValues is the size of the values of an Ask that memory could answer.
const maxValues = 64 << 10

// plan returns how an Ask could be answered, or why not.
func (c *Cache) plan(m *meaning, f *Fingerprint, a *Ask) (*plan, Why) {
	st := a.Reading.st
	switch {
	case st == nil:
		return nil, WhyText
	case !f.read:
		return nil, WhyIsolation
	case f.Database != m.Database || f.server != m.Server:
		return nil, WhyDatabase
	case m.Redefined:
		return nil, WhyRedefined
	}
	if st.Schema.IsEmpty() {
		switch {
		case f.temps:
			return nil, WhyTemporary
		case f.Schemas[0] != "pg_catalog" || slices.Contains(f.Schemas, "information_schema"):
			return nil, WhyPath
		case strings.HasPrefix(st.Table.String(), "pg_"):
			return nil, WhyTable
		}
	} else if f.Schemas[0] != "pg_catalog" && !f.temps {
		return nil, WhyPath
	}
	rel := m.find(st.Schema, st.Table, f)
	switch {
	case rel == nil:
		return nil, WhyTable
	case !rel.Rows:
		return nil, WhyRows
	}
	p := &plan{rel: rel}
	var why Why
	if p.params, why = a.params(); why != Looked {
		return nil, why
	}
	types := p.types(st)
	if st.Check(&rel.types, types) != sqlread.Eligible {
		return nil, WhyType
	}
	if !p.timesArePlain(st, types) {
		return nil, WhyParameter
	}
	p.limited = st.Limit >= 0 || st.Offset >= 0 || a.Rows > 0
	p.exact = p.isExact(st)
	return p, Looked
}

// params reads the values that are bound.
func (a *Ask) params() ([]param, Why) {
	if len(a.Values) > maxValues {
		return nil, WhyParameter
	}
	v, formats := a.Values, a.Formats
	if len(v) == 0 {
		return nil, Looked // of a simple query
	}
	if len(v) < 2 {
		return nil, WhyParameter
	}
	n := int(binary.BigEndian.Uint16(v))
	v = v[2:]
	list := make([]param, n)
	for i := range list {
		if len(v) < 4 {
			return nil, WhyParameter
		}
		size := int32(binary.BigEndian.Uint32(v))
		v = v[4:]
		p := &list[i]
		if p.null = size < 0; !p.null {
			if int(size) > len(v) {
				return nil, WhyParameter
			}
			p.value, v = v[:size], v[size:]
		}
		if i < len(a.Types) {
			p.oid = a.Types[i]
		}
		switch len(formats) / 2 {
		case 0:
		case 1:
			p.binary = formats[1] == 1
		case n:
			p.binary = formats[2*i+1] == 1
		default:
			return nil, WhyParameter
		}
	}
	return list, Looked
}

// types returns the types of the parameters. The server gives those that the client has not said:
// a comparison with a column gives it the column's type, or that of arrays of it.
func (p *plan) types(st *sqlread.Statement) []uint32 {
	types := make([]uint32, len(p.params))
	for i := range p.params {
		types[i] = p.params[i].oid
	}
	give := func(v *sqlread.Value, oid uint32) {
		if v.Kind != sqlread.Parameter || v.Param > len(types) || types[v.Param-1] != 0 {
			return
		}
		if v.Casts > 0 {
			oid = v.First
		}
		types[v.Param-1] = oid
	}
	for i := range st.Where {
		t := &st.Where[i]
		if t.Op <= sqlread.And || t.Left < 0 {
			continue
		}
		if at := p.rel.types.Find(st.Columns[t.Left].Name); at >= 0 {
			for j := t.From; j < t.To; j++ {
				give(&st.Values[j], p.rel.types.Types[at])
			}
		}
	}
	for i := range st.Values {
		oid := uint32(oidText)
		if i == st.Limit || i == st.Offset {
			oid = oidInt8
		}
		give(&st.Values[i], oid)
	}
	return types
}

// timesArePlain reports whether no text of a parameter stands for another time at each reading. A
// parameter that is compared with a time is one, however its type was found.
func (p *plan) timesArePlain(st *sqlread.Statement, types []uint32) bool {
	for i := range st.Values {
		v := &st.Values[i]
		if v.Kind != sqlread.Parameter {
			continue
		}
		q := &p.params[v.Param-1]
		if q.null || q.binary || !v.IsTime(types) {
			continue
		}
		if !sqlread.IsTimeText(string(q.value)) {
			return false
		}
	}
	for i := range st.Where { // a text that is compared with a time
		t := &st.Where[i]
		for j := t.From; j < t.To && t.Op > sqlread.And; j++ {
			v := &st.Values[j]
			if v.Kind == sqlread.Parameter && st.IsTimed(t, &p.rel.types, types) {
				q := &p.params[v.Param-1]
				if !q.null && !q.binary && !sqlread.IsTimeText(string(q.value)) {
					return false
				}
			}
		}
	}
	return true
}

// isExact reports whether the answer has one order only.
func (p *plan) isExact(st *sqlread.Statement) bool {
	if st.Count {
		return true
	}
	var fixed []string
	for _, t := range p.conjuncts(st) {
		if t.Op == sqlread.Eq && !t.Not && t.Left >= 0 && t.Right < 0 && t.To == t.From+1 {
			fixed = append(fixed, st.Columns[t.Left].Name.String())
		}
	}
	for _, place := range st.Order {
		if place >= 0 {
			fixed = append(fixed, st.Columns[place].Name.String())
		}
	}
	return slices.ContainsFunc(p.rel.Unique, func(key []string) bool {
		return !slices.ContainsFunc(key, func(c string) bool { return !slices.Contains(fixed, c) })
	})
}

// conjuncts returns conditions of which each must hold, as far as they stand in no OR.
func (p *plan) conjuncts(st *sqlread.Statement) (list []sqlread.Term) {
	var within func(from, to int)
	within = func(from, to int) {
		for i := from; i < to; i = st.Where[i].End {
			switch t := st.Where[i]; {
			case t.Op == sqlread.And, t.Op == sqlread.Or && !t.Not && st.Where[i+1].End == t.End:
				within(i+1, t.End)
			case t.Op == sqlread.Or:
			default:
				list = append(list, t)
			}
		}
	}
	within(0, len(st.Where))
	return list
}
