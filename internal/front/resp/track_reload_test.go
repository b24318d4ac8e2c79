package respfront

import (
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
)

// A reload tells clients of the keys of what it has changed or taken away. Of others they keep
// their copies, and are told of changes.
func TestTracking_KeepsWhatAReloadLeaves(t *testing.T) {
	reload := func(s *site, change func([]resource.Spec) []resource.Spec) {
		var specs []resource.Spec
		for _, r := range s.Set.All() {
			specs = append(specs, r.Spec())
		}
		if err := s.Set.Reload(t.Context(), change(specs)); err != nil {
			t.Fatal(err)
		}
		s.f.Configure(s.opts)
	}
	named := func(name string, change func(*resource.Spec)) func([]resource.Spec) []resource.Spec {
		return func(specs []resource.Spec) []resource.Spec {
			for i := range specs {
				if specs[i].Table.Name == name {
					change(&specs[i])
				}
			}
			return specs
		}
	}
	for what, change := range map[string]func([]resource.Spec) []resource.Spec{
		"changed": named("cities", func(s *resource.Spec) { s.MaxLimit = 7 }),
		"access":  named("cities", func(s *resource.Spec) { s.Access.Read = "none" }),
		"removed": func(specs []resource.Spec) []resource.Spec {
			return slices.DeleteFunc(specs, func(s resource.Spec) bool { return s.Table.Name == "cities" })
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newSite(t)
			c, all := s.tracking(""), s.tracking("BCAST PREFIX codes:")
			s.hot("depts:10")
			c.do("GET depts:10")
			c.do("GET cities:Tulsa,OK")
			reload(s, func(specs []resource.Spec) []resource.Spec { return specs })
			c.tellsNothing()
			reload(s, change)
			if got := c.reply(); got != tells("cities:Tulsa,OK") {
				t.Errorf("after the reload: %q", got)
			}
			c.tellsNothing()
			all.tellsNothing()
			s.rename(10, what)
			if got := c.reply(); got != tells("depts:10") {
				t.Errorf("after a change of what it has left: %q", got)
			}
		})
	}
}

// The counters of a resource that a reload takes away go; what was counted of all does not fall.
func TestStats_OfWhatAReloadTakesAway(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	for _, key := range []string{"depts:10", "cities:Tulsa,OK"} {
		s.hot(key)
		c.do("GET " + key)
	}
	counted := func() (names []string, st kv.Stats) {
		st = s.f.store.Stats()
		for _, r := range st.Resources {
			names = append(names, r.Resource)
		}
		return names, st
	}
	names, before := counted()
	if !slices.Contains(names, "cities") || before.Hits < 2 || before.Misses < 2 {
		t.Fatalf("%v %+v", names, before)
	}
	var specs []resource.Spec
	for _, r := range s.Set.All() {
		if r.Name() != "cities" {
			specs = append(specs, r.Spec())
		}
	}
	if err := s.Set.Reload(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	s.f.Configure(s.opts)
	c.do("GET depts:10")
	names, after := counted()
	if slices.Contains(names, "cities") || !slices.Contains(names, "depts") {
		t.Errorf("after the reload these are counted: %v", names)
	}
	if after.Hits < before.Hits || after.Misses < before.Misses {
		t.Errorf("%d hits and %d misses after %d and %d", after.Hits, after.Misses, before.Hits,
			before.Misses)
	}
}
