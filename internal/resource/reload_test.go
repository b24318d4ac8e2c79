package resource

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestSet_ReloadKeepsOldOnError(t *testing.T) {
	h := newHouse(t, nil)
	bad := append(houseSpecs(), Spec{Source: "main", Table: &source.Spec{Name: "x", Table: "nope"}})
	err := h.set.Reload(t.Context(), bad)
	if err == nil || !strings.Contains(err.Error(), "nope") {
		t.Fatalf("Reload = %v, want an error that names the table", err)
	}
	h.hit("dept", "10")
	one := houseSpecs()[2:3]
	if err := h.set.Reload(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if _, ok := h.set.Lookup("dept"); ok || len(h.set.All()) != 1 {
		t.Error("a resource that is not configured any more is still there")
	}
	h.ready()
	h.hit("city", "Tulsa,OK")
}

// A reload that comes after the end, as a SIGHUP may before a SIGTERM, builds nothing:
// nobody would close what it has built.
func TestSet_ReloadAfterCloseBuildsNothing(t *testing.T) {
	h := newHouse(t, nil)
	if err := h.set.Close(); err != nil {
		t.Fatal(err)
	}
	specs := houseSpecs()
	specs[0].MaxLimit = 7
	if err := h.set.Reload(t.Context(), specs); err == nil {
		t.Error("a reload of what is closed succeeds")
	}
	if r, ok := h.set.Lookup("dept"); !ok || r.revision.Load().spec.MaxLimit == 7 {
		t.Error("a reload of what is closed has changed it")
	}
}

func TestSet_ReloadUnderLoad(t *testing.T) {
	h := newHouse(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				for _, key := range []row.Key{"10", "20", "99"} {
					r, ok := h.set.Lookup("dept")
					if !ok {
						t.Error("dept is gone")
						return
					}
					if _, err := r.Get(context.Background(), key, Options{}); err != nil {
						t.Errorf("Get during a reload: %v", err)
						return
					}
				}
			}
		})
	}
	for i := range 10 {
		specs := houseSpecs()
		specs[0].MaxLimit = 100 + i
		if err := h.set.Reload(t.Context(), specs); err != nil {
			t.Error(err)
		}
	}
	cancel()
	wg.Wait()
}

// A write that is under way while its resources are replaced, by a reload or because their
// definition has changed, drops what the new ones have read before its commit.
func TestSet_ReloadBesideAWrite(t *testing.T) {
	h, hooked := newHooked(t, nil)
	specs := houseSpecs()
	specs[1].MaxLimit = 7
	for sal, replace := range map[string]func(){
		"4711": func() {
			if err := h.set.Reload(t.Context(), specs); err != nil {
				t.Error(err)
			}
			h.get("emp", "7369", Options{}) // by the new revision, of before the commit
		},
		"4712": func() {
			f := h.resource("emp").revision.Load()
			f.src.renew(f, true)
			if h.resource("emp").revision.Load() == f {
				t.Error("the form was not replaced")
			}
			h.hit("emp", "7369")
			h.list("emp", 5, Options{})
		},
	} {
		h.hit("emp", "7369")
		var once sync.Once
		first := func() { once.Do(replace) }
		hooked.touched.Store(&first)
		h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7369"}, `{"sal":`+sal+`}`)
		if got, origin := h.get("emp", "7369", Options{}); !strings.Contains(got, sal) {
			t.Errorf("after the write: %s (%d)", got, origin)
		}
		if got := string(h.list("emp", 5, Options{}).Doc.Body()); !strings.Contains(got, sal) {
			t.Errorf("the list after the write: %s", got)
		}
	}
}
