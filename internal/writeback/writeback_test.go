package writeback

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(dbtest.Wrap(m)) }

// A database is one that the property is tested on.
type database struct {
	src source.Source
	db  *sql.DB // the connection of another program

	// types has every type that a column can have.
	types []columnType
}

// A columnType is a type of the database's catalogue with its sample values.
type columnType struct {
	name   string // what the test is called, and in errors
	column string // the type in a column's definition; "": name
	values []value
	none   string // why there are no sample values; "" fails the test if there are none

	// show is the expression with which the database itself shows what the column
	// "val" holds, bit by bit; %s stands for the column.
	show string

	options string // of its tables, after the parentheses

	required bool // NULL is none of its values

	noKey string // what the source says of a table whose key has this type; "": it can be one
}

// A value is one sample of a type.
type value struct {
	sql string // the expression

	// refused is what the problem says when the document is written back; "": it is
	// taken, and the row is what it was.
	refused   string
	refusedIn string // the formats in which it is refused; "": all

	// inPlace are the formats ("json cbor") whose document is not all that the value
	// is: the row that was read keeps it, another row would not get it.
	inPlace string

	unlisted bool // the value as a key cannot be in a list

	// odd: the value is not what the column is declared for. It may be refused by name, and
	// its row may be missing in lists, but is not changed; another row would not get it.
	odd bool

	noPath string // why the value as a key cannot be in a path; "": it can
}

// plain returns samples of which nothing is special.
func plain(sql ...string) []value {
	values := make([]value, len(sql))
	for i := range sql {
		values[i].sql = sql[i]
	}
	return values
}

// definition returns what follows the name of a column.
func (c *columnType) definition() string {
	if c.column != "" {
		return c.column
	}
	return c.name
}

// rows returns the values of the column: NULL, if it can be, and then the samples.
func (c *columnType) rows() []value {
	if c.required {
		return c.values
	}
	return append(plain("NULL"), c.values...)
}

