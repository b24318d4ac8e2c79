package resource

import (
	"testing"

	"github.com/hotrow/hotrow/internal/fresh"
)

// TestFewer: of too many tags those of the table with the most become all of its rows.
func TestFewer(t *testing.T) {
	d := fresh.NewDomain(0)
	many, few := d.NewTable(), d.NewTable()
	by := many.Register(&fresh.TagColumns{Columns: []string{"a"}})
	var list []fresh.Tag
	for range 10 {
		list = append(list, fresh.Tag{Table: few, TagColumns: by})
	}
	for range maxFound {
		list = append(list, fresh.Tag{Table: many, TagColumns: by})
	}
	if got := fewer(list[:maxFound]); len(got) != maxFound {
		t.Errorf("%d classes are %d", maxFound, len(got))
	}
	got := fewer(list)
	if len(got) != 11 {
		t.Fatalf("%d classes, want 11", len(got))
	}
	for i, c := range got {
		if whole := c.TagColumns == nil; whole != (c.Table == many) || whole != (i == 10) {
			t.Errorf("class %d is of %v by %v", i, c.Table == many, c.TagColumns)
		}
	}
}
