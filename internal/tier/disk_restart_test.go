package tier_test

import (
	"path/filepath"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// warm is a disk that is closed and opened again.
type warm struct {
	t    *testing.T
	path string
	d    *tier.Disk
	s    *tier.DiskSource
}

func openWarm(t *testing.T) *warm {
	w := &warm{t: t, path: filepath.Join(t.TempDir(), "cache.db")}
	w.open()
	return w
}

func (w *warm) open() {
	w.d = openDisk(w.t, w.path, 8<<20)
	w.s = w.d.Source("main")
	w.s.Bind(1, "depts v1")
}

func (w *warm) again() {
	w.t.Helper()
	if err := w.d.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
}

func (w *warm) want(key string, held bool) {
	w.t.Helper()
	if _, ok := w.d.Get(ref(key)); ok != held {
		w.t.Errorf("Get(%q) = %v, want %v", key, ok, held)
	}
}

func at(pos uint64) tier.Mark { return tier.Mark{Origin: "o", Pos: pos} }

func TestDisk_RestartTrustsOnlyWhatCaughtUp(t *testing.T) {
	w := openWarm(t)
	w.s.Begin(at(10))
	w.d.Put(ref("1"), tiertest.Document(100, 1))
	w.d.Put(ref("2"), tiertest.Absence(1))
	w.s.Applied(at(20))
	w.again()

	w.want("1", false) // nobody has said anything
	if m, ok := w.s.Committed(); !ok || m != at(20) {
		t.Fatalf("Committed() = %v, %v", m, ok)
	}
	if !w.s.Resume(at(20)) {
		t.Fatal("Resume at the committed position is refused")
	}
	w.want("1", false) // a change since then may be on its way
	w.d.Drop(ref("2"))
	w.s.CaughtUp()
	w.want("1", true)
	w.want("2", false)

	// It is handed out under the lease's stamp, and only it.
	under := row.Stamp{Epoch: 4, Generation: 5, At: 6}
	d, ok := w.d.Load(ref("1"), under)
	if !ok || d.Stamp() != under {
		t.Errorf("Load = %+v, %v", d, ok)
	}
}

func TestDisk_RestartElsewhereTrustsNothing(t *testing.T) {
	tests := map[string]struct {
		resume tier.Mark
		held   bool
	}{
		"where it was":            {at(20), true},
		"before":                  {at(15), true},
		"after":                   {at(21), false},
		"another history":         {tier.Mark{Origin: "p", Pos: 20}, false},
		"before, another history": {tier.Mark{Origin: "p", Pos: 1}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := openWarm(t)
			w.s.Begin(at(10))
			w.d.Put(ref("1"), tiertest.Document(100, 1))
			w.s.Applied(at(20))
			w.again()
			if got := w.s.Resume(tt.resume); got != tt.held {
				t.Errorf("Resume(%v) = %v", tt.resume, got)
			}
			w.s.CaughtUp()
			w.want("1", tt.held)
			w.again() // and so it stays
			w.s.Resume(w.committed())
			w.s.CaughtUp()
			w.want("1", tt.held)
		})
	}
}

func (w *warm) committed() tier.Mark {
	w.t.Helper()
	m, ok := w.s.Committed()
	if !ok {
		w.t.Fatal("no committed position")
	}
	return m
}

// What a process binds no number to gets no drops from it. It is forgotten once changes pass that
// the process has applied, and nothing else is: what is bound, and what other sources have.
func TestDisk_OfNobodyIsForgottenOnceChangesPass(t *testing.T) {
	depts, emps, cities := ref("1"), tier.Ref{Resource: 2, Key: "1"}, tier.Ref{Resource: 3, Key: "1"}
	for name, tt := range map[string]struct {
		applied uint64 // by the second process
		held    bool
	}{"no change": {20, true}, "a change": {21, false}} {
		w := openWarm(t)
		other := w.d.Source("other")
		w.s.Bind(2, "emps")
		other.Bind(3, "cities")
		w.s.Begin(at(10))
		other.Begin(at(10))
		for _, r := range []tier.Ref{depts, emps, cities} {
			w.d.Put(r, tiertest.Document(100, 1))
		}
		w.s.Applied(at(20))
		other.Applied(at(20))

		w.again() // binds the first alone
		w.s.Resume(w.committed())
		w.s.CaughtUp()
		w.s.Applied(at(tt.applied))

		w.again()
		other = w.d.Source("other")
		w.s.Bind(2, "emps")
		other.Bind(3, "cities")
		w.s.Resume(w.committed())
		other.Resume(at(20))
		w.s.CaughtUp()
		other.CaughtUp()
		for r, held := range map[tier.Ref]bool{depts: true, emps: tt.held, cities: true} {
			if _, ok := w.d.Get(r); ok != held {
				t.Errorf("%s: %d/%s is there: %v, want %v", name, r.Resource, r.Key, ok, held)
			}
		}
	}
}

