package links

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/row"
)

// keep makes links that keep the numbers of their drafts.
func (b *bed) keep(t *testing.T, bodies ...string) []Link {
	t.Helper()
	drafts := make([]*Draft, len(bodies))
	for i, body := range bodies {
		drafts[i] = draft(t, body)
	}
	results, err := b.CreateAll(t.Context(), drafts, Making{Who: "me", Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]Link, len(results))
	for i, r := range results {
		if out[i] = r.Link; r.Err != nil || !r.Made {
			t.Errorf("%s: made %t, %v", bodies[i], r.Made, r.Err)
		}
	}
	return out
}

// Clicks that were counted under a number before a link had it are nobody's: numbers
// that have any are passed over, and links go on being made.
func numbersWithClicks(t *testing.T, b *bed) {
	first := b.make(t, `{"url":"https://example.com/","code":"first"}`).ID
	for _, n := range []int64{2, 3, 4, 7, 50} {
		count(t, b, first+n, 9)
	}
	day := clicks.DayOf(b.clock.Load())
	addRows(t, b, "click_time", []string{"link_id", "unit", "bucket", "clicks", "bots"},
		[]any{first + 2, clicks.UnitDay, day, int64(9), int64(1)})
	seen := map[int64]bool{first: true}
	for i := range 8 {
		l := b.make(t, fmt.Sprintf(`{"url":"https://example.com/","code":"c%d"}`, i))
		got, err := b.Get(t.Context(), l.Code)
		if err != nil || got.ID != l.ID || got.Clicks != 0 || got.Bots != 0 {
			t.Errorf("link %d has clicks of others: %+v, %v", l.ID, got, err)
		}
		switch n := l.ID - first; {
		case seen[l.ID] || n >= 2 && n <= 4 || n == 7:
			t.Errorf("number %d behind %v", l.ID, seen)
		}
		seen[l.ID] = true
	}
	if l := b.make(t, `{"url":"https://example.com/"}`); seen[l.ID] || l.Code == "" {
		t.Errorf("with a code that is made: %+v", l)
	}
	for _, l := range b.keep(t, fmt.Sprintf(`{"url":"https://example.com/","id":%d,"code":"k"}`, first+50),
		fmt.Sprintf(`{"url":"https://example.com/","id":%d,"code":"l"}`, first+60)) {
		if got, err := b.Get(t.Context(), l.Code); err != nil || got.Clicks != 0 || l.ID == first+50 {
			t.Errorf("kept: %+v, %v", got, err)
		}
	}
	b.make(t, `{"url":"https://example.com/","code":"last"}`)
}

// The number of a link that was deleted stays that link's, and so do its clicks.
func numbersOfDeleted(t *testing.T, b *bed) {
	old := b.make(t, `{"url":"https://example.com/","code":"old"}`)
	addRows(t, b, "click_time", []string{"link_id", "unit", "bucket", "clicks", "bots"},
		[]any{old.ID, clicks.UnitDay, clicks.DayOf(b.clock.Load()), int64(5), int64(0)})
	if err := b.Delete(t.Context(), "old", Condition{}, ""); err != nil {
		t.Fatal(err)
	}
	kept := b.keep(t, fmt.Sprintf(`{"url":"https://example.com/2","code":"new","id":%d}`, old.ID),
		fmt.Sprintf(`{"url":"https://example.com/3","code":"next","id":%d}`, old.ID+20),
		`{"url":"https://example.com/4","code":"none"}`)
	if kept[0].ID == old.ID || kept[1].ID != old.ID+20 {
		t.Errorf("kept %d and %d of %d", kept[0].ID, kept[1].ID, old.ID)
	}
	back, err := b.Restore(t.Context(), "old", "")
	if err != nil || back.ID != old.ID || back.Clicks != 5 {
		t.Errorf("restored: %+v, %v", back, err)
	}
	for id, want := range map[int64]bool{old.ID: true, kept[0].ID: true, kept[1].ID: true, 1 << 40: false} {
		if had, err := b.Had(t.Context(), id); err != nil || had != want {
			t.Errorf("Had(%d): %t, %v", id, had, err)
		}
	}
	if err := b.Delete(t.Context(), "old", Condition{}, ""); err != nil {
		t.Fatal(err)
	}
	if had, err := b.Had(t.Context(), old.ID); err != nil || !had {
		t.Errorf("one that was deleted: %t, %v", had, err)
	}
}

// A number that leaves no room for others is refused, and no other draft with it.
func numbersAtTheEnd(t *testing.T, b *bed) {
	drafts := []*Draft{draft(t, `{"url":"https://example.com/","code":"beyond","id":9007199254740992}`),
		draft(t, `{"url":"https://example.com/","code":"end","id":9223372036854775807}`),
		draft(t, `{"url":"https://example.com/","code":"last","id":9007199254740991}`)}
	results, err := b.CreateAll(t.Context(), drafts, Making{Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		_, refused := errors.AsType[*row.DecodeError](r.Err)
		if want := i < 2; refused != want || r.Made == want {
			t.Errorf("%s: made %t, %v", drafts[i].Code, r.Made, r.Err)
		}
	}
	for range 2 {
		b.make(t, `{"url":"https://example.com/"}`)
	}
	// Whose number is not kept may have any.
	b.make(t, `{"url":"https://example.com/","id":9223372036854775807}`)
}
