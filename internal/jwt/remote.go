package jwt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	fetchEvery  = 10 * time.Minute // when all is well
	fetchWait   = 5 * time.Second
	fetchAgain  = time.Second // after a failure; doubled for the next one, up to
	fetchLate   = time.Minute
	askEvery    = 30 * time.Second // at most, for kids that nobody knows
	keysLast    = 24 * time.Hour   // without a set that was fetched
	maxAsking   = 64               // tokens that wait for keys
	loudFailure = 3                // from so many on it is an error
)

// FetchOptions are how the keys of a URL are asked for.
type FetchOptions struct {
	Insecure bool           // http to another machine is meant
	Roots    *x509.CertPool // nil: those of the system
	Log      *slog.Logger   // nil: none
}

// A remote has the keys of a URL. It keeps the last good set when the URL fails, and asks at
// times of its own: tokens make it ask once in askEvery at most.
type remote struct {
	v      *Verifier
	o      FetchOptions
	url    string
	client *http.Client
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	fetched atomic.Int64 // when the last good set came, in Unix seconds; 0: none has
	fetches atomic.Uint64
	failed  atomic.Uint64
	failing atomic.Int64 // failures since the last good set
	asking  atomic.Int64

	mu    sync.Mutex // guards what follows
	asked time.Time  // when a token made it ask
	round *round     // that is under way; nil: none is
}

// A round is one request for the keys.
type round struct{ over chan struct{} }

// CheckURL returns why no keys are fetched from a URL.
func CheckURL(text string, insecure bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("want the URL of a set of keys, https://HOST/PATH, without a user")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("want https, found %q", u.Scheme)
	case isLoopback(u.Hostname()), insecure:
		return nil
	}
	return errors.New("http to another machine: whoever is on the way can make keys: want https, " +
		"or say insecure: true")
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// Look asks the URL once, and returns how many keys it has for tokens, and why others are not
// used.
func Look(ctx context.Context, o Options) (keys int, unused []string, err error) {
	v := &Verifier{o: o}
	r, err := makeRemote(ctx, v, o.URL, o.Fetch)
	if err != nil {
		return 0, nil, err
	}
	defer r.cancel()
	list, unused, err := r.fetch()
	return len(list), unused, err
}

// newRemote returns the keys of a URL, and begins to ask for them.
func newRemote(v *Verifier, from string, o FetchOptions) (*remote, error) {
	r, err := makeRemote(context.Background(), v, from, o)
	if err == nil {
		go r.run()
	}
	return r, err
}

func makeRemote(
	ctx context.Context, v *Verifier, from string, o FetchOptions,
) (*remote, error) {
	if err := CheckURL(from, o.Insecure); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &remote{v: v, o: o, url: from, done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(ctx)
	u, _ := url.Parse(from)
	local := isLoopback(u.Hostname())
	control := func(_, addr string, _ syscall.RawConn) error { return mayDial(addr, local) }
	dialer := &net.Dialer{Timeout: fetchWait, Control: control}
	t := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true,
		TLSHandshakeTimeout: fetchWait, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true}
	t.TLSClientConfig = tlsConfig(o.Roots)
	r.client = &http.Client{Transport: t, Timeout: fetchWait,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	return r, nil
}

// mayDial keeps a name of the configuration from leading to this machine, unless it says so,
// or to where clouds hand out credentials.
func mayDial(addr string, local bool) error {
	at, err := netip.ParseAddrPort(addr)
	ip := at.Addr().Unmap()
	switch {
	case err != nil:
		return err
	case ip.IsLoopback() && !local, ip.IsLinkLocalUnicast(), ip.IsMulticast(), ip.IsUnspecified():
		return fmt.Errorf("the URL of the keys leads to %v", ip)
	}
	return nil
}

// run asks for the keys until close.
func (r *remote) run() {
	defer close(r.done)
	wait := time.Duration(0)
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-time.After(wait):
		}
		<-r.begin().over
		if wait = fetchEvery; r.failing.Load() > 0 {
			wait = min(fetchAgain<<min(r.failing.Load()-1, 10), fetchLate)
		}
	}
}

