package fresh

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The simulation: a database, its feed, a settler, fences, writers, a tier that
// forgets, an operator and readers take turns in an order that one number
// decides. It reaches what the exhaustive check is too small for: many keys,
// two tables, rows with unknown parents, resources that come and go, epochs,
// the clock. A failure prints its seed; -sim.seed=N plays it again.
var (
	simSeed     = flag.Uint64("sim.seed", 0, "play this seed of the simulation alone")
	simSeeds    = flag.Int("sim.seeds", 5000, "how many seeds the simulation plays")
	simDuration = flag.Duration("sim.duration", 0, "play seeds until this time is over")
)

// simSteps is how many turns a seed takes before it comes to rest.
const simSteps = 240

// simPlayers is how many seeds are played at one time.
const simPlayers = 2

func TestSimulation(t *testing.T) { testSimulation(t, newSim) }

// A simBegin makes a simulation from a seed.
type simBegin func(seed uint64, sab sabotage) *sim

func testSimulation(t *testing.T, begin simBegin) {
	if *simSeed != 0 {
		if s := simulate(begin(*simSeed, sabotage{})); s.failure != "" {
			t.Fatalf("seed %d: %s", s.seed, s.failure)
		}
		return
	}
	seeds, first := *simSeeds, uint64(1)
	if testing.Short() {
		seeds = min(seeds, 1000)
	}
	if *simDuration > 0 { // other seeds each night
		seeds, first = -1, rand.Uint64()>>1
	}
	r := playSeeds(first, seeds, *simDuration, begin, sabotage{})
	t.Logf("%d seeds and %d steps in %v: %.0f seeds/s, %.0f steps/s, %d reads (%d hits, %d stored, "+
		"%d kept, %d of the primary)",
		r.seeds, r.steps, r.took.Round(time.Millisecond), float64(r.seeds)/r.took.Seconds(),
		float64(r.steps)/r.took.Seconds(), r.reads, r.hits, r.stored, r.kept, r.fallen)
	if r.failure != "" {
		t.Fatalf("%s\nplay it again: go test ./internal/fresh -run '^%s$' -sim.seed=%d",
			r.failure, t.Name(), r.seed)
	}
	if r.hits*40 < r.reads || r.stored*20 < r.reads || (r.kept+r.fallen)*150 < r.reads {
		t.Error("hardly anything is stored or hit: the simulation does not try the protocol")
	}
}

// played is what came of many seeds.
type played struct {
	seeds, steps, reads, hits, stored, kept, fallen int

	took    time.Duration
	seed    uint64 // that has failed
	failure string
}

// playSeeds plays n seeds from first on, or (n < 0) until the duration is over,
// and stops at the first failure.
func playSeeds(first uint64, n int, d time.Duration, start simBegin, sab sabotage) played {
	var (
		next  atomic.Uint64
		stop  atomic.Bool
		mu    sync.Mutex // guards total
		total played
		wg    sync.WaitGroup
	)
	begin := time.Now()
	for range simPlayers {
		wg.Go(func() {
			for !stop.Load() {
				i := next.Add(1) - 1
				if n >= 0 && i >= uint64(n) || n < 0 && time.Since(begin) > d {
					return
				}
				s := simulate(start(first+i, sab))
				mu.Lock()
				total.add(s)
				mu.Unlock()
				if s.failure != "" {
					stop.Store(true)
				}
			}
		})
	}
	wg.Wait()
	total.took = time.Since(begin)
	return total
}

func (p *played) add(s *sim) {
	p.seeds++
	p.steps += s.steps
	p.reads += s.reads
	p.hits += s.hits
	p.stored += s.stored
	p.kept += s.kept
	p.fallen += s.fallen
	if s.failure != "" && p.failure == "" {
		p.seed, p.failure = s.seed, fmt.Sprintf("seed %d, step %d: %s", s.seed, s.steps, s.failure)
	}
}

// simulate plays s to its end, or to its first failure.
func simulate(s *sim) *sim {
	for s.steps < simSteps && s.failure == "" {
		s.now += int64(s.rng.IntN(4))
		if s.turn() {
			s.steps++
			s.watch()
		}
	}
	if s.failure == "" {
		s.rest()
	}
	return s
}

// turn lets one process take one turn; false: it had nothing to do.
func (s *sim) turn() bool {
	switch n := s.rng.IntN(100); {
	case n < s.writes:
		return s.write()
	case n < 22:
		return s.commit()
	case n < 33:
		return s.feedTurn()
	case n < 42 && s.standby != nil:
		return s.standbyTurn()
	case n < 38 && s.serial:
		return s.keepTurn()
	case n < 42:
		return s.settleTurn()
	case n < 50:
		return s.fenceTurn()
	case n < 95:
		return s.readTurn()
	default:
		return s.rare()
	}
}

// rare is what happens seldom.
func (s *sim) rare() bool {
	switch n := s.rng.IntN(100); {
	case n < 65:
		return s.evict()
	case n < 71:
		return s.lose()
	case n < 78:
		return s.reload()
	case n < 84: // the process was stopped
		s.now += s.staleAfter + int64(s.rng.IntN(50))
	case n < 87:
		s.stall()
	case n < 88:
		s.come()
	case n < 95:
		f := s.forms[s.rng.IntN(len(s.forms))]
		f.disturbed++
		f.space.Drop(simKeys[s.rng.IntN(f.keys)])
	case n < 98:
		f := s.forms[s.rng.IntN(len(s.forms))]
		f.disturbed++
		f.space.DropAll()
	default:
		return s.rename()
	}
	return true
}

// stall pauses the feed, or the standby that it follows.
func (s *sim) stall() {
	at := &s.stalled
	if s.standby != nil && s.rng.IntN(2) == 0 {
		at = &s.standby.paused
	}
	*at = s.steps + s.rng.IntN(60)
}

// failf notes the first failure.
func (s *sim) failf(format string, args ...any) {
	if s.failure == "" {
		s.failure = fmt.Sprintf(format, args...)
	}
}
