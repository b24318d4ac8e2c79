package sqlite

import (
	"context"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// What is run without a way to end it is what steps from row to row by an index, and
// what changes one row and nothing else.
func TestBrief_IsJudgedBySchema(t *testing.T) {
	const parent = "CREATE TABLE p (id integer PRIMARY KEY, code text UNIQUE, n integer)"
	const child = "CREATE TABLE c (id integer PRIMARY KEY, p integer, n integer)"
	const trigger = " AFTER UPDATE ON P BEGIN SELECT 1; END"
	for name, tc := range map[string]struct {
		more, order  string
		read, update bool
	}{
		"an index":             {"CREATE INDEX x ON c (p)", "", true, true},
		"none":                 {"", "", false, true},
		"an index of some":     {"CREATE INDEX x ON c (p) WHERE n > 0", "", false, true},
		"another order":        {"CREATE INDEX x ON c (p)", "n", false, true},
		"an index in order":    {"CREATE INDEX x ON c (p, n)", "n", true, true},
		"a trigger":            {"CREATE TRIGGER x" + trigger, "", false, false},
		"the log's trigger":    {"CREATE TRIGGER hotrow_p_update" + trigger, "", false, true},
		"refers to the key":    {"CREATE TABLE r (p REFERENCES p)", "", false, true},
		"refers to another":    {"CREATE TABLE r (p REFERENCES p (code))", "", false, false},
		"refers in other case": {"CREATE TABLE r (p REFERENCES P (CODE))", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := newFile(t, "WAL", parent, child, tc.more)
			s := openTest(t, path, Options{})
			cs := source.Embed{Name: "cs", On: []string{"p"}, Spec: &source.Spec{Table: "c"}}
			if tc.order != "" {
				cs.Order = []string{tc.order}
			}
			p := compile(t, s, &source.Spec{Table: "p", Embeds: []source.Embed{cs}}).(*plan)
			if got := isBrief(p.Root.Kids[0]).read; got != tc.read {
				t.Errorf("read of children brief: %v", got)
			}
			if got := isBrief(p.Root).update; got != tc.update {
				t.Errorf("update brief: %v", got)
			}
		})
	}
}

// What may take long is ended with its context.
func TestBrief_WhatIsNotEnds(t *testing.T) {
	const endless = `(SELECT count(*) FROM
		(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n))`
	path, c := newFile(t, "WAL", "CREATE TABLE p (id integer PRIMARY KEY, n integer)",
		"INSERT INTO p VALUES (1, 1)")
	s := openTest(t, path, Options{})
	write := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		p := compile(t, s, &source.Spec{Table: "p"})
		in, err := p.Shape().DecodeJSON([]byte(`{"id": 1, "n": 2}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Write(ctx, &source.Write{Op: source.OpReplace, Key: "1", Input: in})
		return err
	}
	if err := write(time.Minute); err != nil {
		t.Fatal(err)
	}
	run(t, c, "CREATE TRIGGER slow AFTER UPDATE ON p BEGIN SELECT "+endless+"; END")
	if err := write(50 * time.Millisecond); source.ClassOf(err) != source.Busy {
		t.Errorf("a write that triggers what never ends: %v, want class Busy", err)
	}
	run(t, c, "DROP TRIGGER slow")
	if err := write(time.Minute); err != nil {
		t.Errorf("after it: %v", err)
	}
}
