package tier

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// Ghosts say what a Memory of another size would do. They are small models of it, of half, once
// and twice its size, without bytes: each sees the same requests for a part of the keys, picked
// by their hash, and has that part of the room. (Waldspurger, Saemundsson, Ahmad, Park, "Cache
// modeling and optimization using miniature simulations", 2017.) Of requests that come together
// some are left out: nobody waits.
type ghosts struct {
	limit atomic.Uint32 // tags whose spread is below are of the part

	mu     sync.Mutex // guards the rest; innermost, and only tried
	models [ghostSizes]ghost
	most   int // entries that the model of the present size may have
	room   int64

	// What Memory has done since the counts of the models were halved last, and before, by half.
	hits, loads         float64
	hitsThen, loadsThen uint64
	noted               int
}

// The sizes of ghosts.
const (
	ghostHalf = iota
	ghostOnce
	ghostTwice
	ghostSizes
)

const (
	ghostEntries  = 4096      // of the model of the present size, at most
	ghostShare    = 4 << 10   // fewer where the budget is small: one for so many bytes of it
	ghostOverhead = 16        // bytes of index and sketch that an entry takes
	ghostPeriod   = 16 * 1024 // noted requests after which the counts are halved
	ghostSamples  = 8 * sampleBuckets
)

// A ghost is a model of a Memory. It evicts as that does: see newest.
type ghost struct {
	room   int64
	bytes  int64
	put    uint32
	places map[uint32]int32 // of tags in list
	list   []ghostEntry
	newest newest
	sketch *sketch
	loads  float64
}

type ghostEntry struct {
	tag   uint32
	bytes uint32
	born  uint32
}

func newGhosts(budget int64) *ghosts {
	g := &ghosts{room: budget, most: int(min(max(budget/ghostShare, 64), ghostEntries))}
	g.limit.Store(1 << 31)
	for i := range g.models {
		words := make([]atomic.Uint64, wordsOfSketch(int64(g.most)<<i*blockBytes/mostKeysOfBlock))
		g.models[i] = ghost{places: make(map[uint32]int32), sketch: newSketch(words)}
	}
	g.divide()
	return g
}

// divide gives the models their part of the room.
func (g *ghosts) divide() {
	for i := range g.models {
		g.models[i].room = int64(float64(g.room) * float64(g.limit.Load()) / (1 << 32) *
			float64(int(1)<<i) / 2)
	}
}

func spreadOf(tag uint32) uint32 { return uint32(uint64(tag) * 0xd6e8feb86659fd93 >> 32) }

// picks reports whether the models are told of a key.
func (g *ghosts) picks(tag uint32) bool { return spreadOf(tag) < g.limit.Load() }

// note notes that an entry of so many bytes was asked for: that it was not found, and has been put,
// or that it was. Of those requests one in every is noted, the one that the eviction gets to know
// of: a model that does not have the key would have loaded it for so many.
func (g *ghosts) note(tag uint32, bytes, every int) {
	if !g.mu.TryLock() {
		return
	}
	defer g.mu.Unlock()
	for i := range g.models {
		g.models[i].ask(tag, uint32(bytes+ghostOverhead), float64(every))
	}
	g.noted++
	for len(g.models[ghostOnce].list) > g.most {
		g.limit.Store(g.limit.Load() / 2)
		g.divide()
		for i := range g.models {
			g.models[i].thin(g)
		}
	}
}

// drop notes that a key was dropped.
func (g *ghosts) drop(tag uint32) {
	if !g.mu.TryLock() {
		return
	}
	defer g.mu.Unlock()
	for i := range g.models {
		if at, ok := g.models[i].places[tag]; ok {
			g.models[i].remove(int(at))
		}
	}
}

// ask is a request for a key, which stands for some.
func (g *ghost) ask(tag, bytes uint32, every float64) {
	if _, ok := g.places[tag]; ok {
		g.sketch.note(tag)
		return
	}
	g.loads += every
	g.put++
	g.places[tag] = int32(len(g.list))
	g.list = append(g.list, ghostEntry{tag, bytes, g.put})
	g.bytes += int64(bytes)
	g.sketch.fit(len(g.list))
	g.sketch.note(tag)
	keep := len(g.list) / newShare
	g.newest.push(uint64(tag), 2*keep+fewestNew)
	for g.bytes > g.room && len(g.list) > 1 {
		g.evict(keep)
	}
}

// evict evicts an entry.
func (g *ghost) evict(keep int) {
	at, wanted := -1, 16
	for range ghostSamples {
		i := rand.IntN(len(g.list))
		if g.put-g.list[i].born < uint32(keep) {
			continue
		}
		if n := g.sketch.estimate(g.list[i].tag); n < wanted {
			at, wanted = i, n
		}
	}
	for {
		tag := uint32(g.newest.pop(keep))
		if tag == 0 {
			break
		}
		if i, ok := g.places[tag]; ok {
			if at < 0 || g.sketch.estimate(tag) <= wanted {
				at = int(i)
			}
			break
		}
	}
	if at < 0 {
		at = rand.IntN(len(g.list))
	}
	g.remove(at)
}

func (g *ghost) remove(at int) {
	last := len(g.list) - 1
	delete(g.places, g.list[at].tag)
	g.bytes -= int64(g.list[at].bytes)
	if at != last {
		g.list[at] = g.list[last]
		g.places[g.list[at].tag] = int32(at)
	}
	g.list = g.list[:last]
}

// thin forgets the keys that are not of the part any more.
func (g *ghost) thin(of *ghosts) {
	for i := len(g.list) - 1; i >= 0; i-- {
		if !of.picks(g.list[i].tag) {
			g.remove(i)
		}
	}
	g.loads /= 2
}

// An Estimate is which share of requests a Memory answers, and would answer if it had half or
// twice the memory, 0 to 1: lately, since its counts are halved now and then.
type Estimate struct {
	Half, Now, Twice float64
}

// estimate returns what the models say, where Memory has had so many hits and loads in all. It
// reports false while little was asked.
func (g *ghosts) estimate(hits, loads uint64) (e Estimate, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.hits + float64(hits-g.hitsThen)
	l := g.loads + float64(loads-g.loadsThen)
	if g.noted >= ghostPeriod {
		g.noted = 0
		g.hits, g.hitsThen, g.loads, g.loadsThen = h/2, hits, l/2, loads
		for i := range g.models {
			g.models[i].loads /= 2
		}
	}
	once := g.models[ghostOnce].loads
	if h+l < 1000 || once == 0 {
		return Estimate{}, false
	}
	of := func(size int) float64 {
		return max(0, 1-l/(h+l)*g.models[size].loads/once)
	}
	return Estimate{Half: of(ghostHalf), Now: 1 - l/(h+l), Twice: of(ghostTwice)}, true
}
