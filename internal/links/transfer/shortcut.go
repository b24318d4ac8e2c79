package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The tables of the program shortcut (github.com/davidkroell/shortcut) with their
// columns in order. Numbers may be texts: an old version had UUIDs.
var shortcutTables = map[string][]string{
	"Users": {"ID", "Email", "Firstname", "Lastname", "passwordHash", "CreatedAt", "UpdatedAt",
		"LastLogin"},
	"Shortcuts": {"ID", "ShortIdentifier", "RedirectURL", "RedirectStatus", "CreatedAt",
		"UpdatedAt", "ValidThru", "UserID"},
	"ShortcutLog": {"ShortcutID", "IPAddress", "UserAgent", "Region", "AccessedAt",
		"ResponseTime"},
}

// A ShortcutSource gives the rows of a table of shortcut, in order: values in the
// order of columns, "" for null. An error of each ends it and is returned.
type ShortcutSource func(table string, columns []string, each func(values []string) error) error

// ShortcutDump returns the source that a dump of mysqldump or phpMyAdmin is, or a
// script of INSERTs as shortcut's -seed takes it. open opens it from its beginning:
// it is read once for each table.
func ShortcutDump(open func() (io.ReadCloser, error)) ShortcutSource {
	return func(table string, columns []string, each func([]string) error) error {
		in, err := open()
		if err != nil {
			return err
		}
		defer func() { _ = in.Close() }()
		s := &statements{lex: lexer{in: bufio.NewReaderSize(in, 64<<10), line: 1}}
		s.columns = func(name string) []string {
			if strings.EqualFold(name, table) {
				return columns
			}
			return nil
		}
		s.row = func(_ int, named, values []string) error {
			return each(inOrderOf(columns, named, values, s.rows))
		}
		if err := s.read(); err != nil {
			return fmt.Errorf("read %s of the dump at line %d: %w", table, s.lex.line, err)
		}
		return nil
	}
}

// inOrderOf returns the values of a row in the order of columns. A row without its
// ID has the number that AUTO_INCREMENT gives the n-th.
func inOrderOf(columns, named, values []string, n int) []string {
	out := make([]string, len(columns))
	hasID := false
	for i, v := range values {
		for at, c := range columns {
			if i < len(named) && strings.EqualFold(c, named[i]) {
				out[at] = strings.TrimRight(v, "\x00") // of BINARY
				hasID = hasID || at == 0
			}
		}
	}
	if !hasID && columns[0] == "ID" {
		out[0] = strconv.Itoa(n)
	}
	return out
}

// A Moved is the answer to a line of users, links or clicks.
type Moved struct {
	Status int    `json:"status"`
	ID     int64  `json:"id"`
	Detail string `json:"detail"`
}

// A MoveReport says what has come over from shortcut.
type MoveReport struct {
	Users, Links, Off, Hits int       // Off: of the links, those that had expired
	Refused                 []Refusal // Line is the number of the row
	More                    int       // refusals beyond maxRefused
}

// A Move takes over what shortcut has: its users with the hashes of their passwords,
// their links, and its log of hits, as clicks.
type Move struct {
	From ShortcutSource
	Now  time.Time
	Dry  bool // links are checked and nothing is stored

	// Send gives lines of NDJSON to a path of the API, such as "users", and returns
	// an answer for each.
	Send func(ctx context.Context, path string, lines []byte) ([]Moved, error)

	report MoveReport
	users  map[string]int64 // the numbers that they have now
	links  map[string]int64
}

// Run does it, and returns what was done even when it ends with an error.
func (m *Move) Run(ctx context.Context) (*MoveReport, error) {
	m.users, m.links = map[string]int64{}, map[string]int64{}
	for _, step := range []func(context.Context) error{m.moveUsers, m.moveLinks, m.moveHits} {
		if err := step(ctx); err != nil {
			return &m.report, err
		}
	}
	return &m.report, nil
}

