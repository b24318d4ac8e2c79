package links

import (
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// along is what a statement of a list walks along.
type along byte

const (
	alongOrder     along = iota // the index of the order
	alongUncounted              // ByClicks: links that have no row of counts, newest first
	alongTag                    // the links of the tag, which are sorted then
	alongBlocks                 // some blocks of numbers, whose links are sorted then
)

// A selection is the rows that a statement reads, and their order.
type selection struct {
	from, order string
	where       []string
	args        []any
}

// String returns what follows the columns of the statement.
func (s *selection) String() string {
	sql := s.from
	if len(s.where) > 0 {
		sql += " WHERE " + strings.Join(s.where, " AND ")
	}
	return sql + " ORDER BY " + s.order
}

// add adds a condition.
func (s *selection) add(where string, args ...any) {
	s.where, s.args = append(s.where, where), append(s.args, args...)
}

// bound bounds two columns that go down together, as a range that an index knows.
func (s *selection) bound(value, id, op string, c *cursor) {
	s.add(fmt.Sprintf("%s %s= ? AND (%s %s ? OR %s %s ?)", value, op[:1], value, op[:1], id, op),
		c.value, c.value, c.id)
}

// place returns the links from behind at to end, nil for no bound, in their order.
// Links that are gathered are compared and sorted by expressions, which no index tempts
// the database to walk along.
func (l *lister) place(along along, at, end *cursor) selection {
	sel := selection{from: fromLinks}
	value, id := "l.created_at", "l.id"
	switch {
	case l.q.Order == ByCode:
		if sel.order = "l.code"; along != alongOrder {
			sel.order = "substr(l.code, 1)"
		}
		if at != nil {
			sel.add(sel.order+" > ?", at.code)
		}
		if end != nil {
			sel.add(sel.order+" <= ?", end.code)
		}
		return sel
	case along == alongUncounted:
		sel.add("s.link_id IS NULL")
		sel.order = "l.id DESC"
		if at != nil {
			sel.add("l.id < ?", at.id)
		}
		if end != nil {
			sel.add("l.id >= ?", end.id)
		}
		return sel
	case l.q.Order == ByClicks && along == alongOrder:
		sel.from = " FROM link_stats s JOIN links l ON l.id = s.link_id"
		value, id = "s.clicks", "s.link_id"
	case l.q.Order == ByClicks:
		value = fmt.Sprintf("coalesce(s.clicks, %d)", noClicks)
	case along != alongOrder:
		value = "(l.created_at + 0)"
	}
	sel.order = value + " DESC, " + id + " DESC"
	if at != nil {
		sel.bound(value, id, "<", at)
	}
	if end != nil {
		sel.bound(value, id, ">=", end)
	}
	return sel
}

// statement is place with the conditions of the query.
func (l *lister) statement(along along, at, end *cursor) selection {
	sel := l.place(along, at, end)
	switch {
	case along == alongTag:
		sel.from = " FROM link_tags t JOIN links l ON l.id = t.link_id" +
			" LEFT JOIN link_stats s ON s.link_id = l.id"
		sel.add("t.tag = ?", l.q.Tag)
	case l.q.Tag != "":
		sel.add("EXISTS (SELECT 1 FROM link_tags t WHERE t.tag = ? AND t.link_id = l.id)",
			l.q.Tag)
	}
	if l.q.Search != "" {
		sel.contains(l.s.DB.Dialect(), l.q.Search)
	}
	if l.q.Owner != "" {
		sel.add("l.owner = ?", l.q.Owner)
	}
	if l.without != 0 {
		sel.add("l.id <> ?", l.without)
	}
	return sel
}

// contains adds the condition that a link has a text in its code, target or title,
// whatever the case of letters that the database folds.
func (s *selection) contains(d source.Dialect, text string) {
	has, spellings := "lower(%s) LIKE lower(?) ESCAPE '!'", []string{text}
	switch {
	case d == source.DialectMySQL: // some columns are of ASCII; accents are told apart
		has = "lower(CONVERT(%s USING utf8mb4)) COLLATE utf8mb4_bin LIKE lower(?) ESCAPE '!'"
	case d == source.DialectSQLite: // whose LIKE folds ASCII letters, and no others
		has = "%s LIKE ? ESCAPE '!'"
		if !isASCII(text) {
			spellings = append(spellings, strings.ToLower(text), strings.ToUpper(text))
		}
	}
	var either []string
	for _, column := range []string{"l.code", "l.url", "l.title"} {
		for _, spelling := range spellings {
			either = append(either, fmt.Sprintf(has, column))
			s.args = append(s.args, "%"+likeEscaper.Replace(spelling)+"%")
		}
	}
	s.where = append(s.where, "("+strings.Join(either, " OR ")+")")
}

// likeEscaper makes the characters that LIKE knows mean themselves.
var likeEscaper = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
