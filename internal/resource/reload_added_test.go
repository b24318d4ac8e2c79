package resource

import (
	"strings"
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
