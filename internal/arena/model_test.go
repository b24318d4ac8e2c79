package arena

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A model is an arena beside what a plain map holds. Its operations are chosen by bytes, at
// random or a fuzzer's.
type model struct {
	t    *testing.T
	a    *Arena
	ops  []byte
	held map[Ref][]byte // what was given to Add
	refs []Ref          // its keys
	seen []look         // readers in a Section
	made int
}

// A look is a reader in a Section, and what it has found.
type look struct {
	s    Section
	refs []Ref
	want [][]byte
}

func newModel(t *testing.T, max int64, ops []byte) *model {
	a, err := New(max)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return &model{t: t, a: a, ops: ops, held: make(map[Ref][]byte)}
}

// number returns the next number below n, 0 once there are no more operations.
func (m *model) number(n int) int {
	var b [3]byte
	m.ops = m.ops[copy(b[:], m.ops):]
	return (int(b[0]) | int(b[1])<<8 | int(b[2])<<16) % n
}

// size returns a size of an entry: mostly of slots, of runs, and of runs of several pages.
func (m *model) size() int {
	switch m.number(8) {
	case 0:
		return m.number(20)
	case 1, 2, 3:
		return m.number(300)
	case 4, 5:
		return m.number(m.a.pageBytes / 6)
	case 6:
		return m.number(m.a.pageBytes)
	}
	return m.number(5 * m.a.pageBytes)
}

func (m *model) run() {
	for step := 0; len(m.ops) > 0; step++ {
		switch op := m.number(32); {
		case op < 14:
			m.add(m.size())
		case op < 24:
			if len(m.refs) > 0 {
				m.free(m.number(len(m.refs)))
			}
		case op < 26:
			m.enter()
		case op < 28:
			m.leave()
		case op < 29:
			m.evacuate()
		case op < 30:
			m.a.Trim()
		case op < 31:
			for n := len(m.refs) / 2; n > 0; n-- { // as when a resource is dropped
				m.free(m.number(len(m.refs)))
			}
		case step%16 == 0:
			m.check()
		}
	}
	m.end()
}

// content returns the bytes of the entry made as the nth.
func content(n, size int) []byte {
	b := make([]byte, size)
	r := rand.NewPCG(uint64(n), uint64(size))
	for i := 0; i < size; i += 8 {
		var word [8]byte
		binary.NativeEndian.PutUint64(word[:], r.Uint64())
		copy(b[i:], word[:])
	}
	return b
}

func (m *model) add(size int) error {
	m.made++
	b := content(m.made, size)
	cut := size / 3
	ref, err := m.a.Add(b[:cut], nil, b[cut:])
	if err != nil {
		return err
	}
	if _, twice := m.held[ref]; twice || ref == 0 {
		m.t.Fatalf("entry %d is given out twice", ref)
	}
	m.held[ref] = b
	m.refs = append(m.refs, ref)
	return nil
}

func (m *model) free(i int) {
	ref := m.refs[i]
	m.refs[i] = m.refs[len(m.refs)-1]
	m.refs = m.refs[:len(m.refs)-1]
	delete(m.held, ref)
	m.a.Free(ref)
}

// enter has a reader look at some of the entries.
func (m *model) enter() {
	l := look{s: m.a.EnterAt(uint32(m.number(1 << 20)))}
	for range min(8, len(m.refs)) {
		ref := m.refs[m.number(len(m.refs))]
		l.refs, l.want = append(l.refs, ref), append(l.want, m.held[ref])
	}
	m.seen = append(m.seen, l)
}

// leave has a reader look at its entries again, whatever has become of them, and leave.
func (m *model) leave() {
	if len(m.seen) == 0 {
		return
	}
	i := m.number(len(m.seen))
	l := m.seen[i]
	m.seen = slices.Delete(m.seen, i, i+1)
	for i, ref := range l.refs {
		m.want(l.s, ref, l.want[i])
	}
	l.s.Leave()
}

func (m *model) want(s Section, ref Ref, want []byte) {
	m.t.Helper()
	v := s.View(ref)
	if v.Len() != HeadBytes+len(want) || !bytes.Equal(v.AppendTo(nil, HeadBytes, v.Len()), want) {
		m.t.Fatalf("entry %d of %d bytes is not what was added", ref, len(want))
	}
}

// evacuate makes room for an entry by freeing those that are in its way.
func (m *model) evacuate() {
	if len(m.refs) == 0 {
		return
	}
	size := m.size()
	s := m.a.Enter()
	out := s.Evacuate(nil, m.refs[m.number(len(m.refs))], size)
	s.Leave()
	for _, ref := range out {
		i := slices.Index(m.refs, ref)
		if i < 0 {
			m.t.Fatalf("entry %d is to go, and is none", ref)
		}
		m.free(i)
	}
	if err := m.add(size); err != nil && len(m.seen) == 0 && !guarded {
		m.t.Fatalf("no room for %d bytes after %d entries have gone: %v", size, len(out), err)
	}
}

func (m *model) check() {
	m.t.Helper()
	if wrong := m.a.Check(); wrong != nil {
		m.t.Fatal(strings.Join(wrong, "\n"))
	}
	s := m.a.Enter()
	defer s.Leave()
	bytes := uint64(0)
	for ref, want := range m.held {
		m.want(s, ref, want)
		bytes += uint64(HeadBytes + len(want))
	}
	st := m.a.Stats()
	if st.Entries != uint64(len(m.held)) || st.EntryBytes != bytes {
		m.t.Fatalf("%d entries of %d bytes: %+v", len(m.held), bytes, st)
	}
	if st.SlotBytes+st.LimboBytes > st.HeldBytes || st.HeldBytes > st.MaxBytes {
		m.t.Fatalf("more is taken than there is: %+v", st)
	}
}

// end frees everything: nothing may be left.
func (m *model) end() {
	m.check()
	for len(m.seen) > 0 {
		m.leave()
	}
	for len(m.refs) > 0 {
		m.free(len(m.refs) - 1)
	}
	m.check()
	wantEmpty(m.t, m.a)
}

// wantEmpty fails unless all memory is free, once no reader is in a Section.
func wantEmpty(t *testing.T, a *Arena) {
	t.Helper()
	a.mu.Lock()
	first := a.reclaim()
	reclaimed := first && a.reclaim()
	a.guard.drain(a)
	a.mu.Unlock()
	s := a.Stats()
	unit := uint64(a.unit) // of page 0, which is taken
	if s.Entries+s.EntryBytes+s.SlotBytes+s.LimboBytes != 0 || s.HeldBytes != unit || !reclaimed {
		t.Errorf("nothing is held, and reclaimed is %v: %+v", reclaimed, s)
	}
	if wrong := a.Check(); wrong != nil {
		t.Error(strings.Join(wrong, "\n"))
	}
}

// TestArena_HoldsWhatAPlainMapHolds compares the arena with a map, while readers look on.
func TestArena_HoldsWhatAPlainMapHolds(t *testing.T) {
	for seed := range uint64(5) {
		ops := content(int(seed), 20_000)
		newModel(t, 4<<20, ops).run()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzArena(f *testing.F) {
	f.Add(content(1, 2000))
	f.Fuzz(func(t *testing.T, ops []byte) {
		newModel(t, 1<<20, ops).run()
	})
}
