package resource

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// explainsRow waits until memory would do this with a document, and says why.
func (h *house) explainsRow(name, key string, want ListState) *Explanation {
	h.t.Helper()
	var e *Explanation
	h.until(func() bool {
		var err error
		if e, err = h.resource(name).Explain(h.t.Context(), row.Key(key), row.FormatJSON); err != nil {
			h.t.Fatal(err)
		}
		if e.Why() == "" {
			h.t.Fatalf("%s: nothing is said of %s", key, e.State)
		}
		return e.State == want
	})
	return e
}

// A document is explained as a read would find it, under the key that all spellings have.
func TestExplain_Row(t *testing.T) {
	h := newHouse(t, nil)
	for range 3 { // nothing is loaded
		if e := h.explainsRow("dept", "010", ListAbsent); e.Key != "10" || e.Doc != nil || e.Last == nil {
			t.Errorf("%+v", e)
		}
	}
	h.get("dept", "10", Options{})
	if e := h.explainsRow("dept", "10", ListHit); e.Doc.Absent() || e.Token.IsZero() {
		t.Errorf("%+v", e)
	}
	h.get("dept", "99", Options{})
	if e := h.explainsRow("dept", "99", ListHit); !e.Doc.Absent() {
		t.Errorf("%+v", e)
	}
	if _, err := h.resource("dept").Explain(t.Context(), "ten", row.FormatJSON); !errors.Is(err, row.ErrKey) {
		t.Errorf("a key that no row can have: %v", err)
	}
	h.write("dept", Write{Op: source.OpMerge, Key: "10"}, `{"dname":"X"}`)
	h.until(func() bool { // the feed tells of the change
		h.get("dept", "10", Options{})
		e := h.explainsRow("dept", "10", ListHit)
		return e.Last != nil && !e.Last.At.IsZero()
	})
	if err := h.resource("dept").Invalidate(nil); err != nil {
		t.Fatal(err)
	}
	h.explainsRow("dept", "10", ListReplaced)
}

func TestExplain_RowsThatAreNotKept(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) {
		o.Sources[0].Mode = source.FeedNone
		o.Resources[1].TTL = time.Nanosecond
		o.Resources[2].Pass = true
	})
	for _, name := range []string{"dept", "city"} {
		if e := h.explainsRow(name, map[string]string{"dept": "10", "city": "a,b"}[name], ListUnkept); e.Last != nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
	h.get("emp", "7839", Options{})
	h.explainsRow("emp", "7839", ListExpired)
}

func TestExplain_RowWhileTheFeedLags(t *testing.T) {
	for lag, want := range map[OnLag]ListState{LagStale: ListStale, LagFail: ListLagging, LagBypass: ListLagging} {
		h, s := newFailingHouse(t, nil, StalePolicy{OnLag: ptr(lag), MaxStale: ptr(time.Hour)})
		h.get("dept", "10", Options{})
		h.explainsRow("dept", "10", ListHit)
		s.lag(h)
		if e := h.explainsRow("dept", "10", want); e.Doc == nil {
			t.Errorf("%s: %+v", lag, e)
		}
	}
}

func TestExplain_RowOnDisk(t *testing.T) {
	h := newDiskHouse(t, filepath.Join(t.TempDir(), "cache.db"), nil)
	h.get("dept", "10", Options{})
	h.explainsRow("dept", "10", ListOnDisk)
}
