package jwt

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// remembered is how many good tokens a Verifier remembers.
const remembered = 10_000

// Options are what a Verifier trusts, and asks for.
type Options struct {
	Keys []Key // of the configuration
	URL  string

	// Algorithms are those that keys of URL may be used with; empty: what each says itself,
	// or is usual for its kind.
	Algorithms []string

	Expected

	Fetch FetchOptions
	Now   func() time.Time // nil: time.Now
}

// A Verifier says what tokens are worth. Its methods may be called at the same time.
type Verifier struct {
	o      Options
	keys   atomic.Pointer[Keys]
	remote *remote // nil: all keys are the configuration's
	counts [refusals]atomic.Uint64
	good   atomic.Uint64

	mu    sync.Mutex // guards what follows
	known map[[sha256.Size]byte]known
}

// Keys are those of one moment. Another value is there as soon as one key is another.
type Keys struct {
	list []Key
	told bool // those of the URL are among them
}

// known is a token that was good.
type known struct {
	Claims
	by *Keys
}

// New returns a verifier. One with a URL asks it for keys until it is closed.
func New(o Options) (*Verifier, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	v := &Verifier{o: o, known: make(map[[sha256.Size]byte]known)}
	v.keys.Store(&Keys{list: o.Keys})
	if o.URL == "" {
		if len(o.Keys) == 0 {
			return nil, errors.New("there are no keys")
		}
		return v, nil
	}
	var err error
	v.remote, err = newRemote(v, o.URL, o.Fetch)
	return v, err
}

// Close ends the requests for keys.
func (v *Verifier) Close() {
	if v.remote != nil {
		v.remote.close()
	}
}

// Keys returns the keys of now, to compare with those of before.
func (v *Verifier) Keys() *Keys { return v.keys.Load() }

// Known returns the claims of a token that was good when it was asked for before, and is
// yet. It waits for nothing.
func (v *Verifier) Known(text string, now time.Time) (Claims, bool) {
	sum := sha256.Sum256([]byte(text))
	v.mu.Lock()
	k, ok := v.known[sum]
	v.mu.Unlock()
	if !ok || k.by != v.keys.Load() || now.Unix() >= k.Until {
		return Claims{}, false
	}
	return k.Claims, true
}

// Verify returns the claims of a token, or the Refusal that says why it is worth nothing. It
// may wait for keys, until ctx ends.
func (v *Verifier) Verify(ctx context.Context, text string) (Claims, error) {
	if c, ok := v.Known(text, v.o.Now()); ok {
		return c, nil
	}
	c, by, err := v.verify(ctx, text)
	var r Refusal
	if errors.As(err, &r) {
		v.counts[r].Add(1)
	}
	if err != nil {
		return Claims{}, err
	}
	v.good.Add(1)
	v.remember(text, known{c, by})
	return c, nil
}

// verify is Verify of a token that is not known. by are the keys that have decided.
func (v *Verifier) verify(ctx context.Context, text string) (c Claims, by *Keys, err error) {
	t, err := parse(text)
	if err != nil {
		return c, nil, err
	}
	by = v.keys.Load()
	err = v.signed(by, &t)
	if v.remote != nil && (err == NoKeys || err != nil && !by.named(t.kid)) && v.remote.ask(ctx) {
		by = v.keys.Load()
		err = v.signed(by, &t)
	}
	if err != nil {
		return c, nil, err
	}
	c, err = v.o.check(t.payload, v.o.Now())
	if err == nil && v.remote != nil { // keys end, too
		c.Until = min(c.Until, v.remote.until())
	}
	return c, by, err
}

// signed returns nil when a key has signed t: one of its kid, or without that, one of those
// that are used with its algorithm.
func (v *Verifier) signed(by *Keys, t *token) error {
	why, tried := UnknownKey, 0
	old := v.remote != nil && !v.remote.usable()
	for i := range by.list {
		k := &by.list[i]
		switch {
		case t.kid != "" && !k.any && k.kid != t.kid, old && k.fetched:
		case !slices.Contains(k.algs, t.alg):
			if why == UnknownKey {
				why = Algorithm
			}
		case tried == maxTried:
		case k.verifies(t):
			return nil
		default:
			why, tried = Signature, tried+1
		}
	}
	if old {
		why = NoKeys
	}
	return why
}

// named reports whether a key has the kid that a token names, if it names one.
func (k *Keys) named(kid string) bool {
	return kid == "" || slices.ContainsFunc(k.list, func(k Key) bool { return k.kid == kid })
}

// remember keeps what a token is worth. Of too many it forgets some other.
func (v *Verifier) remember(text string, k known) {
	sum := sha256.Sum256([]byte(text))
	v.mu.Lock()
	defer v.mu.Unlock()
	for other := range v.known {
		if len(v.known) < remembered {
			break
		}
		delete(v.known, other)
	}
	v.known[sum] = k
}

// replace makes keys those that count from now on, unless they are the same. It reports
// whether they are others.
func (v *Verifier) replace(keys []Key) bool {
	old := v.keys.Load()
	if old.told && slices.EqualFunc(old.list, keys, func(a, b Key) bool { return a.same(&b) }) {
		return false
	}
	v.keys.Store(&Keys{list: keys, told: true})
	v.mu.Lock()
	clear(v.known)
	v.mu.Unlock()
	return true
}

// Stats are what a Verifier counts.
type Stats struct {
	Good    uint64            // tokens that were verified, without those that were remembered
	Refused map[string]uint64 // by the name of the Refusal
	Keys    int
	Fetch   FetchStats
}

// Stats returns the counts.
func (v *Verifier) Stats() Stats {
	s := Stats{Good: v.good.Load(), Refused: make(map[string]uint64), Keys: len(v.keys.Load().list)}
	for r := range v.counts {
		s.Refused[Refusal(r).Name()] = v.counts[r].Load()
	}
	if v.remote != nil {
		s.Fetch = v.remote.stats()
	}
	return s
}