// exec runs a statement as another program does.
func (d *database) exec(t *testing.T, query string) {
	t.Helper()
	if _, err := d.db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// shown returns how the database shows what it has in column of table, by the
// column "id"; "absent" where there is no row.
func (d *database) shown(t *testing.T, c *columnType, column, table string, id int) string {
	t.Helper()
	show := strings.ReplaceAll(c.show, "%s", column)
	var got sql.NullString
	err := d.db.QueryRowContext(t.Context(),
		fmt.Sprintf("SELECT %s FROM %s WHERE id = %d", show, table, id)).Scan(&got)
	switch {
	case err == sql.ErrNoRows:
		return "absent"
	case err != nil:
		t.Fatalf("%s: show %s: %v", table, c.name, err)
	case !got.Valid:
		return "NULL"
	}
	return got.String
}

// formats are those that documents travel in.
var formats = []row.Format{row.FormatJSON, row.FormatMsgPack, row.FormatCBOR}

// run tests the property on d.
func run(t *testing.T, d *database) {
	s := newSite(t, d)
	for i := range d.types {
		c := &d.types[i]
		if len(c.values) == 0 && c.none == "" {
			t.Errorf("%s: no sample values", c.name)
			continue
		}
		if c.none != "" {
			continue
		}
		t.Run("Value/"+c.name, func(t *testing.T) { s.on(t).values(c, valueTable(i)) })
		t.Run("Embedded/"+c.name, func(t *testing.T) { s.on(t).embedded(c, i) })
		t.Run("Key/"+c.name, func(t *testing.T) { s.on(t).keys(c, keyTable(i)) })
	}
}

func valueTable(i int) string { return fmt.Sprintf("v%d", i) }

func keyTable(i int) string { return fmt.Sprintf("k%d", i) }

// A document of the table of parents has the rows of that of kids.
func parentTable(i int) string { return fmt.Sprintf("p%d", i) }

func kidTable(i int) string { return fmt.Sprintf("c%d", i) }

// values tests every sample of c as the value of a column.
func (s *site) values(c *columnType, table string) {
	s.served(table)
	for i, v := range c.rows() {
		for _, f := range formats {
			s.t.Run(fmt.Sprintf("%s/%s", v.sql, f), func(t *testing.T) {
				s.on(t).value(c, &v, f, table, i)
			})
		}
	}
}

// value reads the row id and writes it back: over itself, and then as a new row.
func (s *site) value(c *columnType, v *value, f row.Format, table string, id int) {
	path := fmt.Sprintf("/%s/%d", table, id)
	before := s.db.shown(s.t, c, "val", table, id)
	read := s.do("GET", path, f, "")
	if read.code != 200 {
		s.t.Fatalf("GET: %d %s", read.code, read.body)
	}
	refused := v.refused
	if v.refusedIn != "" && !strings.Contains(v.refusedIn, f.String()) {
		refused = ""
	}
	if !s.put(path, f, read.body, refused) {
		if after := s.db.shown(s.t, c, "val", table, id); after != before {
			s.t.Errorf("refused, and yet the row was\n%s\nand is\n%s", before, after)
		}
		return
	}
	if after := s.db.shown(s.t, c, "val", table, id); after != before {
		s.t.Errorf("written back, the document %q\nwas\n%s\nis\n%s", read.body, before, after)
		s.restore(c, v, table, id)
	}
	if v.odd || strings.Contains(v.inPlace, f.String()) {
		return
	}
	s.db.exec(s.t, fmt.Sprintf("DELETE FROM %s WHERE id = %d", table, id))
	defer s.restore(c, v, table, id)
	if !s.put(path, f, read.body, "") {
		return
	}
	if after := s.db.shown(s.t, c, "val", table, id); after != before {
		s.t.Errorf("written anew, the document %q\nwas\n%s\nis\n%s", read.body, before, after)
	}
}

// embedded reads and writes back the document that has all samples in it.
func (s *site) embedded(c *columnType, i int) {
	s.served(parentTable(i))
	shown := func() (all []string) {
		for id := range c.rows() {
			all = append(all, s.db.shown(s.t, c, "val", kidTable(i), id))
		}
		return all
	}
	before := shown()
	for _, f := range formats {
		path := "/" + parentTable(i) + "/1"
		read := s.do("GET", path, f, "")
		if read.code != 200 || !s.put(path, f, read.body, "") {
			s.t.Errorf("%s: GET: %d", f, read.code)
		}
		if d := cmp.Diff(before, shown()); d != "" {
			s.t.Errorf("%s: written back:\n%s", f, d)
			return
		}
	}
}

// restore makes the row id what it was at first.
func (s *site) restore(c *columnType, v *value, table string, id int) {
	s.db.exec(s.t, fmt.Sprintf("DELETE FROM %s WHERE id = %d", table, id))
	s.db.exec(s.t, insert(table, id, v))
}

func insert(table string, id int, v *value) string {
	return fmt.Sprintf("INSERT INTO %s (id, val) VALUES (%d, %s)", table, id, v.sql)
}

// put writes a body, which is to be taken, or refused with a sentence in which
// the column and the given words are. It reports whether it was taken.
func (s *site) put(path string, f row.Format, body, refused string) bool {
	s.t.Helper()
	a := s.do("PUT", path, f, body)
	switch {
	case refused != "":
		if a.code < 400 || a.code > 499 || !strings.Contains(a.body, refused) ||
			!strings.Contains(a.body, "val") {
			s.t.Errorf("PUT %q: %d %s\nwant it refused with %q", body, a.code, a.body, refused)
		}
	case a.code != 200 && a.code != 201:
		s.t.Errorf("PUT %q: %d %s", body, a.code, a.body)
	case a.body != body:
		s.t.Errorf("PUT: the answer is\n%q\nthe body was\n%q", a.body, body)
	}
	return a.code < 300
}

// keys tests every sample of c as a key.
func (s *site) keys(c *columnType, table string) {
	if why, ok := s.unserved[table]; ok {
		if why == "" {
			return // the database itself takes no such key
		}
		if c.noKey == "" || !strings.Contains(why, c.noKey) || !strings.Contains(why, "val") {
			s.t.Errorf("a key of this type is refused with %q, want %q", why, c.noKey)
		}
		return
	}
	if c.noKey != "" {
		s.t.Errorf("a key of this type is served, want it refused with %q", c.noKey)
	}
	paths := s.listed(table)
	if all := s.walked(table); all != nil && len(all) != len(paths) {
		s.t.Errorf("pages of one have %d documents, the list has %d", len(all), len(paths))
	}
	for i, v := range c.values {
		if v.unlisted {
			if paths[i] != "" {
				s.t.Errorf("%s is in the list as %s", v.sql, paths[i])
			}
			continue
		}
		if v.odd {
			s.oddKey(i, paths[i])
			continue
		}
		if before := s.db.shown(s.t, c, "val", table, i); before != "absent" {
			s.t.Run(v.sql, func(t *testing.T) { s.on(t).key(c, &v, table, i, paths[i], before) })
		}
	}
}

// oddKey finds the row id by the path that the list has for it, if it has one. No path names the
// empty text.
func (s *site) oddKey(id int, path string) {
	if path == "" {
		return
	}
	a := s.do("GET", path, row.FormatJSON, "")
	if strings.HasSuffix(path, "/") {
		if a.code != 404 || !strings.Contains(a.body, "a document has a key") {
			s.t.Errorf("GET %s: %d %s", path, a.code, a.body)
		}
		return
	}
	if a.code != 200 ||
		!strings.Contains(a.body, fmt.Sprintf(`"id":%d`, id)) {
		s.t.Errorf("GET %s, which is listed: %d %s\nwant the row %d", path, a.code, a.body, id)
	}
}

// key finds the row id by the path that the list has for it, writes it back, makes
// it go, and makes it anew.
func (s *site) key(c *columnType, v *value, table string, id int, path, before string) {
	read := s.do("GET", path, row.FormatJSON, "")
	if v.noPath != "" {
		if read.code < 400 || read.code > 499 || !strings.Contains(read.body, v.noPath) {
			s.t.Errorf("GET %s: %d %s\nwant it refused with %q", path, read.code, read.body, v.noPath)
		}
		return
	}
	if read.code != 200 || !strings.Contains(read.body, fmt.Sprintf(`"id":%d`, id)) {
		s.t.Fatalf("GET %s: %d %s\nwant the row %d", path, read.code, read.body, id)
	}
	s.put(path, row.FormatJSON, read.body, "")
	if after := s.db.shown(s.t, c, "val", table, id); after != before {
		s.t.Errorf("written back, the key was\n%s\nis\n%s", before, after)
	}
	if a := s.do("DELETE", path, row.FormatJSON, ""); a.code != 204 {
		s.t.Errorf("DELETE %s: %d %s", path, a.code, a.body)
	}
	if after := s.db.shown(s.t, c, "val", table, id); after != "absent" {
		s.t.Fatalf("DELETE %s left %s", path, after)
	}
	if a := s.do("GET", path, row.FormatJSON, ""); a.code != 404 {
		s.t.Errorf("GET %s of what is gone: %d %s", path, a.code, a.body)
	}
	a := s.do("POST", "/"+table, row.FormatJSON, read.body)
	if a.code != 201 || a.location != path || a.body != read.body {
		s.t.Errorf("POST %s: %d, Location %q, want %q\n%s", read.body, a.code, a.location, path,
			a.body)
	}
	if after := s.db.shown(s.t, c, "val", table, id); after != before {
		s.t.Errorf("made anew, the key was\n%s\nis\n%s", before, after)
	}
	if a := s.do("GET", path, row.FormatJSON, ""); cmp.Diff(read.body, a.body) != "" {
		s.t.Errorf("GET %s once it is back: %d %s", path, a.code, a.body)
	}
}
