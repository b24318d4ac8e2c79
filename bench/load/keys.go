package load

import (
	"fmt"
	"math/rand/v2"
)

// A Distribution is how keys are chosen.
type Distribution string

const (
	One     Distribution = "one"     // always the first key
	Uniform Distribution = "uniform" // every key as often as any other
	Zipf    Distribution = "zipf"    // key k in proportion to 1/(1+k)^Skew
	Scan    Distribution = "scan"    // one after the other, then from the first again
)

// Keys are the numbers First to First+N-1 and how one of them is chosen.
type Keys struct {
	First        int64
	N            int64        // how many there are (1)
	Distribution Distribution // Uniform
	Skew         float64      // of Zipf, above 0 (1.1)
}

// withDefaults returns k with its defaults filled in.
func (k Keys) withDefaults() Keys {
	setDefault(&k.N, 1)
	setDefault(&k.Distribution, Uniform)
	setDefault(&k.Skew, 1.1)
	return k
}

// validate says what is wrong with keys that have their defaults.
func (k Keys) validate() error {
	switch {
	case k.N < 1:
		return fmt.Errorf("%d keys: want 1 or more", k.N)
	case k.Distribution == Zipf && !(k.Skew > 0 && k.Skew <= maxSkew):
		return fmt.Errorf("skew %v: want more than 0 and at most %d", k.Skew, maxSkew)
	}
	switch k.Distribution {
	case One, Uniform, Zipf, Scan:
		return nil
	}
	return fmt.Errorf("distribution %q: want %s, %s, %s or %s", k.Distribution, One, Uniform, Zipf,
		Scan)
}

// Draw returns what chooses keys for goroutine i of n, without any requests.
func (k Keys) Draw(seed uint64, i, n int) (next func() int64, err error) {
	k = k.withDefaults()
	if err := k.validate(); err != nil {
		return nil, err
	}
	return newPicker(k, seed, i, n).next, nil
}

// A picker chooses keys for one goroutine.
type picker struct {
	keys Keys
	rng  *rand.Rand
	zipf *zipf
	at   int64 // the next of a scan
	step int64
}

// newPicker returns picker i of n: each begins and steps so that together they
// scan every key once.
func newPicker(keys Keys, seed uint64, i, n int) *picker {
	p := &picker{keys: keys, rng: rand.New(rand.NewPCG(seed, uint64(i))), step: int64(n)}
	p.at = int64(i) % keys.N
	if keys.Distribution == Zipf {
		p.zipf = newZipf(p.rng, keys.Skew, keys.N)
	}
	return p
}

// next returns a key.
func (p *picker) next() int64 {
	switch p.keys.Distribution {
	case Uniform:
		return p.keys.First + p.rng.Int64N(p.keys.N)
	case Zipf:
		return p.keys.First + p.zipf.next()
	case Scan:
		k := p.at
		p.at = (p.at + p.step) % p.keys.N
		return p.keys.First + k
	}
	return p.keys.First
}

// chance reports true in percent of all calls.
func (p *picker) chance(percent float64) bool {
	return percent > 0 && p.rng.Float64()*100 < percent
}