func (r *remote) close() {
	r.cancel()
	<-r.done
	r.mu.Lock()
	last := r.round
	r.mu.Unlock()
	if last != nil {
		<-last.over
	}
}

// begin returns the request for keys that is under way, or a new one.
func (r *remote) begin() *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.round != nil {
		return r.round
	}
	one := &round{over: make(chan struct{})}
	r.round = one
	go func() {
		r.refresh()
		r.mu.Lock()
		r.round = nil
		r.mu.Unlock()
		close(one.over)
	}()
	return one
}

// ask has the keys fetched for a token whose key is not known, and reports whether they were.
// So does a request that is under way. It waits until that is over, or ctx is.
func (r *remote) ask(ctx context.Context) bool {
	if r.asking.Add(1) > maxAsking {
		r.asking.Add(-1)
		return false
	}
	defer r.asking.Add(-1)
	r.mu.Lock()
	one, now := r.round, r.v.o.Now()
	due := r.asked.IsZero() || now.Sub(r.asked) >= askEvery
	if one == nil && due {
		r.asked = now
	}
	r.mu.Unlock()
	if one == nil {
		if !due || r.ctx.Err() != nil {
			return false
		}
		one = r.begin()
	}
	select {
	case <-one.over:
		return true
	case <-ctx.Done():
		return false
	}
}

// refresh fetches the keys once.
func (r *remote) refresh() {
	r.fetches.Add(1)
	keys, refused, err := r.fetch()
	if err != nil {
		r.failed.Add(1)
		if n := r.failing.Add(1); r.ctx.Err() == nil && (n == 1 || n == loudFailure) {
			level := slog.LevelWarn
			if n >= loudFailure {
				level = slog.LevelError
			}
			r.o.Log.Log(r.ctx, level, "keys of JWTs not fetched", "event", "jwks", "err", err,
				"failures", n, "have_keys", r.fetched.Load() != 0)
		}
		return
	}
	r.fetched.Store(r.v.o.Now().Unix())
	again := r.failing.Swap(0) > 0
	if again { // what was asked for in vain does not count
		r.mu.Lock()
		r.asked = time.Time{}
		r.mu.Unlock()
	}
	changed := r.v.replace(append(append([]Key{}, r.v.o.Keys...), keys...))
	if changed || again {
		r.o.Log.Info("keys of JWTs", "event", "jwks", "fetched", len(keys), "not_used", refused)
	}
}

// fetch asks for the set.
func (r *remote) fetch() (keys []Key, refused []string, err error) {
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	req.Header.Set("User-Agent", "hotrow")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("%s answers %d (a redirect is not followed)",
			req.URL.Redacted(), resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxSet+1))
	switch {
	case err != nil:
		return nil, nil, err
	case len(text) > maxSet:
		return nil, nil, fmt.Errorf("the set has more than %d bytes", maxSet)
	}
	keys, refused, err = ParseSet(text, r.v.o.Algorithms, false)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w %v", req.URL.Redacted(), err, refused)
	}
	for i := range keys {
		keys[i].fetched = true
	}
	return keys, refused, nil
}

// until returns when the keys end unless they are fetched again; usable reports whether they
// have not.
func (r *remote) until() int64 { return r.fetched.Load() + int64(keysLast/time.Second) }

func (r *remote) usable() bool {
	return r.fetched.Load() != 0 && r.v.o.Now().Unix() < r.until()
}

// FetchStats are what a Verifier with a URL counts.
type FetchStats struct {
	On      bool
	Fetches uint64
	Failed  uint64
	Failing int64         // since the last good set
	Age     time.Duration // of that
	Known   bool          // there is one that counts
}

func (r *remote) stats() FetchStats {
	s := FetchStats{On: true, Fetches: r.fetches.Load(), Failed: r.failed.Load(),
		Failing: r.failing.Load(), Known: r.usable()}
	if at := r.fetched.Load(); at != 0 {
		s.Age = r.v.o.Now().Sub(time.Unix(at, 0))
	}
	return s
}

func tlsConfig(roots *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}
