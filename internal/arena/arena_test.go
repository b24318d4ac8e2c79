package arena

import (
	"errors"
	"reflect"
	"testing"
)

func newArena(t testing.TB, max int64) *Arena {
	t.Helper()
	a, err := New(max)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func TestNew_RefusesWhatRefsDoNotReach(t *testing.T) {
	for _, max := range []int64{-1, MaxBytes + 1} {
		if _, err := New(max); err == nil {
			t.Errorf("New(%d) gives an arena", max)
		}
	}
}

// TestNew_TooSmall: an arena of less than a page keeps nothing, and does no harm.
func TestNew_TooSmall(t *testing.T) {
	for _, max := range []int64{0, 1, smallestPage - 1} {
		a := newArena(t, max)
		if _, err := a.Add([]byte("x")); !errors.Is(err, ErrFull) {
			t.Errorf("Add to %d bytes: %v", max, err)
		}
		if s := a.Stats(); s != (Stats{}) || a.Check() != nil || a.Trim() != 0 {
			t.Errorf("%d bytes: %+v, %v", max, s, a.Check())
		}
		a.Enter().Leave()
	}
}

// TestClasses_WasteLittle: an entry leaves little of its slot empty, and a page of slots little
// at its end. Each class is larger than the one before, so that there is an end of them.
func TestClasses_WasteLittle(t *testing.T) {
	if guardRuns {
		t.Skip("this build has no slots")
	}
	for granule := granule; granule <= MaxBytes>>32; granule *= 2 {
		for pageBytes := smallestPage; pageBytes <= largestPage; pageBytes *= 2 {
			classes, of := classesOf(pageBytes, granule)
			if len(classes) > 256 {
				t.Fatalf("%d classes do not fit into a byte", len(classes))
			}
			wasted, asked := [2]int{}, [2]int{} // of all, and of those of which a page has many
			for n := 1; n <= (len(of)-1)*granule; n++ {
				c := classes[of[(n+granule-1)/granule]]
				// A step, and what the slots have been given that was left over.
				most := c.size/classSteps + c.size/c.slots + granule
				waste := c.size - n
				if waste < 0 || waste > most {
					t.Fatalf("%d bytes of a page of %d get a slot of %d", n, pageBytes, c.size)
				}
				for i, counts := range []bool{true, c.slots > 2*classSteps && c.size > classSteps*granule} {
					if counts {
						wasted[i], asked[i] = wasted[i]+waste, asked[i]+n
					}
				}
			}
			for i, most := range []float64{1.0 / 20, 1.0 / 48} {
				if mean := float64(wasted[i]) / float64(max(asked[i], 1)); mean > most {
					t.Errorf("with pages of %d bytes %.3f is wasted", pageBytes, mean)
				}
			}
			for i, c := range classes[1:] {
				if before := classes[i]; i > 0 && (c.size <= before.size || c.slots >= before.slots) {
					t.Errorf("%+v is behind %+v", c, before)
				}
				if rest := pageBytes - c.slots*c.size; rest < 0 || rest >= c.slots*granule {
					t.Errorf("a page of %d bytes with %d slots of %d has %d left over",
						pageBytes, c.slots, c.size, rest)
				}
			}
		}
	}
}

// TestArena_HasNoPointers: the collector finds nothing to follow in what is known of entries
// and pages.
func TestArena_HasNoPointers(t *testing.T) {
	for _, of := range []reflect.Type{
		reflect.TypeFor[Ref](), reflect.TypeFor[page](), reflect.TypeFor[class](), reflect.TypeFor[dead](),
	} {
		if !numbers(of) {
			t.Errorf("%v is not of numbers alone", of)
		}
	}
}

// numbers reports whether values of a type are made of numbers alone.
func numbers(of reflect.Type) bool {
	if of.Kind() != reflect.Struct {
		return of.Kind() >= reflect.Bool && of.Kind() <= reflect.Uint64
	}
	for i := range of.NumField() {
		if !numbers(of.Field(i).Type) {
			return false
		}
	}
	return true
}

// TestFree_OfWhatIsNoEntry: an owner who frees twice would end somebody else's entry.
func TestFree_OfWhatIsNoEntry(t *testing.T) {
	a := newArena(t, 1<<20)
	for _, size := range []int{10, 3000, 40_000} {
		ref, err := a.Add(make([]byte, size))
		if err != nil {
			t.Fatal(err)
		}
		a.Free(ref)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("an entry of %d bytes is freed twice", size)
				}
			}()
			a.Free(ref)
		}()
	}
}

