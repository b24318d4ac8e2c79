package sqlite

import (
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A write that changes its row without a look at it says the same as one that looks.
func TestWrite_SaysWhatIsWrongFirst(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY, n integer NOT NULL)",
		"INSERT INTO a VALUES (1, 1)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "a",
		Fields: map[string]source.FieldSpec{"n": {Required: true}}})
	for _, tc := range []struct {
		op        source.Op
		key, body string
		want      source.Class // of the error; Internal, which is 0: none
		created   bool
	}{
		{op: source.OpMerge, key: "2", body: `{"n": null}`, want: source.NoRow},
		{op: source.OpMerge, key: "2", body: `{"n": 5}`, want: source.NoRow},
		{op: source.OpMerge, key: "1", body: `{"n": null}`, want: source.Invalid},
		{op: source.OpMerge, key: "1", body: `{}`},
		{op: source.OpMerge, key: "1", body: `{"n": 2}`},
		{op: source.OpReplace, key: "1", body: `{}`, want: source.Invalid},
		{op: source.OpReplace, key: "3", body: `{}`, want: source.Invalid},
		{op: source.OpReplace, key: "1", body: `{"n": 2}`}, // as it is already
		{op: source.OpReplace, key: "3", body: `{"n": 3}`, created: true},
		{op: source.OpReplace, key: "3", body: `{"n": 4}`},
	} {
		in, err := p.Shape().DecodeJSON([]byte(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		for _, looks := range []bool{false, true} {
			w := &source.Write{Op: tc.op, Key: row.Key(tc.key), Input: in}
			if looks {
				w.Check = func(*source.Loaded) error { return nil }
			}
			out, err := p.Write(t.Context(), w)
			if source.ClassOf(err) != tc.want || (err == nil) != (tc.want == source.Internal) {
				t.Errorf("%v %s of %s, looks %v: %v", tc.op, tc.body, tc.key, looks, err)
			}
			if err == nil && out.Created != (tc.created && !looks) {
				t.Errorf("%v %s of %s, looks %v: created %v", tc.op, tc.body, tc.key, looks, out.Created)
			}
		}
	}
}

// TestWrite_OfARowThatATriggerTakesAway: the transaction is undone, and the client is told.
func TestWrite_OfARowThatATriggerTakesAway(t *testing.T) {
	for trigger, op := range map[string]source.Op{
		"AFTER UPDATE ON a BEGIN UPDATE a SET id = 7 WHERE id = NEW.id; END": source.OpReplace,
		"AFTER UPDATE ON a BEGIN DELETE FROM a WHERE id = NEW.id; END":       source.OpMerge,
		"AFTER INSERT ON a BEGIN DELETE FROM a WHERE id = NEW.id; END":       source.OpCreate,
	} {
		path, _ := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY, n integer)",
			"INSERT INTO a VALUES (1, 1)", "CREATE TRIGGER away "+trigger)
		p := compile(t, openTest(t, path, Options{}), &source.Spec{Table: "a"})
		in, err := p.Shape().DecodeJSON([]byte(`{"n":2}`))
		if err != nil {
			t.Fatal(err)
		}
		key := row.Key("1")
		if op == source.OpCreate {
			key = "2"
		}
		_, err = p.Write(t.Context(), &source.Write{Op: op, Key: key, Input: in})
		if source.ClassOf(err) != source.Conflict || err == nil {
			t.Errorf("%s: %v", trigger, err)
		}
		all, err := p.List(t.Context(), nil, 9)
		if err != nil || len(all) != 1 || all[0].Key != "1" || all[0].Values[1].Int() != 1 {
			t.Errorf("%s: left %+v, %v", trigger, all, err)
		}
	}
}

// TestWrite_OfRowsThatHaveNoKey: SQLite lets a key be NULL. Such a row is in the way of a
// list that would drop it.
func TestWrite_OfRowsThatHaveNoKey(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY, n integer)",
		"CREATE TABLE b (id text PRIMARY KEY, a integer)",
		"INSERT INTO a VALUES (1, 1)", "INSERT INTO b VALUES (NULL, 1)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "a", Embeds: []source.Embed{{Name: "bs",
		On: []string{"a"}, Spec: &source.Spec{Table: "b"}}}})
	in, err := p.Shape().DecodeJSON([]byte(`{"n":2,"bs":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1", Input: in})
	if source.ClassOf(err) != source.Invalid {
		t.Errorf("a list without the row: %v, want an error of class Invalid", err)
	}
	if _, doc := load(t, p, "1"); doc != `{"id":1,"n":1,"bs":[{"id":null,"a":1}]}` {
		t.Errorf("left %s", doc)
	}
}
