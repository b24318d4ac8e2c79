package sqlread

// A Table is what a catalogue says of a table.
type Table struct {
	Columns []string // names, as the database stores them
	Types   []uint32 // the OIDs of their types
}

// Find returns the place of a column; -1: the table has none of that name.
func (t *Table) Find(n Name) int {
	for i, column := range t.Columns {
		if n.Is(column) {
			return i
		}
	}
	return -1
}

// Check compares a statement that Read found Eligible with its table, and with the types that the
// server gives its parameters, by their numbers. It returns Eligible, or why memory cannot answer.
//
// Every name must be a column: if it is none, the server may take t.f for the call of a function,
// and t for the whole row. Every type must be on the list of this package. No text may stand for
// another time at each reading; a parameter's text has the same rule: see Value.IsTime.
func (s *Statement) Check(t *Table, params []uint32) Reason {
	if s.Star {
		for _, oid := range t.Types {
			if typesByOID[oid] == nil {
				return ColumnType
			}
		}
	}
	for _, c := range s.Columns {
		if c.Name.IsEmpty() {
			continue // q.*
		}
		i := t.Find(c.Name)
		switch {
		case i < 0:
			return NoColumn
		case typesByOID[t.Types[i]] == nil:
			return ColumnType
		}
	}
	for i := range s.Values {
		if why := s.Values[i].check(params); why != Eligible {
			return why
		}
	}
	for i := range s.Where {
		if s.IsTimed(&s.Where[i], t, params) && !s.timeTexts(&s.Where[i]) {
			return TimeText
		}
	}
	return Eligible
}

// check checks what a value says of itself.
func (v *Value) check(params []uint32) Reason {
	switch {
	case v.Kind == Parameter && (v.Param > len(params) || typesByOID[params[v.Param-1]] == nil):
		return ParameterType
	case v.Kind == String && v.timed && !IsTimeText(v.Text):
		return TimeText
	}
	return Eligible
}

// IsTimed reports whether a condition compares dates or times.
func (s *Statement) IsTimed(term *Term, t *Table, params []uint32) bool {
	if term.Op <= And {
		return false
	}
	for _, place := range [...]int{term.Left, term.Right} {
		if place >= 0 && typesByOID[t.Types[t.Find(s.Columns[place].Name)]].timed {
			return true
		}
	}
	for i := range s.Values[term.From:term.To] {
		v := &s.Values[term.From+i]
		if v.timed || v.Kind == Parameter && v.IsTime(params) {
			return true
		}
	}
	return false
}

// timeTexts reports whether every string that a condition compares with is the same time at each
// reading.
func (s *Statement) timeTexts(term *Term) bool {
	for i := range s.Values[term.From:term.To] {
		if v := &s.Values[term.From+i]; v.Kind == String && !IsTimeText(v.Text) {
			return false
		}
	}
	return true
}

// IsTime reports whether a Parameter is a date or time, or is cast to one. A text that is bound to
// it must be an IsTimeText.
func (v *Value) IsTime(params []uint32) bool {
	return v.timed || typesByOID[params[v.Param-1]].timed
}

// IsTimeText reports whether a text has only characters of plain dates and times, with which
// nobody can say now, today or tomorrow.
func IsTimeText(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case isDigit(c):
		case c == ' ', c == ':', c == '.', c == '+', c == '-', c == '/', c == 'T', c == 'Z':
		default:
			return false
		}
	}
	return true
}
