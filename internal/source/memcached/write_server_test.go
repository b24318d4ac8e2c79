package memcached

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestMemcached_WriteMakesChangesAndRemovesValues(t *testing.T) {
	p, server := newPlan(t, users)
	steps := []struct {
		op         source.Op
		body, want string // want is the value on the server; "absent"
		created    bool
	}{
		{source.OpCreate, `{"name":"Alice","mail":"a@b"}`, "Alice|a@b", true},
		{source.OpReplace, `{"mail":"c|d"}`, "|c|d", false},
		{source.OpMerge, `{"name":"Zoë"}`, "Zoë|c|d", false},
		{source.OpMerge, `{"mail":null}`, "Zoë", false},
		{source.OpMerge, `{"name":null}`, "", false},
		{source.OpMerge, `{}`, "", false},
		{source.OpReplace, `{"name":"a","mail":""}`, "a|", false},
		{source.OpDelete, "", "absent", false},
		{source.OpReplace, `{"name":"again"}`, "again", true},
		{source.OpDelete, "", "absent", false},
		{source.OpCreate, `{}`, "", true},
	}
	for i, s := range steps {
		done := mustWrite(t, p, s.op, "1", s.body)
		value, _, ok := server.Get("user:1")
		if !ok {
			value = "absent"
		}
		if value != s.want || done.Created != s.created || done.Deleted != (s.want == "absent") {
			t.Errorf("step %d: %q, created %v, deleted %v, want %q", i, value, done.Created,
				done.Deleted, s.want)
		}
		if got, want := jsonOf(p, done.Loaded), loadJSON(t, p, "1"); got != want {
			t.Errorf("step %d: the write answers %s, a read %s", i, got, want)
		}
	}
	for _, s := range []struct {
		op   source.Op
		key  row.Key
		body string
		want source.Class
	}{
		{source.OpCreate, "1", `{}`, source.Conflict},
		{source.OpMerge, "none", `{}`, source.NoRow},
		{source.OpDelete, "none", "", source.NoRow},
		{source.OpReplace, "1", `{"name":"a|b"}`, source.Invalid},
		{source.OpCreate, "", `{}`, source.Invalid},
		{source.OpReplace, "1", "", source.Invalid},
	} {
		if _, err := tryWrite(t, p, s.op, s.key, s.body); source.ClassOf(err) != s.want || err == nil {
			t.Errorf("op %d of %q with %s: %v", s.op, s.key, s.body, err)
		}
	}
}

func TestMemcached_WriteKeepsWhatItDoesNotName(t *testing.T) {
	server := dbtest.NewMemcached(t)
	s := openSource(t, server.URL(), Options{})
	object := mustCompile(t, s, source.ValueSpec{Format: source.ValueJSON,
		Fields: []string{"name", "tags"}})
	server.SetFor("k", `{"z":[1.0],"name":"old","a":{}}`, 42, 0)
	done := mustWrite(t, object, source.OpMerge, "k", `{"tags": [1,  {"b":"ü"}]}`)
	if got := jsonOf(object, done.Loaded); got != `{"name":"old","tags":[1,  {"b":"ü"}]}` {
		t.Errorf("the write answers %s", got)
	}
	const want = `{"name":"old","tags":[1,  {"b":"ü"}],"a":{},"z":[1.0]}`
	if got, flags, _ := server.Get("k"); got != want || flags != 42 {
		t.Errorf("merged: %s, flags %d", got, flags)
	}
	mustWrite(t, object, source.OpReplace, "k", `{"name":"<new>"}`)
	if got, flags, _ := server.Get("k"); got != `{"name":"<new>"}` || flags != 42 {
		t.Errorf("replaced: %s, flags %d", got, flags)
	}
	// A merge leaves bytes that no document can show as they are.
	server.Set("user:k", "\xff\xfe|mail")
	mustWrite(t, mustCompile(t, s, users), source.OpMerge, "k", `{"mail":"new"}`)
	if got, _, _ := server.Get("user:k"); got != "\xff\xfe|new" {
		t.Errorf("bytes are now %q", got)
	}
	blob := mustCompile(t, s, source.ValueSpec{Format: source.ValueBytes})
	mustWrite(t, blob, source.OpReplace, "b", `{"value":"AP98"}`)
	mustWrite(t, blob, source.OpMerge, "b", `{}`)
	if got, _, _ := server.Get("b"); got != "\x00\xff|" {
		t.Errorf("bytes are now %q", got)
	}
	if _, err := tryWrite(t, blob, source.OpMerge, "b", `{"value":null}`); source.ClassOf(err) !=
		source.Invalid {
		t.Errorf("a value that is null: %v", err)
	}
}

