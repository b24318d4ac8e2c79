package arena

import "testing"

// A world is all that matters for the question whether a reader can find an entry and read
// it when it is free: one entry, one who unpublishes and frees it, and readers who come and
// go. Each of their steps is one access to memory that others see.
type world struct {
	side      uint8
	in        [2][2]int8 // readers, by stripe and side
	published bool
	limbo     int8 // the side on which the entry was freed, -1: it was not
	free      bool
	readers   [2]actor
	writer    writer
}

// An actor is a reader: what it does next, and what it knows.
type actor struct {
	pc, rounds uint8
	side       uint8
	found      bool
}

// A writer frees the entry and then tries to change sides.
type writer struct{ pc, tries uint8 }

// A mutant is a rule that is left out.
type mutant string

const (
	faithful         mutant = ""
	looksBeforeEnter mutant = "a reader looks the entry up before it counts itself"
	readsAfterLeave  mutant = "a reader reads after it has left"
	freesFirst       mutant = "the entry is freed before it is unpublished"
	oneChange        mutant = "what was freed on the present side is released when it ends"
	oneStripe        mutant = "the readers of one stripe are looked at"
)

// step returns the worlds that can come next, and whether a reader has read what is free.
func (w world) step(m mutant) (next []world, wrong bool) {
	for i := range w.readers {
		n, bad, moved := w.read(m, i)
		if wrong = wrong || bad; moved {
			next = append(next, n)
		}
	}
	if n, moved := w.write(m); moved {
		next = append(next, n)
	}
	if m == freesFirst && w.published { // at any time, then
		n := w
		n.published = false
		next = append(next, n)
	}
	return next, wrong
}

// read is the next step of reader i, whose stripe is its own.
func (w world) read(m mutant, i int) (_ world, wrong, moved bool) {
	r := &w.readers[i]
	order := []string{"load side", "count", "look up", "read", "leave"}
	switch m {
	case looksBeforeEnter:
		order = []string{"look up", "load side", "count", "read", "leave"}
	case readsAfterLeave:
		order = []string{"load side", "count", "look up", "leave", "read"}
	}
	if int(r.pc) == len(order) {
		return w, false, false
	}
	switch order[r.pc] {
	case "load side":
		r.side = w.side
	case "count":
		w.in[i][r.side]++
	case "look up":
		r.found = w.published
	case "read":
		wrong = r.found && w.free
	case "leave":
		w.in[i][r.side]--
	}
	const rounds = 2
	if r.pc++; int(r.pc) == len(order) && r.rounds+1 < rounds {
		*r = actor{rounds: r.rounds + 1}
	}
	return w, wrong, true
}

// write is the next step of the writer: Free, and then reclaim some times. Both hold the
// lock, so that there is one writer.
func (w world) write(m mutant) (_ world, moved bool) {
	at := &w.writer
	other := 1 - w.side
	switch {
	case at.pc == 0:
		w.published = m == freesFirst
	case at.pc == 1:
		w.limbo = int8(w.side)
	case at.pc == 2 && w.in[0][other] != 0, at.pc == 3 && w.in[1][other] != 0 && m != oneStripe:
		at.again()
		return w, true
	case at.pc == 4:
		was := w.side
		w.side = 1 - w.side
		if w.limbo == int8(w.side) || m == oneChange && w.limbo == int8(was) {
			w.free = true
		}
		at.again()
		return w, true
	case at.pc > 4:
		return w, false
	}
	at.pc++
	return w, true
}

// again begins another try, if there is one left.
func (w *writer) again() {
	const tries = 5
	w.pc = 2
	if w.tries++; w.tries == tries {
		w.pc = 5
	}
}

// explore visits every world that can come of the first, and returns how many there are and
// whether any reader reads what is free.
func explore(m mutant) (worlds int, wrong bool, freed int) {
	first := world{published: true, limbo: -1}
	visited := map[world]bool{first: true}
	for left := []world{first}; len(left) > 0; {
		w := left[len(left)-1]
		left = left[:len(left)-1]
		if w.free {
			freed++
		}
		next, bad := w.step(m)
		wrong = wrong || bad
		for _, n := range next {
			if !visited[n] {
				visited[n] = true
				left = append(left, n)
			}
		}
	}
	return len(visited), wrong, freed
}

// TestSection_Explored explores every order of steps of two readers and a writer, and that
// each rule is needed.
func TestSection_Explored(t *testing.T) {
	worlds, wrong, freed := explore(faithful)
	if wrong || freed == 0 || worlds < 1000 {
		t.Errorf("%d worlds, the entry is free in %d of them, and read in one: %v", worlds, freed, wrong)
	}
	for _, m := range []mutant{
		looksBeforeEnter, readsAfterLeave, freesFirst, oneChange, oneStripe,
	} {
		if _, wrong, _ := explore(m); !wrong {
			t.Errorf("nothing goes wrong when %s", m)
		}
	}
}
