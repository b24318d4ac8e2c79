package resource

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// TestLastChange_OfARow: that of the row, and of no other.
func TestLastChange_OfARow(t *testing.T) {
	h := newHouse(t, nil)
	dept := h.resource("dept")
	last := func(key row.Key) LastChange {
		t.Helper()
		l, ok, err := dept.LastChange(key)
		if err != nil || !ok || l.Since.IsZero() {
			t.Fatalf("%s: %+v, %v, %v", key, l, ok, err)
		}
		return l
	}
	if l := last("10"); !l.At.IsZero() {
		t.Errorf("before any change: %+v", l)
	}
	began := time.Now()
	h.mustWrite("dept", Write{Op: source.OpMerge, Key: "10"}, `{"loc":"X"}`)
	h.until(func() bool { return !last("10").At.IsZero() })
	l := last("010") // another spelling
	if l.At.Before(began) || l.Whole || l.Position.IsZero() {
		t.Errorf("of the row: %+v", l)
	}
	if l := last("20"); !l.At.IsZero() {
		t.Errorf("of another row: %+v", l)
	}
	h.exec("UPDATE dept SET loc = 'Y' WHERE deptno = 10") // of which SQLite tells no row
	h.until(func() bool { return last("20").Whole && last("10").Whole })
	if _, _, err := dept.LastChange("x"); !errors.Is(err, row.ErrKey) {
		t.Errorf("of no key: %v", err)
	}
}

// TestLastChange_WhatIsForgottenIsNotDenied: with more changes than are remembered nothing
// is said of the time before a key's place was taken.
func TestLastChange_WhatIsForgottenIsNotDenied(t *testing.T) {
	c, f := new(changes), &revision{number: 7, space: new(fresh.Space)}
	bySpace := map[*fresh.Space]*revision{f.space: f}
	first := time.Now()
	c.begin(first)
	var keys []row.Key
	for i := range 4 * changesKept {
		keys = append(keys, row.Key(strconv.Itoa(i)))
	}
	c.note(bySpace, &applied{invalidations: []fresh.Invalidation{{Space: f.space, Keys: keys}}}, Token{})
	known := 0
	for _, k := range keys {
		switch l := c.last(f, k); {
		case !l.At.IsZero():
			known++
		case !l.Since.After(first):
			t.Fatalf("%s was changed, and the answer is: not since the beginning", k)
		}
	}
	if known < changesKept/2 || known > changesKept {
		t.Errorf("of %d changes %d are known, want about %d", len(keys), known, changesKept)
	}
	c.note(bySpace, &applied{invalidations: []fresh.Invalidation{{Space: f.space, Whole: true}}}, Token{})
	if l := c.last(f, keys[0]); !l.Whole || l.At.IsZero() {
		t.Errorf("after a change of the whole table: %+v", l)
	}
	c.begin(time.Now())
	if l := c.last(f, keys[0]); !l.At.IsZero() {
		t.Errorf("in the next epoch: %+v", l)
	}
}
