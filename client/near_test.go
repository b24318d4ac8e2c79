package client

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// nearly reads a document until it comes from a copy of the client's own.
func nearly(t *testing.T, c *Client, key string) Document {
	t.Helper()
	var doc Document
	poll(t, "a copy is kept", func() bool {
		var err error
		if doc, err = c.Get(within(t), "depts", key); err != nil {
			t.Fatal(err)
		}
		return doc.Origin == FromNear
	})
	return doc
}

func TestNear_KeepsCopiesAndDropsThem(t *testing.T) {
	s := newSite(t)
	other, c := open(t, s.wireURL), open(t, s.wireURL, WithNearCache(NearCache{}))
	if doc := nearly(t, c, "10"); doc.Lag < 0 || doc.Lag > time.Second {
		t.Errorf("the lag of a copy is %v", doc.Lag)
	}
	for i := range 20 {
		want := fmt.Sprint("PLACE ", i)
		patch := map[string]any{"deptLocation": want}
		if _, err := other.Patch(within(t), "depts", "10", patch); err != nil {
			t.Fatal(err)
		}
		poll(t, "the change is seen", func() bool { return location(t, c, "10") == want })
		nearly(t, c, "10")
		if got := location(t, c, "10"); got != want {
			t.Errorf("a copy is kept of %q, after %q", got, want)
		}
	}
}

// location reads a document's member.
func location(t *testing.T, c *Client, key string) string {
	t.Helper()
	doc, err := c.Get(within(t), "depts", key)
	if err != nil {
		t.Fatal(err)
	}
	var d dept
	if err := doc.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Location == nil {
		return ""
	}
	return *d.Location
}

// TestNear_SeesOwnWrites at once, whatever copies there were.
func TestNear_SeesOwnWrites(t *testing.T) {
	s := newSite(t)
	c := open(t, s.wireURL, WithNearCache(NearCache{}))
	for i := range 20 {
		nearly(t, c, "20")
		want := fmt.Sprint("PLACE ", i)
		patch := map[string]any{"deptLocation": want}
		if _, err := c.Patch(within(t), "depts", "20", patch); err != nil {
			t.Fatal(err)
		}
		if got := location(t, c, "20"); got != want {
			t.Fatalf("read %q after writing %q", got, want)
		}
	}
}

// TestNear_EmptiesWhenTheWatchBreaks: a copy that nobody vouches for is not used.
func TestNear_EmptiesWhenTheWatchBreaks(t *testing.T) {
	s := newSite(t)
	p := newProxy(t, s.wireURL[len("hotrow://"):])
	direct := open(t, s.wireURL)
	c := open(t, "hotrow://"+p.address(), WithNearCache(NearCache{}), WithRetries(20))
	for i := range 5 {
		nearly(t, c, "30")
		p.cut()
		sp := c.near.space("depts")
		poll(t, "the copies are gone", func() bool {
			c.near.mu.Lock()
			defer c.near.mu.Unlock()
			return len(sp.copies) == 0
		})
		want := fmt.Sprint("BROKEN ", i)
		patch := map[string]any{"deptLocation": want}
		if _, err := direct.Patch(within(t), "depts", "30", patch); err != nil {
			t.Fatal(err)
		}
		poll(t, "the change is seen", func() bool { return location(t, c, "30") == want })
	}
}

func TestNear_IsBounded(t *testing.T) {
	s := newSite(t)
	c := open(t, s.wireURL, WithNearCache(NearCache{Bytes: 1000}))
	nearly(t, c, "10")
	for _, key := range []string{"10", "20", "30", "40"} {
		if _, err := c.Get(within(t), "depts", key); err != nil {
			t.Fatal(err)
		}
	}
	c.near.mu.Lock()
	defer c.near.mu.Unlock()
	if c.near.bytes > 1000 || c.near.order.Len() == 0 {
		t.Errorf("%d copies of %d bytes are kept", c.near.order.Len(), c.near.bytes)
	}
}

// How old a copy may be does not depend on the wall clock: set back by an hour it makes
// none younger, nor does a clock that stood still while the machine slept.
func TestNear_AClockThatIsSetMakesNoCopyYounger(t *testing.T) {
	s := newSite(t)
	const lag = time.Minute // a quarter of which is between two probes
	c := open(t, s.wireURL, WithNearCache(NearCache{MaxLag: lag}))
	nearly(t, c, "10")
	space := c.near.space("depts")
	was := *space.complete.Load()
	for what, m := range map[string]moment{
		"the wall clock was set back by an hour": {was.steady.Add(-2 * lag), was.wall.Add(time.Hour)},
		"the machine slept for an hour":          {was.steady, was.wall.Add(-time.Hour)},
	} {
		space.complete.Store(&m)
		if doc, ok := space.copyOf(copyKey{"10", JSON}); ok {
			t.Errorf("%s: a copy is served, said to be %v old", what, doc.Lag)
		}
	}
	space.complete.Store(&was)
	if doc, ok := space.copyOf(copyKey{"10", JSON}); !ok || doc.Lag < 0 || doc.Lag > lag {
		t.Errorf("the copy is gone, or said to be %v old", doc.Lag)
	}
}

// TestNear_KeepsNoOtherSpelling: changes are told by the key that the row has.
func TestNear_KeepsNoOtherSpelling(t *testing.T) {
	s := newSite(t)
	other, c := open(t, s.wireURL), open(t, s.wireURL, WithNearCache(NearCache{}))
	nearly(t, c, "10")
	for i := range 5 {
		want := fmt.Sprint("SPELT ", i)
		doc, err := c.Get(within(t), "depts", "010")
		if err != nil || doc.Key != "10" || doc.Origin == FromNear {
			t.Fatalf("depts/010 is %+v, %v", doc, err)
		}
		patch := map[string]any{"deptLocation": want}
		if _, err := other.Patch(within(t), "depts", "10", patch); err != nil {
			t.Fatal(err)
		}
		poll(t, "the change is seen", func() bool { return location(t, c, "10") == want })
		doc, err = c.Get(within(t), "depts", "010")
		if err != nil || doc.Origin == FromNear || !strings.Contains(string(doc.Body), want) {
			t.Errorf("depts/010 is %s, %v, want %s", doc.Body, err, want)
		}
	}
}
