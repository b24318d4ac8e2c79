package stress

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/linear"
	"github.com/hotrow/hotrow/internal/resource"
)

// An operation is one read of a row of flat that asked for the database.
type operation struct {
	key        int32
	begin, end Moment
	value      int64 // 0: no row
}

// A call is what porcupine is told of a read or a write of a row.
type call struct {
	write bool
	value int64
}

// register is the model of one row: a read gives what was written last.
func registerModel(first int64) linear.Model {
	return linear.Model{
		Init: func() any { return first },
		Step: func(state, input, output any) (bool, any) {
			if c := input.(call); c.write {
				return true, c.value
			}
			return output.(int64) == state.(int64), state
		},
		Equal: func(a, b any) bool { return a == b },
	}
}

// linearizable checks the reads that asked for the database together with all
// writes, row by row, with a checker that is not ours. It returns how many
// reads it has checked.
func (rs *readers) linearizable(t *testing.T) int {
	t.Helper()
	byKey := make(map[int32][]operation)
	for _, o := range rs.sample {
		if len(byKey[o.key]) < 300 {
			byKey[o.key] = append(byKey[o.key], o)
		}
	}
	checked := 0
	for key, reads := range byKey {
		var last Moment
		var ops []linear.Operation
		for i, o := range reads {
			last = max(last, o.end)
			ops = append(ops, linear.Operation{ClientId: 1 + i, Input: call{},
				Call: int64(o.begin), Output: o.value, Return: int64(o.end)})
		}
		versions := rs.world.flat[key].versions
		for _, v := range versions[1:] {
			if v.begun <= last {
				ops = append(ops, linear.Operation{Input: call{true, v.state.Value},
					Call: int64(v.begun), Output: int64(0), Return: int64(v.done)})
			}
		}
		model := registerModel(versions[0].state.Value)
		if !linear.Explains(model, ops) {
			t.Errorf("flat/%d: %d reads and the writes are not linearizable", key, len(reads))
		}
		checked += len(reads)
	}
	return checked
}

func TestRegisterModel_TellsAStaleRead(t *testing.T) {
	op := func(client int, write bool, value, from, to int64) linear.Operation {
		return linear.Operation{ClientId: client, Input: call{write, value}, Call: from,
			Output: value, Return: to}
	}
	for value, want := range map[int64]bool{1: false, 2: true} {
		ops := []linear.Operation{op(0, true, 2, 10, 20), op(1, false, value, 30, 40)}
		if got := linear.Explains(registerModel(1), ops); got != want {
			t.Errorf("reading %d after 2 was written: %v, want %v", value, got, want)
		}
	}
}

// positionOf returns the position of a token, 0 for what is none.
func positionOf(text string) uint64 {
	token, err := resource.ParseToken(text)
	if err != nil {
		return 0
	}
	return uint64(token.Pos)
}

// sweep reads every page twice, when nobody writes any more, and compares what
// memory holds, or the database says, with the last state of the registers. It
// returns how many answers came from memory, and how many answers were stale.
func (rs *readers) sweep(t *testing.T) (hits, stale int) {
	t.Helper()
	rs.stand.Quiet()
	c, lists := rs.stand.connect(), 0
	for _, p := range slices.Concat(rs.pages, rs.lists) {
		for range 4 {
			a, err := c.get(p.path(), p.headers()...)
			if err != nil {
				t.Fatal(err)
			}
			looks, err := rs.world.looks(p, a)
			if err == nil && p.count {
				err = rs.world.counted(p, a)
			}
			if err != nil || a.code != 200 && a.code != 206 && a.code != 404 {
				t.Fatalf("GET %s: status %d: %s %v", p.path(), a.code, a.body, err)
			}
			if a.status() == hit {
				hits++
				if p.limit > 0 {
					lists++
				}
			}
			if bad := differs(looks); bad != "" {
				stale++
				t.Errorf("GET %s: stale for good: %s: %s", p.path(), a.status(), bad)
			}
		}
	}
	if lists == 0 {
		t.Error("no list came from memory")
	}
	return hits, stale
}

// differs says what of a read is not the last state.
func differs(looks []Look) string {
	for i := range looks {
		if l := &looks[i]; !l.accepts(l.Register.Last()) {
			return fmt.Sprintf("%s\n\tlast %+v", l.describe(), l.Register.Last())
		}
	}
	return ""
}
