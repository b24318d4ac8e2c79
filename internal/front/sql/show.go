package sqlfront

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/hotrow/hotrow/internal/front"
)

// SHOW hotrow.statements is a simple query that hotrow answers itself. It tells what other roles
// run, so it is for those who see that in pg_stat_statements. Only the server knows who they are:
// hotrow asks it in place of the statement, and puts the statements in the place of its answer.

// showTexts are the ways to write it.
var showTexts = []string{"SHOW hotrow.statements", "SHOW hotrow.statements;",
	"show hotrow.statements", "show hotrow.statements;"}

// isShow reports whether bytes of a client are the statement, and nothing else.
func isShow(p []byte) bool {
	return len(p) > headSize && p[0] == msgQuery &&
		int(binary.BigEndian.Uint32(p[1:])) == len(p)-1 && p[len(p)-1] == 0 &&
		slices.ContainsFunc(showTexts, func(text string) bool { // which makes no copy
			return string(p[headSize:len(p)-1]) == text
		})
}

// askRole asks whether the session's role may see what other roles run.
var askRole = question("SELECT pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE')")

// rowTrue is the DataRow of who may.
const rowTrue = "\x00\x01\x00\x00\x00\x01\x01"

// mayNot is what others hear.
var mayNot = appendError(nil, "ERROR", &fault{state: stateRight,
	text: "only roles with the privileges of pg_read_all_stats may see the statements"})

// shown is a column of the answer, in text format.
type shown struct {
	name string
	oid  uint32
	size int16 // of the type, in bytes; -1: it has none
	text func(*Statement) string
}

// The types of columns.
const (
	oidText   = 25
	oidInt8   = 20
	oidFloat8 = 701
)

func number(name string, of func(*Statement) uint64) shown {
	return shown{name, oidInt8, 8,
		func(s *Statement) string { return strconv.FormatUint(of(s), 10) }}
}

// shownColumns are those of /-/sql.
var shownColumns = []shown{
	{"shape", oidText, -1, func(s *Statement) string { return s.Shape }},
	{"reason", oidText, -1, func(s *Statement) string { return s.Reason }},
	number("count", func(s *Statement) uint64 { return s.Count }),
	number("in_transaction", func(s *Statement) uint64 { return s.Within }),
	{"seconds", oidFloat8, 8, func(s *Statement) string { return seconds(s.Took.Seconds()) }},
	number("looks", func(s *Statement) uint64 { return s.Memory.Looks }),
	number("hits", func(s *Statement) uint64 { return s.Memory.Hits }),
	number("uncompared", func(s *Statement) uint64 { return s.Memory.Uncompared }),
	number("older", func(s *Statement) uint64 { return s.Memory.Older }),
	number("wrong", func(s *Statement) uint64 { return s.Memory.Wrong }),
	{"saved", oidFloat8, 8,
		func(s *Statement) string { return seconds(s.Memory.Saved.Seconds()) }},
	{"passed", oidText, -1, func(s *Statement) string { return s.Memory.Refused }},
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 6, 64) }

// show answers with the statements, those first of which memory would save most time: as many as
// may be on their way.
func (s *shapes) show() []byte {
	list := s.statements()
	slices.SortStableFunc(list, func(a, b Statement) int {
		return cmp.Compare(b.Memory.Saved, a.Memory.Saved)
	})
	b, at := beginMessage(nil, msgRowDescription)
	b = binary.BigEndian.AppendUint16(b, uint16(len(shownColumns)))
	for _, c := range shownColumns {
		b = append(append(b, c.name...), 0, 0, 0, 0, 0, 0, 0)
		b = binary.BigEndian.AppendUint32(b, c.oid)
		b = binary.BigEndian.AppendUint16(b, uint16(c.size))
		b = append(b, 0xff, 0xff, 0xff, 0xff, 0, 0)
	}
	b = endMessage(b, at)
	for i := range list {
		row := list[i].appendRow(nil)
		if len(b)+len(row) > front.SQLChunk {
			break
		}
		b = append(b, row...)
	}
	b, at = beginMessage(b, msgComplete)
	return endMessage(append(b, "SHOW\x00"...), at)
}

// appendRow appends the DataRow of a statement.
func (s *Statement) appendRow(b []byte) []byte {
	b, at := beginMessage(b, msgDataRow)
	b = binary.BigEndian.AppendUint16(b, uint16(len(shownColumns)))
	for _, c := range shownColumns {
		text := c.text(s)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	return endMessage(b, at)
}

// beginMessage begins a message. endMessage wants at.
func beginMessage(b []byte, kind byte) (begun []byte, at int) {
	return append(b, kind, 0, 0, 0, 0), len(b)
}

// endMessage writes the length of the message that has begun at a place.
func endMessage(b []byte, at int) []byte {
	binary.BigEndian.PutUint32(b[at+1:], uint32(len(b)-at-1))
	return b
}

// shows takes bytes of the client that are the statement, if nothing is under way. It returns what
// goes to the server in their place; nil: they do.
func (t *track) shows(p []byte) []byte {
	if t.observer == nil || t.failed || !t.rests() || !isShow(p) {
		return nil
	}
	t.asked = swallower{active: true, shows: true}
	t.observer.names.forget("") // as each simple query
	t.waiting, t.bySync = t.waiting+1, false
	return askRole
}

// shown ends the answer to askRole with hotrow's own to the statement.
func (t *track) shown() {
	a := &t.asked
	switch {
	case len(a.failed) > 0:
		t.pieces = append(t.pieces, a.failed)
	case string(a.row) == rowTrue:
		t.pieces = append(t.pieces, t.observer.shapes.show())
	default:
		t.pieces = append(t.pieces, mayNot)
	}
	t.pieces = append(t.pieces, []byte{msgReady, 0, 0, 0, headSize, a.status})
	t.idle, t.failed = a.status == 'I', a.status == 'E'
	t.waiting--
	t.groups++
}
