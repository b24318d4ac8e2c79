package resource

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// reload reloads what change makes of the specs of a house.
func (h *house) reload(change func(specs []Spec) []Spec) {
	h.t.Helper()
	if err := h.set.Reload(h.t.Context(), change(houseSpecs())); err != nil {
		h.t.Fatal(err)
	}
}

// loads returns how often documents and lists of resources were read.
func (h *house) loads(names ...string) (n uint64) {
	for _, name := range names {
		s := h.resource(name).Stats()
		n += s.Misses + s.Lists.Absent + s.Lists.Moved + s.Lists.Evicted + s.Lists.Bypassed
	}
	return n
}

// still asks for what was kept of dept and emp, and reports whether memory has all of it.
func (h *house) still() {
	h.t.Helper()
	names := []string{"dept", "emp"}
	before := h.loads(names...)
	for name, key := range map[string]string{"dept": "10", "emp": "7782"} {
		if _, origin := h.get(name, key, Options{}); origin != HitMemory {
			h.t.Errorf("%s/%s is answered as %v", name, key, origin)
		}
		if a := h.list(name, 5, Options{}); a.Origin != HitMemory {
			h.t.Errorf("the list of %s is answered as %v", name, a.Origin)
		}
	}
	if n := h.loads(names...) - before; n != 0 {
		h.t.Errorf("%d loads", n)
	}
}

// A reload leaves what is kept of resources that are defined as before, whatever it changes of
// others, and their watchers, counters and positions.
func TestSet_ReloadKeepsWhatIsUnchanged(t *testing.T) {
	emp := func(specs []Spec) *Spec { return &specs[1] }
	for name, change := range map[string]func([]Spec) []Spec{
		"nothing":     func(s []Spec) []Spec { return s },
		"another":     func(s []Spec) []Spec { s[2].MaxLimit = 7; return s },
		"order":       func(s []Spec) []Spec { s[0], s[3] = s[3], s[0]; return s },
		"removed":     func(s []Spec) []Spec { return s[:2] },
		"filters":     func(s []Spec) []Spec { s[3].Table.Unguarded = true; return s },
		"access":      func(s []Spec) []Spec { emp(s).Access.Read = "tokens"; return s },
		"read only":   func(s []Spec) []Spec { emp(s).Writable = false; return s },
		"methods":     func(s []Spec) []Spec { emp(s).Methods = []string{"put"}; return s },
		"conditional": func(s []Spec) []Spec { emp(s).RequireIfMatch = true; return s },
		"warm":        func(s []Spec) []Spec { emp(s).Warm = new(Warm); return s },
		"on lag": func(s []Spec) []Spec {
			bypass := LagBypass
			emp(s).Stale.OnLag = &bypass
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, func(o *SetOptions) { o.Lists = 1 << 20 })
			for _, name := range []string{"dept", "emp"} {
				h.keepList(name, 5)
			}
			h.hit("dept", "10")
			h.hit("emp", "7782")
			w := h.resource("emp").Watch(1)
			defer w.Close()
			r, hits := h.resource("emp"), h.resource("emp").Stats().Hits
			before := h.set.Stats().Sources[0]
			h.reload(change)
			h.still()
			after := h.set.Stats().Sources[0]
			if h.resource("emp") != r || r.Stats().Hits != hits+1 {
				t.Error("the resource or its counters are other ones")
			}
			if after.Epoch != before.Epoch || after.Gaps != before.Gaps {
				t.Errorf("epoch %d and %d gaps after %d and %d", after.Epoch, after.Gaps,
					before.Epoch, before.Gaps)
			}
			select {
			case e := <-w.C:
				if name != "access" || !e.Own {
					t.Errorf("a watcher was told %+v", e)
				}
			default:
			}
			if err := h.set.Check(); err != nil {
				t.Error(err)
			}
			h.exec("UPDATE emp SET sal = 4711 WHERE empno = 7782")
			h.told()
			if _, origin := h.get("emp", "7782", Options{}); origin == HitMemory {
				t.Error("a change after the reload was not told")
			}
			<-w.C
		})
	}
}

