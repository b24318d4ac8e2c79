package sqlcache

import (
	"encoding/binary"
	"slices"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/sqlread"
)

// Where the feed does not tell what a row was, an answer depends on the rows that it is made of by
// their keys, which are found in it. The row behind a LIMIT does not count: the answer does not
// tell whether there is one.

// A place says where an answer has a column of the key.
type place struct {
	at     int // among its columns
	family uint32
	binary bool
}

// named are the rows of an answer that is on its way.
type named struct {
	rows    *resource.Rows // nil: the answer does not depend on them by their keys
	places  []place
	columns int  // of the answer
	lost    bool // one of them could not be named
}

// places returns where the answer to an Ask has the columns of the key, and how many columns it
// has; nil: it does not have them all, or depends on rows that are not in it.
func (p *plan) places(a *Ask, key []string) (list []place, columns int) {
	st := a.Reading.st
	if len(key) == 0 || st.Count || st.Offset >= 0 {
		return nil, 0
	}
	var types []uint32
	at := make([]int, len(key))
	for i := range at {
		at[i] = -1
	}
	sees := func(column int) {
		if i := slices.Index(key, p.rel.types.Columns[column]); i >= 0 {
			at[i] = len(types)
		}
		types = append(types, p.rel.types.Types[column])
	}
	for _, item := range st.Items {
		switch item {
		case sqlread.AllColumns:
			for i := range p.rel.types.Columns {
				sees(i)
			}
		case sqlread.NoItem:
			types = append(types, 0)
		default:
			sees(p.rel.types.Find(st.Columns[item].Name))
		}
	}
	list = make([]place, len(key))
	for i, n := range at {
		if n < 0 || familyOf(types[n]) == 0 {
			return nil, 0
		}
		list[i] = place{n, familyOf(types[n]), a.isBinary(n, len(types))}
	}
	return list, len(types)
}

// isBinary reports whether one of so many columns is wanted in binary format.
func (a *Ask) isBinary(column, columns int) bool {
	if len(a.Results) < 2 {
		return false // of a simple query
	}
	switch n, codes := int(binary.BigEndian.Uint16(a.Results)), a.Results[2:]; {
	case len(codes) < 2*n:
	case n == 1:
		return codes[1] == 1
	case n == columns:
		return codes[2*column+1] == 1
	}
	return false
}

// add adds the row of a DataRow.
func (n *named) add(body []byte) {
	if n.rows == nil || n.lost {
		return
	}
	fields := dataRow(body)
	n.lost = len(fields) != n.columns
	parts := make([]string, len(n.places))
	for i := 0; i < len(parts) && !n.lost; i++ {
		var ok bool
		parts[i], ok = n.places[i].text(fields)
		n.lost = !ok
	}
	n.lost = n.lost || !n.rows.Add(parts)
}

// text returns the text of a column of the key.
func (p *place) text(fields [][]byte) (string, bool) {
	v := fields[p.at]
	if v == nil {
		return "", false
	}
	switch text := string(v); p.family {
	case oidInt8:
		return intText(text, p.binary)
	case oidUUID:
		return uuidText(text, p.binary)
	default:
		return text, isASCII(text)
	}
}

// tags returns what tells of changes of the rows.
func (n *named) tags() []fresh.Tag {
	switch {
	case n.rows == nil:
		return nil
	case n.lost:
		return n.rows.Whole()
	}
	return n.rows.Tags()
}