// table sends the rows of a table to a path, by line, and has done look at each
// answer. A row of which line makes nothing is left out.
func (m *Move) table(ctx context.Context, name, path string, line func(v []string) any,
	done func(v []string, row int, a Moved),
) error {
	columns := shortcutTables[name]
	var rows [][]string
	var at []int
	var lines []byte
	n := 0
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		answers, err := m.Send(ctx, path, lines)
		for i, a := range answers[:min(len(answers), len(rows))] {
			done(rows[i], at[i], a)
		}
		if err == nil && len(answers) < len(rows) {
			err = fmt.Errorf("the server has answered %d of %d", len(answers), len(rows))
		}
		rows, at, lines = rows[:0], at[:0], lines[:0]
		if err != nil {
			return fmt.Errorf("send %s up to row %d: %w", name, n, err)
		}
		return nil
	}
	err := m.From(name, columns, func(v []string) error {
		n++
		doc := line(v)
		if doc == nil {
			return nil
		}
		text, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		rows, at, lines = append(rows, v), append(at, n), append(append(lines, text...), '\n')
		if len(rows) < batchLinks {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// refuse notes that a row was not taken.
func (m *Move) refuse(row int, what string, a Moved) {
	if len(m.report.Refused) == maxRefused {
		m.report.More++
		return
	}
	reason := a.Detail
	if reason == "" {
		reason = http.StatusText(a.Status)
	}
	m.report.Refused = append(m.report.Refused, Refusal{Line: row, Code: what, Reason: reason})
}

// moveUsers takes users over. One whose address somebody has is that user.
func (m *Move) moveUsers(ctx context.Context) error {
	line := func(v []string) any {
		id, _ := strconv.ParseInt(v[0], 10, 64) // a UUID has no number, and gets one
		if m.Dry {
			m.users[v[0]] = id
			m.report.Users++
			return nil
		}
		return map[string]any{"id": id, "email": v[1], "first_name": v[2], "last_name": v[3],
			"password": v[4], "created_at": timeOf(v[5]), "last_login": timeOf(v[7])}
	}
	return m.table(ctx, "Users", "users", line, func(v []string, row int, a Moved) {
		if a.ID != 0 {
			m.users[v[0]] = a.ID
		}
		if a.Status == http.StatusCreated {
			m.report.Users++
		} else {
			m.refuse(row, v[1], a)
		}
	})
}

// moveLinks takes links over. shortcut followed one whose validThru had passed all the
// same: it is kept, and off.
func (m *Move) moveLinks(ctx context.Context) error {
	path := "links?keep=1"
	if m.Dry {
		path += "&dry_run=1"
	}
	off := map[string]bool{}
	line := func(v []string) any {
		id, _ := strconv.ParseInt(v[0], 10, 64)
		doc := map[string]any{"id": id, "code": v[1], "url": v[2], "created_at": timeOf(v[4])}
		if status, err := strconv.Atoi(v[3]); err == nil && status != 0 {
			doc["status"] = status
		}
		if until := timeOf(v[6]); until != nil && until.Year() > 1970 {
			doc["expires_at"] = until
			if off[v[0]] = until.Before(m.Now); off[v[0]] {
				doc["enabled"] = false
			}
		}
		if user := m.users[v[7]]; user != 0 {
			doc["owner"] = "user:" + strconv.FormatInt(user, 10)
		}
		return doc
	}
	return m.table(ctx, "Shortcuts", path, line, func(v []string, row int, a Moved) {
		if a.Status != http.StatusCreated {
			m.refuse(row, v[1], a)
			return
		}
		m.links[v[0]] = a.ID
		m.report.Links++
		if off[v[0]] {
			m.report.Off++
		}
	})
}

// moveHits takes the hits of those links over that have come over now: a second run
// counts none twice.
func (m *Move) moveHits(ctx context.Context) error {
	line := func(v []string) any {
		link, moved := m.links[v[0]]
		at := timeOf(v[4])
		if !moved || at == nil {
			return nil
		}
		if m.Dry {
			m.report.Hits++
			return nil
		}
		return map[string]any{"link": link, "at": at, "agent": v[2], "ip": v[1]}
	}
	return m.table(ctx, "ShortcutLog", "clicks", line, func(v []string, row int, a Moved) {
		if a.Status == http.StatusCreated {
			m.report.Hits++
		} else {
			m.refuse(row, v[1], a)
		}
	})
}

// timeOf reads a DATETIME, as UTC; nil: there is none.
func timeOf(text string) *time.Time {
	t, err := parseTime(text)
	if err != nil {
		return nil
	}
	return t
}