// Others change the value between the reading of it and the writing, some times
// or always.
func TestMemcached_WriteComparesWithWhatItReplaces(t *testing.T) {
	p, server := newPlan(t, users)
	server.Set("user:k", "0")
	in, err := p.Shape().DecodeJSON([]byte(`{"mail":"mine"}`))
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	touched := 0
	w := &source.Write{Op: source.OpMerge, Key: "k", Input: in,
		Check: func(l *source.Loaded) error {
			seen = append(seen, l.Values[0].Text())
			if len(seen) <= 3 {
				server.Set("user:k", fmt.Sprint(len(seen)))
			}
			return nil
		},
		Touch: func(c []source.Change, _ source.Position) {
			touched++
			key, ok := c[0].New.Key(p.Deps()[0].Columns)
			if key != "k" || !ok || c[0].Table != p.Deps()[0].Table || c[0].Op != source.Update {
				t.Errorf("touched %+v", c)
			}
		}}
	if _, err := p.Write(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "3"}, seen); diff != "" || touched != 1 {
		t.Errorf("checked (-want +got), touched %d times:\n%s", touched, diff)
	}
	if got, _, _ := server.Get("user:k"); got != "3|mine" {
		t.Errorf("the value is %q", got)
	}
	refused := errors.New("not this one")
	w.Touch = nil
	w.Check = func(*source.Loaded) error { return refused }
	for _, op := range []source.Op{source.OpMerge, source.OpReplace, source.OpDelete} {
		w.Op = op
		if _, err := p.Write(t.Context(), w); err != refused {
			t.Errorf("op %d is refused with %v", op, err)
		}
	}
	n := 0
	w.Check = func(*source.Loaded) error {
		n++
		server.Set("user:k", fmt.Sprint("other", n))
		return nil
	}
	if _, err := p.Write(t.Context(), w); source.ClassOf(err) != source.Retry || n != writeTries {
		t.Errorf("a delete that others are always before, %d tries: %v", n, err)
	}
	if got, _, _ := server.Get("user:k"); got != fmt.Sprint("other", n) {
		t.Errorf("the value is %q", got)
	}
}

// What is read and written under a condition by many loses no one's change.
func TestMemcached_WriteLosesNoUpdate(t *testing.T) {
	p, server := newPlan(t, source.ValueSpec{Format: source.ValueJSON, Fields: []string{"n"}})
	server.Set("k", `{"n":0}`)
	const writers, each = 4, 20
	stale := errors.New("somebody else was first")
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < each; {
				loaded, err := p.Load(t.Context(), []row.Key{"k"})
				if err != nil {
					t.Error(err)
					return
				}
				was, n := loaded[0].Values[0].Text(), 0
				_, _ = fmt.Sscan(was, &n)
				in, err := p.Shape().DecodeJSON(fmt.Appendf(nil, `{"n":%d}`, n+1))
				if err != nil {
					t.Error(err)
					return
				}
				_, err = p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "k", Input: in,
					Check: func(l *source.Loaded) error {
						if l.Values[0].Text() != was {
							return stale
						}
						return nil
					}})
				switch {
				case err == nil:
					done++
				case err != stale && source.ClassOf(err) != source.Retry:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got, _, _ := server.Get("k"); got != fmt.Sprintf(`{"n":%d}`, writers*each) {
		t.Errorf("%d increments made %s", writers*each, got)
	}
}

func TestMemcached_WriteExpires(t *testing.T) {
	spec := users
	spec.Expire = time.Second
	p, server := newPlan(t, spec)
	server.Set("user:old", "for good")
	mustWrite(t, p, source.OpReplace, "old", `{"name":"for a second"}`)
	mustWrite(t, p, source.OpCreate, "new", `{"name":"for a second"}`)
	server.Set("user:k", "for good")
	within(t, "the values to expire", func() bool {
		l := mustLoad(t, p, "old", "new")
		return !l[0].Found() && !l[1].Found()
	})
	if got := loadJSON(t, p, "k"); got != `{"name":"for good","mail":null}` {
		t.Errorf("a value without a time reads %s", got)
	}
}

func TestMemcached_WriteTooLargeKeepsTheOldValue(t *testing.T) {
	p, server := newPlan(t, source.ValueSpec{Format: source.ValueRaw})
	server.Set("k", "old")
	body := `{"value":"` + strings.Repeat("x", 2<<20) + `"}`
	for _, key := range []row.Key{"k", "new"} {
		_, err := tryWrite(t, p, source.OpReplace, key, body)
		if source.ClassOf(err) != source.TooLarge {
			t.Errorf("2 MiB under %s: %v", key, err)
		}
	}
	if got := loadJSON(t, p, "k"); got != `{"value":"old"}` {
		t.Errorf("the old value reads %s", got)
	}
}

func TestMemcached_WriteIsRefusedWhereTheSourceOnlyReads(t *testing.T) {
	server := dbtest.NewMemcached(t)
	p := mustCompile(t, openSource(t, server.URL(), Options{ReadOnly: true}), users)
	_, err := tryWrite(t, p, source.OpReplace, "k", `{}`)
	if source.ClassOf(err) != source.ReadOnly {
		t.Errorf("a write: %v", err)
	}
}
