package fresh

import (
	"fmt"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// A waitBench is lists of one tag each, and those who wait for them.
type waitBench struct {
	*wordBench
	w    Waits
	list []*Wait
}

// newWaitBench makes a bench in which no two tags share a version, as some do by chance.
func newWaitBench(t *testing.T, n int) *waitBench {
	for {
		b, slots := makeWaitBench(t, n), make(map[uint32]bool)
		for _, x := range b.list {
			slots[x.copy.deps.slots[0]] = true
		}
		if len(slots) == n {
			return b
		}
	}
}

func makeWaitBench(t *testing.T, n int) *waitBench {
	b := &waitBench{wordBench: newWordBench(1, 0)}
	for i := range n {
		b.q.Tags = []Tag{{b.t, b.t.tagColumns[0], fmt.Sprint(i)}}
		l, _ := b.s.BeginList(row.Key(fmt.Sprint(i)), 0, Any, &b.q)
		b.s.Send(l)
		var kept *ReadSet
		doc := row.NewDocument("", 0, []byte("x"), uint64(i), l.Stamp)
		b.s.FinishList(l, doc, nil, nil, func(c *ReadSet) { kept = c })
		if kept == nil {
			t.Fatal("not kept")
		}
		b.list = append(b.list, b.w.Add(kept))
	}
	return b
}

// told returns who has been told.
func (b *waitBench) told() (list []int) {
	for i, x := range b.list {
		select {
		case <-x.C:
			list = append(list, i)
		default:
		}
	}
	return list
}

// apply applies a change of a row, which reads do not see before it is settled.
func (b *waitBench) apply(old, new string) (*Pending, *InvalidationSet) {
	m := b.d.NewSet()
	m.Row(b.t, values(old), values(new))
	return b.d.Apply(2, []Invalidation{m.Invalidation()}, b, 0), m
}

// A change is told to those whose list it may have changed, once reads see it, and looks at
// nobody else.
func TestWaits_ToldOfWhatConcernsThem(t *testing.T) {
	b := newWaitBench(t, 100)
	p, m := b.apply("7", "8")
	if got := b.told(); got != nil {
		t.Errorf("told before reads see it: %v", got)
	}
	b.d.Settle(p)
	b.w.Moved(m)
	b.w.Look()
	if got := fmt.Sprint(b.told()); got != "[7 8]" {
		t.Errorf("told: %v", got)
	}
	if n := b.w.Len(); n != 98 {
		t.Errorf("%d wait, want 98", n)
	}
	for _, x := range b.list {
		b.w.Remove(x)
	}
	if n := b.w.Len() + len(b.w.by) + len(b.w.spaces); n != 0 {
		t.Errorf("%d are remembered", n)
	}
}

// A list without tag columns depends on any row of its table.
func TestWaits_OfAnyRow(t *testing.T) {
	b := &waitBench{wordBench: newWordBench(1, 0)}
	b.q.Tags = []Tag{{Table: b.t}}
	b.list = []*Wait{b.w.Add(b.wordBench.list())}
	p, m := b.apply("7", "8")
	b.d.Settle(p)
	b.w.Moved(m)
	if fmt.Sprint(b.told()) != "[0]" {
		t.Error("not told of a row")
	}
}

// Whoever comes after a change was settled is told at once; before that, with all others, and
// a write that ends without a change hides none.
func TestWaits_ComesBesideAChange(t *testing.T) {
	b := newWaitBench(t, 2)
	late := b.list[1].copy
	p, m := b.apply("1", "1")
	before := b.w.Add(late)
	b.d.Settle(p)
	between := b.w.Add(late)
	b.w.Moved(m)
	for i, x := range []*Wait{before, between, b.w.Add(late)} {
		select {
		case <-x.C:
		default:
			t.Errorf("%d is not told", i)
		}
	}
	held := b.d.NewSet()
	held.Row(b.t, values("1"), values("1"))
	hold := []Invalidation{held.Invalidation()}
	b.d.Hold(hold)
	if late.Outdated() || !late.Held() || b.list[0].copy.Held() {
		t.Error("outdated while a write keeps it")
	}
	b.d.Release(hold, 0)
	if !late.Outdated() || late.Held() || b.list[0].copy.Outdated() {
		t.Error("not outdated after a change, or outdated without one")
	}
}

// What no version of theirs tells: everything, an epoch, and all of a space.
func TestWaits_OfEverything(t *testing.T) {
	for name, change := range map[string]func(b *waitBench){
		"anything": func(b *waitBench) {
			m := b.d.NewSet()
			m.Any()
			b.d.Apply(2, []Invalidation{m.Invalidation()}, nil, 0)
			b.w.Moved(m)
		},
		"a table": func(b *waitBench) {
			m := b.d.NewSet()
			m.Whole(b.t)
			b.d.Apply(2, []Invalidation{m.Invalidation()}, nil, 0)
			b.w.Moved(m)
		},
		"an epoch": func(b *waitBench) {
			b.d.Reset("b", 1, nil, 0)
			b.w.Look()
		},
		"a space": func(b *waitBench) {
			b.s.DropAll()
			b.w.Look()
		},
		"a space that goes": func(b *waitBench) {
			b.s.Remove()
			b.w.Look()
		},
	} {
		b := newWaitBench(t, 3)
		if b.w.Look(); b.told() != nil {
			t.Errorf("%s: told of nothing", name)
		}
		if change(b); fmt.Sprint(b.told()) != "[0 1 2]" {
			t.Errorf("%s: told: %v", name, b.told())
		}
	}
}
