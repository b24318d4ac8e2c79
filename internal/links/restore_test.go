package links

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/links/clicks"
)

// What was deleted comes back as it was: its number, and so its clicks, its tags,
// its owner and its expiry.
func restores(t *testing.T, b *bed) {
	ctx := t.Context()
	old := b.make(t, `{"url":"https://example.com/","code":"a","tags":["x","y"],"title":"T",
		"expires_at":"2026-11-22T12:00:01Z","max_clicks":9}`)
	count(t, b, old.ID, 7)
	day := clicks.DayOf(b.clock.Load())
	addRows(t, b, "click_time", []string{"link_id", "unit", "bucket", "clicks", "bots"},
		[]any{old.ID, clicks.UnitDay, day, int64(5), int64(1)},
		[]any{old.ID, clicks.UnitDay, day - 1, int64(3), int64(0)},
		[]any{old.ID, clicks.UnitHour, day * 24, int64(99), int64(99)})
	if _, err := b.Restore(ctx, "a", "you"); !errors.Is(err, ErrNotFound) {
		t.Errorf("what was not deleted: %v", err)
	}
	if err := b.Delete(ctx, "a", Condition{}, "you"); err != nil {
		t.Fatal(err)
	}
	b.clock.Add(5000) // it has expired meanwhile
	// A click that was under way comes to the database.
	count(t, b, old.ID, 1)
	b.told()
	if _, err := b.Restore(ctx, "A", "you"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, b.told()); diff != "" {
		t.Error(diff)
	}
	got, err := b.Get(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	want := old
	want.Clicks, want.Bots, want.Version = 8, 1, 3
	want.UpdatedAt, want.LastClickAt = got.UpdatedAt, got.LastClickAt
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if edits, err := b.Edits(ctx, "a", 10); err != nil || len(edits) != 3 {
		t.Errorf("its history: %+v, %v", edits, err)
	}
	if err := b.Delete(ctx, "a", Condition{}, "you"); err != nil {
		t.Fatal(err)
	}
	b.make(t, `{"url":"https://example.com/2","code":"a"}`)
	if _, err := b.Restore(ctx, "a", "you"); !errors.Is(err, ErrTaken) {
		t.Errorf("where another one is: %v", err)
	}
}
