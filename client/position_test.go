package client

import (
	"context"
	"slices"
	"strings"
	"testing"
)

func TestPositions_KeepTheNewestOfEachSource(t *testing.T) {
	var p positions
	for _, token := range []string{"hr1.a.x.10", "hr1.b.y.5", "hr1.a.x.f", "junk", "hr1.b.z.1", ""} {
		p.wrote(token)
	}
	got := strings.Split(p.text(), ",")
	slices.Sort(got)
	// Of another origin the last one counts: positions have no order across them.
	if want := []string{"hr1.a.x.10", "hr1.b.z.1"}; !slices.Equal(got, want) {
		t.Errorf("the positions are %q, want %q", got, want)
	}
	p.wroteAll("hr1.a.x.20; lag=0.1,hr1.c.q.1")
	if text := p.text(); !strings.Contains(text, "hr1.a.x.20") || !strings.Contains(text, "hr1.c.q.1") {
		t.Errorf("the positions are %q", text)
	}
}

// TestPosition_IsThatOfTheResourcesSource: the wire takes one position a request.
func TestPosition_IsThatOfTheResourcesSource(t *testing.T) {
	s := newSite(t)
	c := open(t, s.wireURL)
	r := c.remote.(*wireRemote)
	ctx := within(t)
	if got := r.position(ctx, "depts", "hr1.other.x.1; lag=1"); got != "hr1.other.x.1" {
		t.Errorf("of one position: %q", got)
	}
	if got := r.position(ctx, "depts", "hr1.other.x.1,hr1.main.y.2"); got != "hr1.main.y.2" {
		t.Errorf("of two: %q", got)
	}
	if got := r.position(context.Background(), "nothing", "hr1.other.x.1,hr1.main.y.2"); got != "" {
		t.Errorf("of a resource without a feed: %q", got)
	}
}

// TestSee_IsWaitedFor: a position that another client has written is in the next
// read.
func TestSee_IsWaitedFor(t *testing.T) {
	bothWays(t, func(t *testing.T, _ *site, url string) {
		writer, reader := open(t, url), open(t, url)
		for _, place := range []string{"A", "B", "C"} {
			doc, err := writer.Patch(within(t), "depts", "10", map[string]any{"deptLocation": place})
			if err != nil {
				t.Fatal(err)
			}
			reader.See(doc.Position)
			if got := location(t, reader, "10"); got != place {
				t.Errorf("read %q after %q", got, place)
			}
		}
	})
}