// TestSection_HoldsUpWhatWasFreed: and what it holds up is bounded.
func TestSection_HoldsUpWhatWasFreed(t *testing.T) {
	a := newArena(t, 1<<20)
	s := a.EnterAt(1)
	var err error
	added := 0
	for err == nil {
		var ref Ref
		if ref, err = a.Add(make([]byte, 1000)); err == nil {
			added++
			a.Free(ref)
		}
	}
	if !errors.Is(err, ErrLimbo) || added < 100 {
		t.Errorf("%d entries were added, then %v", added, err)
	}
	if st := a.Stats(); st.Entries != 0 || st.LimboBytes == 0 {
		t.Errorf("%+v", st)
	}
	s.Leave()
	if _, err = a.Add(make([]byte, 1000)); err != nil {
		t.Errorf("the reader has left: %v", err)
	}
}

// TestAdd_FullIsFull: what is freed makes room for as much.
func TestAdd_FullIsFull(t *testing.T) {
	for _, size := range []int{1, 100, 1000, 5000, 70_000} {
		a := newArena(t, 1<<20)
		var refs []Ref
		for {
			ref, err := a.Add(make([]byte, size))
			if err != nil {
				if !errors.Is(err, ErrFull) {
					t.Error(err)
				}
				break
			}
			refs = append(refs, ref)
		}
		st := a.Stats()
		if !guardRuns && float64(st.EntryBytes) < 0.9*float64(st.MaxBytes)*float64(size)/float64(size+20) &&
			size < 5000 {
			t.Errorf("of %d bytes %d are in entries of %d", st.MaxBytes, st.EntryBytes, size)
		}
		for range 3 {
			for _, ref := range refs {
				a.Free(ref)
			}
			for i := range refs {
				var err error
				if refs[i], err = a.Add(make([]byte, size)); err != nil && !guarded {
					t.Fatalf("entry %d of %d of %d bytes: %v", i, len(refs), size, err)
				}
			}
			if guarded {
				break
			}
		}
	}
}

// TestTrim_GivesFreePagesBack: and they are used again.
func TestTrim_GivesFreePagesBack(t *testing.T) {
	a := newArena(t, 4<<20)
	var refs []Ref
	for ref, err := a.Add(make([]byte, 900)); err == nil; ref, err = a.Add(make([]byte, 900)) {
		refs = append(refs, ref)
	}
	if n := a.Trim(); n != 0 {
		t.Errorf("%d bytes are given back of a full arena", n)
	}
	for _, ref := range refs {
		a.Free(ref)
	}
	wantEmpty(t, a)
	want := len(a.mem) - a.pageBytes // page 0 has a unit that is taken
	if !givesBack {
		want = 0
	}
	if n := a.Trim(); n != want {
		t.Errorf("%d bytes are given back, want %d", n, want)
	}
	if n := a.Trim(); n != 0 {
		t.Errorf("%d bytes are given back twice", n)
	}
	for range refs {
		if _, err := a.Add(make([]byte, 900)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestView_Reads: what readers may do.
func TestView_Reads(t *testing.T) {
	a := newArena(t, 1<<20)
	text := "....\x00\x00\x00\x00\x00\x00\x00\x00depts/10"
	ref, err := a.Add([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := a.Enter()
	defer s.Leave()
	v := s.View(ref)
	const word, key = 8, 16
	if v.Len() != HeadBytes+len(text) || !v.HasAt(key, "depts/10") || v.HasAt(key, "depts/11") ||
		v.HasAt(key+1, "epts/10/") || v.HasAt(v.Len(), "x") || !v.HasAt(v.Len(), "") {
		t.Errorf("the entry is not as it was added")
	}
	if v.Load(word) != 0 || v.CompareAndSwap(word, 1, 2) || !v.CompareAndSwap(word, 0, 7) ||
		v.Load(word) != 7 || v.Uint64(word) != 7 || v.Uint32(4) != 0x2e2e2e2e {
		t.Errorf("the word is %d", v.Load(word))
	}
	if got := string(v.AppendTo([]byte("GET "), key, v.Len())); got != "GET depts/10" {
		t.Errorf("AppendTo gives %q", got)
	}
}

// TestArena_AllocatesNothing: neither for a hit nor for a put.
func TestArena_AllocatesNothing(t *testing.T) {
	if guarded {
		t.Skip("a guard keeps lists")
	}
	a := newArena(t, 1<<20)
	key, body := []byte("depts/10"), make([]byte, 1500)
	put := func() Ref {
		ref, err := a.Add(key, body)
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	for range 3 * lookEvery { // limbo has room for these from now on
		a.Free(put())
	}
	ref, buf := put(), make([]byte, 0, 2000)
	for what, do := range map[string]func(){
		"a hit": func() {
			s := a.EnterAt(3)
			if v := s.View(ref); v.HasAt(HeadBytes, "depts/10") {
				buf = v.AppendTo(buf[:0], HeadBytes+8, v.Len())
			}
			s.Leave()
		},
		"a section": func() { a.Enter().Leave() },
		"a put":     func() { a.Free(put()) },
	} {
		if n := testing.AllocsPerRun(1000, do); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}
