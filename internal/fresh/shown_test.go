package fresh

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// watching makes a space whose watchers note what they are told of.
func watching(t *testing.T) (d *Domain, s *Space, told func(touches []Touch) []row.Key) {
	t.Helper()
	d, s = newAttached(nil)
	var late []row.Key
	s.Watched(func() bool { return true }, func(k row.Key) { late = append(late, k) })
	return d, s, func(touches []Touch) []row.Key {
		list := late
		late = nil
		for i := range touches {
			list = append(append(list, touches[i].Keys...), touches[i].Shown...)
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
}

// TestShown_WatchersAreToldOfWhatMemoryHasNot: a feed names the row that has changed, and
// the document that a watcher has is not in memory any more.
func TestShown_WatchersAreToldOfWhatMemoryHasNot(t *testing.T) {
	a := Child{"t", "a"}
	for name, gone := range map[string]func(d *Domain, s *Space, doc *row.Document){
		"evicted": func(_ *Domain, s *Space, doc *row.Document) { s.Evicted("k", doc) },
		"dropped": func(_ *Domain, s *Space, _ *row.Document) { s.Drop("k") },
		"all":     func(_ *Domain, s *Space, _ *row.Document) { s.DropAll() },
		"written": func(d *Domain, s *Space, _ *row.Document) {
			touches := []Touch{{Space: s, Keys: []row.Key{"k"}, Children: []Child{a}}}
			d.Hold(touches)
			d.Release(touches, 0)
		},
		"another state": func(_ *Domain, s *Space, _ *row.Document) {
			l, _ := s.Begin("k", row.FormatMsgPack, Any)
			finishAs(9, s, l)
		},
		"replaced": func(_ *Domain, s *Space, _ *row.Document) {
			l, _ := s.Begin("k", row.FormatJSON, Any)
			finishAs(9, s, l, Child{"t", "b"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, s, told := watching(t)
			gone(d, s, keep(t, s, "k", row.FormatJSON, a))
			if list := told(nil); len(list) > 0 {
				t.Errorf("told of %v, and nothing has changed", list)
			}
			for i, want := range [][]row.Key{{"k"}, nil} {
				touches := []Touch{{Space: s, Children: []Child{a}}}
				d.Apply(Position(10+i), touches, nil, 0)
				if got := told(touches); !slices.Equal(got, want) {
					t.Errorf("change %d: told of %v, want %v", i, got, want)
				}
			}
			if n := s.children.shown.n + len(s.children.shown.rows); name != "replaced" && n > 0 {
				t.Errorf("%d rows are remembered", n)
			}
		})
	}
}

// TestShown_AnswersThatAreNotKept: a row of theirs has changed, or is about to be seen to
// have: nothing named the document when that was delivered.
func TestShown_AnswersThatAreNotKept(t *testing.T) {
	d, s, told := watching(t)
	a, b := Child{"t", "a"}, Child{"t", "b"}
	change := func(pos Position, r Child, ref any) *Pending {
		touches := []Touch{{Space: s, Children: []Child{r}}}
		p := d.Apply(pos, touches, ref, 0)
		if list := told(touches); len(list) > 0 {
			t.Errorf("told of %v, which nobody had", list)
		}
		return p
	}

	l, _ := s.Begin("k", row.FormatJSON, Any)
	change(2, a, nil)
	if finish(s, l, a, b) {
		t.Fatal("stored with a row that has moved since")
	}
	if got := told(nil); !slices.Equal(got, []row.Key{"k"}) {
		t.Errorf("a row had moved: told of %v", got)
	}

	json, _ := s.Begin("k", row.FormatJSON, Any)
	pack, _ := s.Begin("k", row.FormatMsgPack, Any)
	p := change(3, Child{"t", "c"}, "x")
	finish(s, json, Child{"t", "c"})
	finish(s, pack, Child{"t", "c"})
	for range 2 {
		l, _ = s.Begin("k", row.FormatJSON, Any)
		finish(s, l, Child{"t", "c"})
	}
	if got := told(nil); len(got) > 0 {
		t.Errorf("told of %v before a read sees the change", got)
	}
	d.Settle(p)
	if got := told(nil); !slices.Equal(got, []row.Key{"k"}) {
		t.Errorf("a row was not settled: told of %v", got)
	}

	// Its other rows may change later.
	touches := []Touch{{Space: s, Children: []Child{b}}}
	d.Apply(4, touches, nil, 0)
	if got := told(touches); !slices.Equal(got, []row.Key{"k"}) {
		t.Errorf("a row that it was shown with has changed: told of %v", got)
	}
	if left := leftover(s); left != "" {
		t.Error(left)
	}
}

// TestShown_IsBounded: of what there is no room for watchers are told at once.
func TestShown_IsBounded(t *testing.T) {
	_, s, told := watching(t)
	const docs, each = 20, maxShown / 16
	rows := make([]Child, each)
	for i := range docs {
		for j := range rows {
			rows[j] = Child{"t", row.Key(fmt.Sprint(i, ".", j))}
		}
		k := row.Key(fmt.Sprint(i))
		s.Evicted(k, keep(t, s, k, row.FormatJSON, rows...))
	}
	if n := s.children.shown.n; n > maxShown || n != len(s.children.shown.rows) {
		t.Errorf("%d rows are remembered of %d, %d are counted", len(s.children.shown.rows), maxShown, n)
	}
	if n := len(told(nil)); n != docs-16 {
		t.Errorf("told of %d documents, want %d", n, docs-16)
	}
}

// TestShown_NobodyWatches: then nothing is remembered, and what was is forgotten with the
// end of the next load.
func TestShown_NobodyWatches(t *testing.T) {
	_, s := newAttached(nil)
	here := true
	s.Watched(func() bool { return here }, func(row.Key) { t.Error("nobody is told") })
	s.Evicted("k", keep(t, s, "k", row.FormatJSON, Child{"t", "a"}))
	if s.children.shown.n != 1 {
		t.Error("what a watcher may have is not remembered")
	}
	here = false
	s.Evicted("other", keep(t, s, "other", row.FormatJSON, Child{"t", "b"}))
	if n := s.children.shown.n + len(s.children.shown.docs); n > 0 {
		t.Errorf("%d rows are remembered for nobody", n)
	}
}
