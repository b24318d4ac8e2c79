package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
)

const (
	// maxHops is over how many tables a path may lead.
	maxHops = 8

	// maxPath is how long its text may be, in bytes, and maxPathColumns how many columns
	// may be compared at one time.
	maxPath        = 2048
	maxPathColumns = 16

	// MaxLed is how many values the paths of one document lead to, at most, that are told
	// apart; of more it is said that there are too many.
	MaxLed = 1024
)

// A DepPath leads from rows of a table to the documents that they feed, by values that
// columns of one table and of the next have in common.
type DepPath struct {
	Hops []Hop

	// Key are the parts of the key that the last columns are equal to, by their names;
	// nil: the whole key.
	Key []string
}

// A Hop is one table of a DepPath.
type Hop struct {
	Table string
	In    []string // columns that Out of the hop before are equal to; nil of the first
	Out   []string // columns that lead on; nil of the last: those named like the key's parts
}

// Tables returns the names of the tables of p, each once.
func (p *DepPath) Tables() []string {
	var list []string
	for _, h := range p.Hops {
		if !slices.Contains(list, h.Table) {
			list = append(list, h.Table)
		}
	}
	return list
}

// Ends returns which parts of a key of these names the path ends at, and the columns of the
// last table that are equal to them.
func (p *DepPath) Ends(key []string) (parts []int, columns []string, err error) {
	names := p.Key
	if names == nil {
		names = key
	}
	for _, name := range names {
		part := slices.Index(key, name)
		if part < 0 {
			return nil, nil, fmt.Errorf("%s is no part of the key, which is %s%s", name,
				strings.Join(key, ", "), row.DidYouMean(name, key))
		}
		parts = append(parts, part)
	}
	last := &p.Hops[len(p.Hops)-1]
	if columns = last.Out; columns == nil {
		columns = names
	}
	if len(columns) != len(names) {
		return nil, nil, fmt.Errorf("%s and the key's %s are compared with each other: as many"+
			" must be on both sides", columnsText(last.Table, columns), strings.Join(names, ", "))
	}
	return parts, columns, nil
}

// Holds returns the column that has a part of a key of these names; ok is false where d names
// none.
func (d *Dep) Holds(key []string, part int) (table, column string, ok bool) {
	if d.Path == nil {
		if len(d.Columns) != len(key) {
			return "", "", false
		}
		return d.Table, d.Columns[part], true
	}
	parts, columns, err := d.Path.Ends(key)
	at := slices.Index(parts, part)
	if err != nil || at < 0 {
		return "", "", false
	}
	return d.Path.Hops[len(d.Path.Hops)-1].Table, columns[at], true
}

// String returns the text that ParsePath reads.
func (p *DepPath) String() string {
	var b strings.Builder
	column := func(table string, names []string) {
		quoted := make([]string, len(names))
		for i, n := range names {
			quoted[i] = quotePath(n)
		}
		parts := strings.Split(table, ".")
		for i, part := range parts {
			parts[i] = quotePath(part)
		}
		list := strings.Join(quoted, ", ")
		if len(names) != 1 {
			list = "(" + list + ")"
		}
		b.WriteString(strings.Join(parts, ".") + "." + list + " -> ")
	}
	for _, h := range p.Hops {
		for _, names := range [][]string{h.In, h.Out} {
			if names != nil {
				column(h.Table, names)
			}
		}
	}
	key := p.Key
	if key == nil {
		key = []string{"key"}
	}
	parts := make([]string, len(key))
	for i, k := range key {
		parts[i] = ":" + quotePath(k)
	}
	if len(parts) == 1 {
		b.WriteString(parts[0])
	} else {
		b.WriteString("(" + strings.Join(parts, ", ") + ")")
	}
	return b.String()
}

