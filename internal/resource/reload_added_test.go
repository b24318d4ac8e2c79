package resource

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/source"
)

// Nothing is kept of what a reload adds until a feed follows its tables: the one before tells of
// no change of theirs. Then it is kept, and told.
func TestSet_ReloadKeepsNothingThatIsNotFollowed(t *testing.T) {
	h, panics := newBadHouse(t, func(o *SetOptions) { o.Resources = o.Resources[:2] })
	h.hit("emp", "7782")
	panics("open") // no feed can be opened for the table that comes
	h.reload(func(s []Spec) []Spec {
		lists := Spec{Source: "main", Table: &source.Spec{Name: "wide", Table: "emp",
			Embeds: []source.Embed{}}}
		return append(s[:3:3], lists)
	})
	for _, pop := range []string{"1", "2", "3"} {
		for range 5 {
			if _, origin := h.get("city", "Tulsa,OK", Options{}); origin == HitMemory {
				t.Fatal("memory answers with what no feed follows")
			}
			if a := h.list("city", 5, Options{}); a.Origin == HitMemory {
				t.Fatal("memory answers with a list that no feed follows")
			}
		}
		h.exec("UPDATE city SET pop = " + pop)
		if body, _ := h.get("city", "Tulsa,OK", Options{}); !strings.Contains(body, `"pop":`+pop) {
			t.Errorf("after a change: %s", body)
		}
	}
	if h.resource("city").NoFeed() {
		t.Error("it is told that nothing will ever follow it")
	}
	panics("")
	h.ready()
	h.hit("city", "Tulsa,OK")
	h.hit("emp", "7782")
	h.hit("wide", "7782")
	h.exec("UPDATE city SET pop = 4")
	h.until(func() bool { return strings.Contains(h.hit("city", "Tulsa,OK"), `"pop":4`) })
}

// followed waits until the feed tells of a resource.
func (h *house) followed(name string) {
	h.t.Helper()
	h.until(h.resource(name).Followed)
}

// A reload that adds tables, or takes some away, leaves what is kept of the rest, in the epoch
// that there is. What comes is told of, and what had been kept of it before it went is not.
func TestSet_ReloadFollowsOtherTables(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) { o.Resources, o.Lists = o.Resources[:2], 1<<20 })
	for _, name := range []string{"dept", "emp"} {
		h.keepList(name, 5)
	}
	h.hit("dept", "10")
	h.hit("emp", "7782")
	before := h.set.Stats().Sources[0]
	for i, with := range [][]string{{"city"}, {"city", "person"}, {"person"}, nil, {"city"}} {
		h.reload(some(append(with, "dept", "emp")...))
		for _, name := range with {
			h.followed(name)
		}
		h.still()
		pop := fmt.Sprintf(`"pop":%d`, i)
		if slices.Contains(with, "city") {
			h.hit("city", "Tulsa,OK")
		}
		h.exec(fmt.Sprintf("UPDATE city SET pop = %d; UPDATE person SET mail = 'm%d'", i, i))
		if slices.Contains(with, "city") {
			h.until(func() bool { return strings.Contains(h.hit("city", "Tulsa,OK"), pop) })
		}
		if slices.Contains(with, "person") {
			h.until(func() bool {
				return strings.Contains(h.hit("person", "alice"), fmt.Sprintf(`"mail":"m%d"`, i))
			})
		}
		h.told()
		for _, name := range []string{"dept", "emp"} { // a program without the log drops all
			h.keepList(name, 5)
		}
		h.hit("dept", "10")
		h.hit("emp", "7782")
		after := h.set.Stats().Sources[0]
		if after.Epoch != before.Epoch || after.Gaps != before.Gaps {
			t.Fatalf("epoch %d and %d gaps after %d and %d: %s", after.Epoch, after.Gaps,
				before.Epoch, before.Gaps, after.EpochWhy)
		}
		if err := h.set.Check(); err != nil {
			t.Error(err)
		}
	}
}

// A feed that cannot follow other tables as it runs, or fails to, is opened again.
func TestSet_ReloadOpensTheFeedAgain(t *testing.T) {
	for _, how := range []string{"reopen", "follow"} {
		t.Run(how, func(t *testing.T) {
			h, panics := newBadHouse(t, func(o *SetOptions) { o.Resources = o.Resources[:2] })
			before := h.set.Stats().Sources[0].Epoch
			panics(how)
			h.reload(some("dept", "emp", "city"))
			h.followed("city")
			panics("")
			h.hit("city", "Tulsa,OK")
			h.exec("UPDATE city SET pop = 4")
			h.until(func() bool { return strings.Contains(h.hit("city", "Tulsa,OK"), `"pop":4`) })
			if h.set.Stats().Sources[0].Epoch == before {
				t.Error("the epoch is the one of before")
			}
		})
	}
}