// A resource that is defined otherwise begins with nothing, and so does each whose documents
// hold rows of it. Its watchers are told, as those of one that is no more.
func TestSet_ReloadEmptiesWhatIsChanged(t *testing.T) {
	hide := func(s []Spec) []Spec {
		only := map[string]source.FieldSpec{"sal": {Hide: true}}
		s[1].Table.Fields = only // which is within dept, too
		return s
	}
	h := newHouse(t, func(o *SetOptions) { o.Lists = 1 << 20 })
	for _, name := range []string{"dept", "emp", "person"} {
		h.keepList(name, 5)
	}
	h.hit("dept", "10")
	h.hit("emp", "7782")
	h.hit("city", "Tulsa,OK")
	var watches []*Watch
	for _, name := range []string{"dept", "emp", "city"} {
		w := h.resource(name).Watch(4)
		defer w.Close()
		watches = append(watches, w)
	}
	h.reload(func(s []Spec) []Spec { s = hide(s); return append(s[:2:2], s[3]) })
	for _, w := range watches {
		if e := <-w.C; !e.Reset {
			t.Errorf("a watcher was told %+v", e)
		}
	}
	for name, key := range map[string]string{"dept": "10", "emp": "7782"} {
		if body, origin := h.get(name, key, Options{}); origin == HitMemory ||
			len(body) == 0 || strings.Contains(body, `"sal"`) {
			t.Errorf("%s is answered as %v: %s", name, origin, body)
		}
		if a := h.list(name, 5, Options{}); a.Origin == HitMemory ||
			strings.Contains(string(a.Doc.Body()), `"sal"`) {
			t.Errorf("the list of %s is answered as %v", name, a.Origin)
		}
	}
	if a := h.list("person", 5, Options{}); a.Origin != HitMemory {
		t.Errorf("an unchanged list is answered as %v", a.Origin)
	}
	if _, ok := h.set.Lookup("city"); ok {
		t.Error("city is still there")
	}
	if err := h.set.Check(); err != nil {
		t.Error(err)
	}
}

// What a list embeds may be read by others after a reload: its spelling alone finds it no more.
func TestSet_ReloadOfAccessForgetsSpellings(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) { o.Lists = 1 << 20 })
	r := h.resource("emp")
	ask := func(access uint64) {
		raw := "select=empno,dept(dname)"
		want, err := r.Query(raw, query.Options{Reads: func(string) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.SelectList(t.Context(), &ListAsk{Query: want, Raw: raw, Alone: true,
			Access: access, Pack: packLines}, Options{})
		if err != nil {
			t.Fatal(err)
		}
	}
	finds := func() bool {
		var s Snapshot
		s.Begin(time.Now())
		l, _ := r.LookupList("select=empno,dept(dname)", row.FormatJSON, &s)
		return l != nil
	}
	before := r.AccessVersion()
	for range 3 {
		ask(before)
	}
	if !finds() {
		t.Fatal("the list is not kept")
	}
	h.reload(func(s []Spec) []Spec { s[0].Access.Read = "tokens"; return s })
	if finds() {
		t.Error("it is found by its spelling after the access of what it embeds has changed")
	}
	if ask(before); finds() {
		t.Error("a request that has looked at the access of before has it found")
	}
	if ask(r.AccessVersion()); !finds() {
		t.Error("it is not found again")
	}
}

// A definition that changes while a reload compiles is not what is served.
func TestSet_ReloadBesideAChangedDefinition(t *testing.T) {
	h, hooked := newHooked(t, nil)
	h.hit("emp", "7782")
	u := h.resource("emp").revision.Load().src
	var once sync.Once
	between := func() {
		once.Do(func() {
			h.exec("ALTER TABLE emp ADD COLUMN note TEXT DEFAULT 'new'")
			h.until(func() (told bool) {
				u.locked(func() { told = u.told > 0 })
				return told
			})
		})
	}
	hooked.compiled.Store(&between)
	h.reload(func(s []Spec) []Spec { s[1].MaxLimit = 7; return s })
	h.until(func() bool {
		body, _ := h.get("emp", "7782", Options{})
		return strings.Contains(body, `"note"`)
	})
	if err := h.set.Check(); err != nil {
		t.Error(err)
	}
}
