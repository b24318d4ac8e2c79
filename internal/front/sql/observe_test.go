package sqlfront

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// seen returns what was counted, by shape.
func (s *stand) seen() map[string]Statement {
	all := make(map[string]Statement)
	for _, one := range s.front.Statements() {
		all[one.Reason+": "+one.Shape] = one
	}
	return all
}

// TestObserve_CountsByShape: statements of both protocols, whatever their values are, and why
// memory could not answer them.
func TestObserve_CountsByShape(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup("CREATE TABLE t (a int PRIMARY KEY, b text);")), way{})
	r := logIn(t, s.url)
	for i := range 5 { // simple
		r.write(msg('Q', fmt.Sprintf("SELECT b FROM t WHERE a = %d -- the %d.", i, i)))
		r.until(1)
	}
	execute := func(name string) []byte {
		return append(msg('B', "", name, int16(0), int16(1), int32(1), []byte("7"), int16(0)),
			append(msg('E', "", int32(0)), msg('S')...)...)
	}
	r.write(append(msg('P', "by_key", "select b from t where a = $1", int16(0)), msg('S')...))
	r.until(1)
	for range 3 { // prepared
		r.write(execute("by_key"))
		r.until(1)
	}
	r.write(append(execute("by_key"), execute("by_key")...)) // a pipeline
	r.until(2)
	r.write(msg('Q', "BEGIN"))
	r.until(1)
	r.write(execute("by_key"))
	r.until(1)
	r.write(msg('Q', "INSERT INTO t VALUES (1, 'secret')"))
	r.until(1)
	r.write(msg('Q', "COMMIT"))
	r.until(1)
	r.write(msg('Q', "ALTER ROLE postgres PASSWORD 'secret'; SELECT 'secret' || E'secret'"))
	r.until(1)
	r.write(msg('Q', "SELECT pg_sleep(0.2)"))
	r.until(1)
	r.write(append(msg('P', "gone", "SELECT 1", int16(0)), append(msg('C', byte('S'), "gone"), msg('S')...)...))
	r.until(1)
	long := "SELECT b FROM t WHERE b = '" + strings.Repeat("x", 70_000) + "'"
	r.write(msg('Q', long))
	r.until(1)

	seen := s.seen()
	var byKey Statement
	for shape, one := range seen {
		t.Logf("%4d %v %-12s %s", one.Count, one.Took, one.Reason, shape)
		if strings.Contains(shape, "secret") {
			t.Errorf("a shape has a value: %s", shape)
		}
		if one.Count > 0 && one.Took <= 0 {
			t.Errorf("%s took %v", shape, one.Took)
		}
		if strings.Contains(shape, "$1") && one.Count > 0 {
			byKey = one
		}
	}
	if byKey.Reason != "eligible" || byKey.Count != 6 || byKey.Within != 1 {
		t.Errorf("the prepared one is %+v", byKey)
	}
	reasons := make(map[string]uint64)
	for _, one := range seen {
		reasons[one.Reason] += one.Count
	}
	for reason, want := range map[string]uint64{"eligible": 11, "transaction": 2, "write": 1, "function": 1,
		"too_long": 1} {
		if reasons[reason] != want {
			t.Errorf("%d are %s, want %d", reasons[reason], reason, want)
		}
	}
	if one := seen["write: INSERT INTO t..."]; one.Count != 1 || one.Within != 1 {
		t.Errorf("the insert is %+v", one)
	}
	for _, one := range seen {
		if one.Reason == "function" && one.Took < 200e6 {
			t.Errorf("what sleeps 200 ms took %v", one.Took)
		}
	}
}

// TestObserve_FollowsCopies: the Sync in front of data is none, so that what follows is timed as
// itself.
func TestObserve_FollowsCopies(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup("CREATE TABLE t (a int PRIMARY KEY, b text);")), way{})
	r := logIn(t, s.url)
	for _, part := range script() {
		if !strings.Contains(string(part.bytes), "COPY") {
			continue
		}
		r.write(part.bytes)
		r.until(part.ready)
	}
	r.write(msg('Q', "SELECT pg_sleep(0.2)"))
	r.until(1)
	for shape, one := range s.seen() {
		if one.Reason == "function" && one.Took < 200e6 || one.Reason != "function" && one.Took > 10e9 {
			t.Errorf("%s took %v", shape, one.Took)
		}
	}
}

// TestObserve_IsBounded: the shapes, what is remembered of a session, and the groups in flight.
func TestObserve_IsBounded(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t), way{})
	r := logIn(t, s.url)
	for from := 0; from < 1500; from += 100 {
		var all []byte
		for i := range 100 {
			all = append(all, msg('Q', fmt.Sprintf("SELECT 1 AS c%d", from+i))...)
		}
		r.write(all)
		r.until(100)
	}
	var all []byte
	for range 2000 {
		all = append(all, msg('S')...)
	}
	r.write(all)
	r.until(2000)
	list := s.front.Statements()
	if len(list) > 1001 {
		t.Errorf("%d shapes are kept", len(list))
	}
	var n uint64
	for _, one := range list {
		n += one.Count
	}
	if n != 1500 {
		t.Errorf("%d statements are counted, want 1500", n)
	}
	waittest.Until(t, "all groups are answered", func() bool { return s.front.Stats().Groups >= 3500 })
}
