package sqlcache

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/sqlread"
)

// The types by whose values rows are told apart.
const (
	oidInt8    = 20
	oidInt2    = 21
	oidInt4    = 23
	oidText    = 25
	oidVarchar = 1043
	oidUUID    = 2950
)

// conditions returns conditions that every row which a statement finds meets, as far as they tell
// rows apart: comparisons with values whose texts are those of the column.
func (c *Cache) conditions(
	of *resource.Freshness, p *plan, f *Fingerprint, st *sqlread.Statement,
) []query.Term {
	t := of.TableOf(p.rel.id)
	if t == nil || len(st.Where) == 0 {
		return nil
	}
	b := conditionsOf{t: t, p: p, f: f, st: st}
	return b.group(0, st.Where[0].End)
}

// A conditionsOf makes conditions of a statement's.
type conditionsOf struct {
	t  *query.Table
	p  *plan
	f  *Fingerprint
	st *sqlread.Statement
}

// group returns what is known of the terms from one place to another, which all hold.
func (b *conditionsOf) group(from, to int) (list []query.Term) {
	for i := from; i < to; i = b.st.Where[i].End {
		switch t := &b.st.Where[i]; {
		case t.Op == sqlread.And:
			list = append(list, b.group(i+1, t.End)...)
		case t.Op == sqlread.Or && !t.Not:
			list = append(list, b.or(i, t.End)...)
		case t.Op > sqlread.And:
			if one, ok := b.term(t); ok {
				list = append(list, one)
			}
		}
	}
	return list
}

// or returns what is known of a group of which one must hold.
func (b *conditionsOf) or(i, end int) []query.Term {
	if b.st.Where[i+1].End == end { // there is one only
		return b.group(i+1, end)
	}
	or := query.Term{Op: query.Or}
	for j := i + 1; j < end; j = b.st.Where[j].End {
		some := b.group(j, b.st.Where[j].End)
		if len(some) == 0 {
			return nil // rows that meet it may be any
		}
		or.Terms = append(or.Terms, query.Term{Op: query.And, Terms: some})
	}
	return []query.Term{or}
}

// term returns one comparison of a column with values.
func (b *conditionsOf) term(t *sqlread.Term) (one query.Term, ok bool) {
	if t.Not || t.Left < 0 || t.Right >= 0 {
		return one, false
	}
	name := b.st.Columns[t.Left].Name
	one.Column = slices.IndexFunc(b.t.Columns, func(c query.Column) bool { return name.Is(c.Name) })
	at := b.p.rel.types.Find(name)
	if one.Column < 0 || at < 0 {
		return one, false
	}
	switch t.Op {
	case sqlread.IsNull:
		one.Op, one.Values = query.Is, []string{"null"}
		return one, true
	case sqlread.Eq:
		one.Op = query.Eq
	case sqlread.In:
		one.Op = query.In
	default:
		return one, false
	}
	part := &b.t.Columns[one.Column].Part
	for i := t.From; i < t.To; i++ {
		text, ok := b.text(&b.st.Values[i], b.p.rel.types.Types[at])
		if !ok {
			return one, false
		}
		if text, err := part.Parse(text); err != nil {
			return one, false
		} else if !slices.Contains(one.Values, text) {
			one.Values = append(one.Values, text)
		}
	}
	return one, len(one.Values) > 0
}

// text returns the text of a value in a column of a type.
func (b *conditionsOf) text(v *sqlread.Value, oid uint32) (string, bool) {
	family := familyOf(oid)
	if family == 0 || v.Casts > 1 || v.Casts == 1 && familyOf(v.Cast) != family {
		return "", false
	}
	text, binary := v.Text, false
	switch v.Kind {
	case sqlread.Number:
		if v.Minus {
			text = "-" + text
		}
		if family != oidInt8 {
			return "", false
		}
	case sqlread.String:
		text = strings.ReplaceAll(text, "''", "'")
	case sqlread.Parameter:
		q := &b.p.params[v.Param-1]
		if q.null || q.oid != 0 && familyOf(q.oid) != family {
			return "", false
		}
		text, binary = string(q.value), q.binary
	default:
		return "", false
	}
	switch family {
	case oidInt8:
		return intText(text, binary)
	case oidUUID:
		return uuidText(text, binary)
	}
	return text, isASCII(text)
}

// familyOf returns a type for all whose values compare as its own do; 0: there is none.
func familyOf(oid uint32) uint32 {
	switch oid {
	case oidInt2, oidInt4, oidInt8:
		return oidInt8
	case oidText, oidVarchar:
		return oidText
	case oidUUID:
		return oidUUID
	}
	return 0
}

func intText(s string, binary bool) (string, bool) {
	if !binary {
		n, err := strconv.ParseInt(s, 10, 64)
		return strconv.FormatInt(n, 10), err == nil && s[0] != '+'
	}
	var n int64
	switch len(s) {
	case 2, 4, 8:
		for i := range len(s) {
			n = n<<8 | int64(s[i])
		}
		shift := 64 - 8*len(s)
		return strconv.FormatInt(n<<shift>>shift, 10), true
	}
	return "", false
}

func uuidText(s string, binary bool) (string, bool) {
	digits := s
	if binary {
		digits = hex.EncodeToString([]byte(s))
	} else if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return "", false
	} else {
		digits = strings.ToLower(s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:])
	}
	if _, err := hex.DecodeString(digits); err != nil || len(digits) != 32 {
		return "", false
	}
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" +
		digits[20:], true
}

// isASCII reports whether a text is the same in every encoding of clients.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
