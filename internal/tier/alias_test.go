package tier_test

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// aliased keeps an answer, and an alias of it that is valid for a number.
func aliased(m *tier.Memory, validFor uint64) (alias, to tier.Ref) {
	alias, to = answer(8, 1), answer(7, 1)
	put := tiertest.DocumentOf(to, 300, 1)
	put.Attach(said{150, new(atomic.Int64)})
	m.Put(to, put)
	m.PutAlias(alias, to, validFor)
	return alias, to
}

// An alias leads to what is kept for another key, as long as that is kept and it is valid. Each
// time counts once.
func TestReader_FollowsAliases(t *testing.T) {
	m := openMemory(t, 1<<20)
	var r tier.Reader
	defer r.End()
	hits, misses := uint64(0), uint64(0)
	follow := func(what string, alias tier.Ref, now uint64, found bool) *row.Document {
		t.Helper()
		r.Begin()
		d := r.Follow(m, &alias, now)
		if (d != nil) != found {
			t.Errorf("%s: found is %v", what, d != nil)
		}
		if found {
			hits++
		} else {
			misses++
		}
		if st := m.Stats(); st.Hits != hits || st.Misses != misses {
			t.Errorf("%s: %d hits and %d misses are counted, want %d and %d",
				what, st.Hits, st.Misses, hits, misses)
		}
		return d
	}
	alias, to := aliased(m, 0)
	d := follow("valid for all", alias, 5, true)
	if d.Attached() == nil || string(d.Body()) != string(tiertest.DocumentOf(to, 300, 1).Body()) {
		t.Error("it leads to another answer")
	}
	other := alias
	other.Format++
	follow("another format", other, 5, false)
	m.Put(to, tiertest.DocumentOf(to, 200, 2))
	for range 2 { // where it is now is known then
		if d := follow("replaced", alias, 5, true); d.Attached() != nil || len(d.Body()) != 200 {
			t.Error("it leads to what was replaced")
		}
	}
	m.PutAlias(alias, to, 4)
	follow("valid for others", alias, 5, false)
	follow("valid for this", alias, 4, true)
	m.Drop(to)
	follow("dropped", alias, 4, false)
	aliased(m, 4)
	if got, validFor, ok := r.Leads(m, &alias); !ok || got != to || validFor != 4 {
		t.Errorf("it leads to %+v (%v), valid for %d", got, ok, validFor)
	}
	if st := m.Stats(); st.Hits != hits || st.Misses != misses {
		t.Errorf("who looks where an alias leads is counted: %+v", st)
	}
	m.Drop(alias)
	follow("an alias that was dropped", alias, 4, false)
	for _, wrong := range m.Check() {
		t.Error(wrong)
	}
}

// What fetches aliases ahead finds what is attached to their answers, counts for nothing, and
// allocates nothing. Nor does who follows them.
func TestReader_PrefetchesAliases(t *testing.T) {
	m := openMemory(t, 1<<20)
	alias, to := aliased(m, 0)
	nothing, document := answer(8, 2), answer(7, 3)
	m.PutAlias(nothing, answer(7, 2), 0)
	m.Put(document, tiertest.DocumentOf(document, 300, 1))
	var r tier.Reader
	defer r.End()
	var attached [tier.MaxMultiGet]row.Attachment
	aliases := []tier.Ref{nothing, alias, answer(8, 9), document, alias}
	prefetch := func() {
		r.Begin()
		r.PrefetchAliases(m, aliases, &attached)
	}
	prefetch()
	n := 0
	for _, a := range attached {
		if a != nil {
			n++
		}
	}
	if st := m.Stats(); n != 2 || st.Hits+st.Misses != 0 {
		t.Errorf("%d attachments of %+v, %+v", n, to, st)
	}
	if n := testing.AllocsPerRun(100, prefetch); n != 0 {
		t.Errorf("%v allocations ahead", n)
	}
	if n := testing.AllocsPerRun(100, func() { r.Begin(); r.Follow(m, &alias, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// An alias never leads to what is kept for another key, though entries come and go in the same
// places: what an answer says is of the key that the alias was made for.
func TestReader_FollowsToNothingElse(t *testing.T) {
	const keys, rounds = 40, 3000
	m := openMemory(t, 4<<20)
	var done atomic.Bool
	var wait sync.WaitGroup
	for seed := range uint64(2) {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for range rounds {
				n := r.IntN(keys)
				to := answer(7, n)
				switch r.IntN(4) {
				case 0:
					m.Drop(to)
				case 1:
					m.PutAlias(answer(8, n), to, 0)
				default:
					m.Put(to, tiertest.DocumentOf(to, 100+1000*r.IntN(3), uint64(n)))
				}
			}
		})
	}
	go func() { wait.Wait(); done.Store(true) }()
	var r tier.Reader
	defer r.End()
	found := 0
	for n := 0; !done.Load() || n < keys || n%keys != 0; n++ { // also if they were done at once
		r.Begin()
		alias := answer(8, n%keys)
		d := r.Follow(m, &alias, 0)
		if d == nil {
			continue
		}
		found++
		if want := tiertest.DocumentOf(answer(7, n%keys), len(d.Body()), uint64(n%keys)); d.Key() != want.Key() ||
			!bytes.Equal(d.Body(), want.Body()) {
			t.Fatalf("%s leads to %s", alias.Key, d.Key())
		}
	}
	if found == 0 {
		t.Error("nothing was found")
	}
	for _, wrong := range m.Check() {
		t.Error(wrong)
	}
}
