package respfront

import (
	"slices"
	"testing"

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