// quotePath writes a name as a path has it.
func quotePath(name string) string {
	if name != "" && bareEnd(name) == len(name) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// ParsePath reads a path such as
//
//	statuses.account_id -> follows.target_id -> follows.account_id -> :key
//
// An arrow between columns of two tables says that they are equal, and one between columns
// of one table that a row has both: after the first column they come in pairs. Of the last
// pair the second may be left out: it is the column named like the part of the key. Several
// columns are (a, b); a name that needs it is quoted as in SQL. The parts of the key are
// their names, or key for all of them.
func ParsePath(text string) (*DepPath, error) {
	if len(text) > maxPath {
		return nil, fmt.Errorf("a path has at most %d bytes", maxPath)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("a path is UTF-8")
	}
	s := &pathScanner{text: text}
	var columns []Hop // each with Out alone
	for {
		s.space()
		if c := s.peek(); c == ':' || c == '(' {
			break
		}
		h, err := s.column()
		if err != nil {
			return nil, err
		}
		columns = append(columns, h)
		if !s.accept("->") {
			return nil, s.errorf("want -> and the next column, or :key")
		}
	}
	if len(columns) == 0 {
		return nil, s.errorf("want a column, such as statuses.account_id")
	}
	p := &DepPath{}
	var err error
	if p.Key, err = s.key(); err != nil {
		return nil, err
	}
	if s.space(); s.at < len(text) {
		return nil, s.errorf("nothing follows the key")
	}
	if p.Hops, err = paired(columns); err != nil {
		return nil, err
	}
	if err := p.bounds(); err != nil {
		return nil, err
	}
	return p, nil
}

// paired makes hops of the columns of a path.
func paired(columns []Hop) ([]Hop, error) {
	hops := columns[:1:1]
	for rest := columns[1:]; len(rest) > 0; {
		in := rest[0]
		h := Hop{Table: in.Table, In: in.Out}
		if rest = rest[1:]; len(rest) > 0 {
			out := rest[0]
			if out.Table != in.Table {
				return nil, fmt.Errorf("%s is followed by %s, of another table: after the first"+
					" column they come in pairs of one table, such as %[1]s -> %[3]s.COLUMN ->"+
					" %[2]s", in, out, in.Table)
			}
			h.Out, rest = out.Out, rest[1:]
		}
		hops = append(hops, h)
	}
	return hops, nil
}

// bounds refuses what is too long, or can lead nowhere.
func (p *DepPath) bounds() error {
	if len(p.Hops) > maxHops {
		return fmt.Errorf("it leads over %d tables, at most %d", len(p.Hops), maxHops)
	}
	for i, h := range p.Hops {
		if n := max(len(h.In), len(h.Out)); n > maxPathColumns {
			return fmt.Errorf("%d columns of %s are compared, at most %d", n, h.Table,
				maxPathColumns)
		}
		if i > 0 && len(h.In) != len(p.Hops[i-1].Out) {
			return fmt.Errorf("%s and %s are compared with each other: as many columns must be on"+
				" both sides", columnsText(p.Hops[i-1].Table, p.Hops[i-1].Out),
				columnsText(h.Table, h.In))
		}
	}
	last := p.Hops[len(p.Hops)-1]
	if last.Out != nil && p.Key != nil && len(last.Out) != len(p.Key) {
		return fmt.Errorf("%s and the key's %s are compared with each other: as many must be on"+
			" both sides", columnsText(last.Table, last.Out), strings.Join(p.Key, ", "))
	}
	return nil
}

// columnsText is columns of a table, for people.
func columnsText(table string, names []string) string {
	if len(names) == 1 {
		return table + "." + names[0]
	}
	return table + ".(" + strings.Join(names, ", ") + ")"
}

// String returns Out, for people.
func (h Hop) String() string { return columnsText(h.Table, h.Out) }

// A pathScanner reads the text of a path.
type pathScanner struct {
	text string
	at   int
}

func (s *pathScanner) errorf(format string, args ...any) error {
	rest := s.text[s.at:]
	if len(rest) > 20 {
		rest = strings.ToValidUTF8(rest[:20], "") + "..."
	}
	where := "at the end"
	if rest != "" {
		where = fmt.Sprintf("at %q", rest)
	}
	return fmt.Errorf(format+", "+where, args...)
}

func (s *pathScanner) space() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// peek returns the next byte, 0 at the end.
func (s *pathScanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// accept passes over token if it is the next, after blanks.
func (s *pathScanner) accept(token string) bool {
	s.space()
	if !strings.HasPrefix(s.text[s.at:], token) {
		return false
	}
	s.at += len(token)
	return true
}

// bareEnd returns where a name that is not quoted ends.
func bareEnd(text string) int {
	for i, r := range text {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`.,():"`, r) ||
			strings.HasPrefix(text[i:], "->") {
			return i
		}
	}
	return len(text)
}

// name reads one name.
func (s *pathScanner) name(what string) (string, error) {
	s.space()
	if s.peek() != '"' {
		n := bareEnd(s.text[s.at:])
		if n == 0 {
			return "", s.errorf("want %s", what)
		}
		s.at += n
		return s.text[s.at-n : s.at], nil
	}
	var b strings.Builder
	for i := s.at + 1; i < len(s.text); i++ {
		switch {
		case s.text[i] != '"':
			b.WriteByte(s.text[i])
		case strings.HasPrefix(s.text[i:], `""`):
			b.WriteByte('"')
			i++
		case b.Len() == 0:
			return "", s.errorf("a name is not empty")
		default:
			s.at = i + 1
			return b.String(), nil
		}
	}
	return "", s.errorf("a quote is not closed")
}

// names reads (a, b), the opening parenthesis of which is read.
func (s *pathScanner) names(what, before string) (list []string, err error) {
	for {
		if before != "" && !s.accept(before) {
			return nil, s.errorf("want %s", what)
		}
		n, err := s.name(what)
		if err != nil {
			return nil, err
		}
		if slices.Contains(list, n) {
			return nil, fmt.Errorf("%q is named twice", n)
		}
		list = append(list, n)
		if s.accept(")") {
			return list, nil
		}
		if !s.accept(",") {
			return nil, s.errorf("want a comma or a closing parenthesis")
		}
	}
}

// column reads table.column, of a table that may have a schema.
func (s *pathScanner) column() (Hop, error) {
	var parts []string
	for {
		if len(parts) > 0 && s.accept("(") {
			names, err := s.names("a column", "")
			if err != nil {
				return Hop{}, err
			}
			return hopOf(parts, names)
		}
		what := "a column of " + strings.Join(parts, ".")
		if len(parts) == 0 {
			what = "a table and its column, such as statuses.account_id, or :key"
		}
		n, err := s.name(what)
		if err != nil {
			return Hop{}, err
		}
		if parts = append(parts, n); s.accept(".") {
			continue
		}
		if len(parts) == 1 {
			return Hop{}, s.errorf("want a column of %s: %[1]s.COLUMN", parts[0])
		}
		last := len(parts) - 1
		return hopOf(parts[:last], parts[last:])
	}
}

// hopOf returns columns of a table.
func hopOf(table, columns []string) (Hop, error) {
	name := strings.Join(table, ".")
	if strings.Count(name, ".") > 1 {
		return Hop{}, fmt.Errorf("%s: a table has a name, perhaps a schema, and no more", name)
	}
	return Hop{Table: name, Out: columns}, nil
}

// key reads :key, :name or (:a, :b).
func (s *pathScanner) key() ([]string, error) {
	if s.accept("(") {
		return s.names("a part of the key, such as :id", ":")
	}
	if !s.accept(":") {
		return nil, s.errorf("want :key")
	}
	n, err := s.name("the name of a part of the key")
	if err != nil || n == "key" {
		return nil, err
	}
	return []string{n}, nil
}
