package resource

import (
	"log/slog"
	"strings"
	"testing"
)

// newAudited is a house whose feed can be made to leave everything out, and an auditor.
func newAudited(t *testing.T) (*house, *deaf, *lockedBuffer) {
	s, logged := new(deaf), new(lockedBuffer)
	h := newHouse(t, func(o *SetOptions) {
		s.Source = o.Sources[0].Source
		o.Sources[0].Source, o.Sources[0].Audit, o.Lists = s, 200, 1<<20
		o.Log = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	return h, s, logged
}

// stale returns how many wrong copies the auditor has found.
func (h *house) stale() uint64 { return h.set.Stats().Sources[0].AuditStale }

// A list that is not what the database has is found, told and forgotten, as a document is: a
// page, or a question, of a row or of one within it.
func TestAudit_FindsAWrongList(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		keep   func(*house) string
	}{
		"page": {"UPDATE dept SET loc = 'ZETA' WHERE deptno = 10",
			func(h *house) string { return string(h.keepList("dept", 5).Doc.Body()) }},
		"question": {"UPDATE emp SET ename = 'ZETA' WHERE empno = 7782",
			func(h *house) string { return string(h.keepAsked("emp", "deptno=eq.10").Doc.Body()) }},
		"rows within": {"UPDATE emp SET ename = 'ZETA' WHERE empno = 7782",
			func(h *house) string { return string(h.keepList("dept", 5).Doc.Body()) }},
	} {
		t.Run(name, func(t *testing.T) {
			h, feed, logged := newAudited(t)
			c.keep(h)
			audited := h.set.Stats().Sources[0].Audited
			h.until(func() bool { c.keep(h); return h.set.Stats().Sources[0].Audited > audited+20 })
			if n := h.stale(); n != 0 {
				t.Fatalf("%d lists were taken to be wrong, none is", n)
			}
			feed.deaf.Store(true)
			h.exec(c.change)
			h.until(func() bool { return h.stale() > 0 })
			if got := c.keep(h); !strings.Contains(got, "ZETA") {
				t.Errorf("after the auditor has seen it: %s", got)
			}
			if got := logged.String(); !strings.Contains(got, "list=true") {
				t.Errorf("the log does not say that it is a list: %s", got)
			}
		})
	}
}

// A row within a document that is not what the database has is found.
func TestAudit_FindsAWrongRowWithin(t *testing.T) {
	h, feed, _ := newAudited(t)
	h.hit("dept", "10")
	feed.deaf.Store(true)
	h.exec("UPDATE emp SET ename = 'ZETA' WHERE empno = 7782")
	h.until(func() bool { return h.stale() > 0 })
	if got := h.hit("dept", "10"); !strings.Contains(got, "ZETA") {
		t.Errorf("after the auditor has seen it: %s", got)
	}
}
