package sqlite

import (
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// TestSQLite_JSONThatIsStoredAsBytes is about what jsonb() makes: it is read as JSON, stays
// bytes when the row is written, and other bytes are what they were.
func TestSQLite_JSONThatIsStoredAsBytes(t *testing.T) {
	path, c := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY, j json)",
		`INSERT INTO a VALUES (1, jsonb('{"a": [1, null, "é"]}')), (2, '{"a": 1}'), (3, X'616263'),
			(4, NULL), (5, 7)`)
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Name: "a", Table: "a"}).(*plan)
	for key, want := range map[string]string{
		"1": `{"id":1,"j":{"a":[1,null,"é"]}}`, "2": `{"id":2,"j":{"a": 1}}`, "3": `{"id":3,"j":"YWJj"}`,
		"4": `{"id":4,"j":null}`, "5": `{"id":5,"j":7}`,
	} {
		before := text(t, c, "SELECT typeof(j) || quote(j) FROM a WHERE id = "+key)
		if _, got := load(t, p, row.Key(key)); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
		if key == "3" { // that these are no text is for Input.Keep to see
			continue
		}
		in, err := p.Shape().DecodeJSON([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: row.Key(key), Input: in})
		if after := text(t, c, "SELECT typeof(j) || quote(j) FROM a WHERE id = "+key); err != nil ||
			after != before {
			t.Errorf("%s: written back: %v, %s, was %s", key, err, after, before)
		}
	}
	in, err := p.Shape().DecodeJSON([]byte(`{"id":1,"j":{"b":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1", Input: in}); err != nil {
		t.Fatal(err)
	}
	if got := text(t, c, "SELECT typeof(j) || json(j) FROM a WHERE id = 1"); got != `blob{"b":2}` {
		t.Errorf("changed to %s", got)
	}
}
