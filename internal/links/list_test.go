package links

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func lists(t *testing.T, b *bed) {
	for i := range 25 {
		tags := `["all"]`
		if i%5 == 0 {
			tags = `["all","fifth"]`
		}
		l := b.make(t, fmt.Sprintf(`{"url":"https://host%d.example/P%d","code":"c%02d","tags":%s,
			"title":"100%% No. %d_"}`, i%3, i, 24-i, tags, i))
		if i%2 == 0 {
			count(t, b, l.ID, int64(i%7)*10)
		}
		if i%3 == 0 {
			b.clock.Add(1)
		}
	}
	for _, q := range []Query{
		{}, {Order: ByCode}, {Order: ByClicks}, {Tag: "fifth"}, {Search: "HOST1.example"},
		{Search: "p2", Order: ByCode}, {Search: "0% no. 7_"}, {Search: "c0"}, {Search: "nothing"},
		{Search: "ÜNÏ 😀", Order: ByCode},
		{Tag: "all", Search: "host2", Order: ByClicks}, {Owner: "me"}, {Owner: "you"},
	} {
		q.Limit = MaxPage
		whole, err := b.List(t.Context(), q)
		if err != nil || whole.Next != "" {
			t.Fatalf("%+v: %v", q, err)
		}
		var pages []Link
		q.window, q.time = 3, -1 // a search goes on from window to window
		for q.Limit = 4; ; {
			p, err := b.List(t.Context(), q)
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			pages = append(pages, p.Links...)
			if q.After = p.Next; p.Next == "" {
				break
			}
		}
		if diff := cmp.Diff(whole.Links, pages); diff != "" {
			t.Errorf("%+v: pages differ from the whole: %s", q, diff)
		}
		want := map[string]int{"": 25, "HOST1.example": 8, "p2": 6, "0% no. 7_": 1, "c0": 10,
			"nothing": 0, "host2": 8, "ÜNÏ 😀": 0}[q.Search]
		if q.Tag == "fifth" {
			want = 5
		}
		if q.Owner == "you" {
			want = 0
		}
		if len(pages) != want {
			t.Errorf("%+v: %d links, want %d", q, len(pages), want)
		}
		checkOrder(t, q.Order, pages)
	}
	first, err := b.List(t.Context(), Query{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []string{"x", first.Next + "A", "Y2E", strings.Repeat("A", 500)} {
		if _, err := b.List(t.Context(), Query{After: after}); !errors.Is(err, ErrCursor) {
			t.Errorf("after %q: %v", after, err)
		}
	}
	if n, err := b.Count(t.Context()); err != nil || n != 25 {
		t.Errorf("count %d, %v", n, err)
	}
}

func checkOrder(t *testing.T, o Order, list []Link) {
	t.Helper()
	ok := slices.IsSortedFunc(list, func(a, b Link) int {
		switch o {
		case ByCode:
			return strings.Compare(a.Code, b.Code)
		case ByClicks:
			return int(b.Clicks - a.Clicks)
		}
		return int(b.CreatedAt - a.CreatedAt)
	})
	if !ok {
		t.Errorf("not in order %c", o)
	}
}

func keys(t *testing.T, b *bed) {
	ctx := t.Context()
	k, secret, err := b.keys.Add(ctx, "ci", RoleWrite)
	if err != nil || !strings.HasPrefix(secret, "hr_") || len(secret) < 29 {
		t.Fatalf("%q, %v", secret, err)
	}
	got, ok, err := b.keys.Find(ctx, secret)
	if err != nil || !ok || got.ID != k.ID || got.Role != RoleWrite {
		t.Errorf("find: %+v, %t, %v", got, ok, err)
	}
	for _, wrong := range []string{"", "hr_", secret + "x", strings.ToUpper(secret), secret[3:]} {
		if _, ok, err := b.keys.Find(ctx, wrong); ok || err != nil {
			t.Errorf("%q was taken: %v", wrong, err)
		}
	}
	list, err := b.keys.List(ctx)
	if err != nil || len(list) != 1 || list[0].LastUsedAt == 0 {
		t.Errorf("list: %+v, %v", list, err)
	}
	if err := b.keys.Remove(ctx, k.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := b.keys.Find(ctx, secret); ok {
		t.Error("a key that was taken away is taken")
	}
	if err := b.keys.Remove(ctx, k.ID); !errors.Is(err, ErrNoKey) {
		t.Errorf("removed twice: %v", err)
	}
	for _, bad := range []struct {
		name string
		role Role
	}{{"", RoleRead}, {"a\nb", RoleRead}, {"a", "root"}, {"a", ""}} {
		if _, _, err := b.keys.Add(ctx, bad.name, bad.role); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	for _, c := range []struct {
		a, b Role
		want bool
	}{{RoleAdmin, RoleWrite, true}, {RoleRead, RoleRead, true}, {RoleRead, RoleWrite, false},
		{"", RoleRead, false}} {
		if c.a.Covers(c.b) != c.want {
			t.Errorf("%s covers %s: want %t", c.a, c.b, c.want)
		}
	}
}