func TestDisk_HistoriesFlushWithoutTouchingDocuments(t *testing.T) {
	tests := map[string]func(w *warm){
		"Begin":   func(w *warm) { w.s.Begin(at(30)) },
		"DropAll": func(w *warm) { w.d.DropAll(1) },
		"Unbind":  func(w *warm) { w.d.Unbind(1); w.s.Bind(2, "depts v1"); w.s.Bind(1, "depts v1") },
		"Bind": func(w *warm) {
			w.s.Bind(2, "depts v1")
			w.s.Bind(1, "depts v1")
		},
	}
	for name, flush := range tests {
		for _, committed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				w := openWarm(t)
				w.s.Begin(at(10))
				w.d.Put(ref("1"), tiertest.Document(100, 1))
				ticket := w.d.Ticket(1)
				if committed {
					w.sync()
				}
				w.want("1", true)
				flush(w)
				w.want("1", false)
				w.d.PutUnder(ticket, ref("1"), tiertest.Document(100, 1)) // of a load begun before
				w.want("1", false)
				w.d.Put(ref("2"), tiertest.Document(100, 2))
				w.want("2", true)
				w.again()
				w.s.Resume(w.committed())
				w.s.CaughtUp()
				w.want("1", false)
				w.want("2", true)
			})
		}
	}
}

func (w *warm) sync() {
	w.t.Helper()
	if err := w.d.Sync(); err != nil {
		w.t.Fatal(err)
	}
}

// TestDisk_AnotherCompilationSeesNothing: a document belongs to its query.
func TestDisk_AnotherCompilationSeesNothing(t *testing.T) {
	w := openWarm(t)
	w.s.Begin(at(10))
	w.d.Put(ref("1"), tiertest.Document(100, 1))
	w.d.Put(tier.Ref{Resource: 9, Key: "1"}, tiertest.Document(100, 1)) // of nobody
	w.again()
	w.s.Bind(2, "depts v2")
	w.s.Bind(9, "nine")
	w.s.Resume(at(10))
	w.s.CaughtUp()
	w.want("1", true)
	for _, n := range []uint32{2, 9, 10} {
		if _, ok := w.d.Get(tier.Ref{Resource: n, Key: "1"}); ok {
			t.Errorf("resource %d sees what is not its own", n)
		}
	}
}

// TestDisk_BindAgainChangesNothing: a reload binds what has not changed, too.
func TestDisk_BindAgainChangesNothing(t *testing.T) {
	w := openWarm(t)
	w.d.Put(ref("1"), tiertest.Document(100, 1))
	w.s.Bind(1, "depts v1")
	w.want("1", true)
	w.sync()
	w.s.Bind(1, "depts v1")
	w.want("1", true)
}

// TestDisk_RecallWantsTheSameStamp: within one process the stamp says whether a
// copy is good, as it does in memory.
func TestDisk_RecallWantsTheSameStamp(t *testing.T) {
	w := openWarm(t)
	s := row.Stamp{Epoch: 1, Generation: 3} // as tiertest.Document has it
	w.d.Put(ref("1"), tiertest.Document(100, 3))
	for _, committed := range []bool{false, true} {
		if committed {
			w.sync()
		}
		if _, ok := w.d.Load(ref("1"), s); !ok {
			t.Errorf("committed %v: a copy with the lease's stamp is not recalled", committed)
		}
		for _, other := range []row.Stamp{{Epoch: 2, Generation: 3}, {Epoch: 1, Generation: 4}} {
			if _, ok := w.d.Load(ref("1"), other); ok {
				t.Errorf("committed %v: a copy of %v is recalled under %v", committed, s, other)
			}
		}
	}
}

func TestDisk_CommittedFollowsApplied(t *testing.T) {
	w := openWarm(t)
	if m, ok := w.s.Committed(); ok {
		t.Errorf("a new disk has committed %v", m)
	}
	w.s.Begin(at(10))
	w.s.Applied(at(30))
	w.s.Applied(at(20))                              // before
	w.s.Applied(tier.Mark{Origin: "other", Pos: 99}) // elsewhere
	w.sync()
	if m := w.committed(); m != at(30) {
		t.Errorf("Committed() = %v, want 30", m)
	}
}