// A table that comes and goes beside its writers: whenever they rest, memory has what they wrote
// last. The other resource's lists and documents stay in the epoch that they were kept in.
func TestSet_ReloadBesideWriters(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) { o.Resources, o.Lists = o.Resources[:2], 1<<20 })
	epoch := h.set.Stats().Sources[0].Epoch
	for round := range 20 {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		var last [2]int
		for i, write := range []func(sql string) error{
			func(sql string) error { _, err := h.other.Exec(sql); return err },
			func(sql string) error { return h.source.Exec(t.Context(), sql) },
		} {
			wg.Go(func() {
				for n := 1; ; n++ {
					pop := 1_000_000*(i+1) + 10_000*round + n
					if err := write(fmt.Sprintf("UPDATE city SET pop = %d", pop)); err != nil {
						t.Error(err)
						return
					}
					last[i] = pop
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		h.reload(some("dept", "emp", "city"))
		h.followed("city")
		h.get("city", "Tulsa,OK", Options{})
		close(stop)
		wg.Wait()
		h.until(func() bool {
			body := h.hit("city", "Tulsa,OK")
			return strings.Contains(body, fmt.Sprintf(`"pop":%d}`, last[0])) ||
				strings.Contains(body, fmt.Sprintf(`"pop":%d}`, last[1]))
		})
		h.reload(some("dept", "emp"))
	}
	if now := h.set.Stats().Sources[0].Epoch; now != epoch {
		t.Errorf("epoch %d after %d", now, epoch)
	}
	if err := h.set.Check(); err != nil {
		t.Error(err)
	}
}

// A table that comes while the feed is lost, or as it is lost, is followed by the one that attaches
// then.
func TestSet_ReloadWhileTheFeedIsLost(t *testing.T) {
	for _, how := range []string{"away", "cut"} {
		t.Run(how, func(t *testing.T) {
			h, bad := newHooked(t, func(o *SetOptions) { o.Resources = o.Resources[:2] })
			if how == "away" {
				bad.lose(how)
			} else {
				bad.bad.Store(&how)
			}
			h.reload(some("dept", "emp", "city"))
			for _, pop := range []string{"1", "2", "3"} {
				h.exec("UPDATE city SET pop = " + pop)
				h.until(func() bool {
					body, _ := h.get("city", "Tulsa,OK", Options{NoCache: true})
					return strings.Contains(body, `"pop":`+pop)
				})
			}
			bad.bad.Store(nil)
			h.followed("city")
			h.ready()
			h.until(func() bool { return strings.Contains(h.hit("city", "Tulsa,OK"), `"pop":3`) })
			h.exec("UPDATE city SET pop = 4")
			h.until(func() bool { return strings.Contains(h.hit("city", "Tulsa,OK"), `"pop":4`) })
			h.hit("emp", "7782")
			if err := h.set.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A reload that adds a table to one of several sources leaves the others as they are.
func TestSet_ReloadOfOneSourceOfThree(t *testing.T) {
	others := []*house{newHouse(t, nil), newHouse(t, nil)}
	specs := func(names ...string) (all []Spec) {
		for _, source := range []string{"main", "second", "third"} {
			list := some("emp", "dept")(houseSpecs())
			if source == "main" {
				list = some(append(names, "emp", "dept")...)(houseSpecs())
			}
			for i := range list {
				table := *list[i].Table
				table.Name = source + "_" + table.Name
				list[i].Source, list[i].Table = source, &table
			}
			all = append(all, list...)
		}
		return all
	}
	h := newHouse(t, func(o *SetOptions) {
		o.Sources = append(o.Sources, SourceOptions{Name: "second", Source: others[0].source},
			SourceOptions{Name: "third", Source: others[1].source})
		o.Resources = specs()
	})
	h.ready()
	epochs := func() (list []uint64) {
		for _, s := range h.set.Stats().Sources {
			list = append(list, s.Epoch)
		}
		return list
	}
	names := []string{"main_emp", "second_emp", "third_emp"}
	before := epochs()
	for _, with := range []string{"city", "person"} {
		for _, name := range names {
			h.hit(name, "7782")
		}
		if err := h.set.Reload(t.Context(), specs(with)); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if _, origin := h.get(name, "7782", Options{}); origin != HitMemory {
				t.Errorf("%s is answered as %v", name, origin)
			}
		}
		h.followed("main_" + with)
	}
	if now := epochs(); !slices.Equal(now, before) {
		t.Errorf("epochs %d after %d", now, before)
	}
}
