// Package load makes requests at a server, over HTTP or the protocols of Redis and
// memcached, and says how fast it answers.
//
// A run is a closed loop (every connection asks again as soon as it is
// answered) or an open loop at a fixed rate, whose latencies count from the
// moment a request was due, so that a slow server cannot hide behind requests
// that were not sent. On Linux what is not encrypted runs in epoll loops of our own,
// which cost less for each request than the servers they measure; elsewhere and over
// TLS every connection has a goroutine.
//
// It knows the protocols and nothing of hotrow. Tables and plots are made from
// Results, whoever measured them.
package load

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"
	"time"
)

// Config says what is asked, how often, and what is done with the answers. A
// zero field takes the default that its comment names. All but the functions
// can travel as JSON.
type Config struct {
	// URL is what is asked for: http://127.0.0.1:8080/depts/{n}. {n} is
	// replaced by the key, {i} by a number that no other request of the run has.
	// redis://host:port/KEY, rediss:// (TLS) and memcache://host:port/KEY read a key
	// of these servers; redis://:PASSWORD@host authenticates.
	URL string

	Method string   // of reads: GET (the default) or HEAD
	Header []string // further header lines, "Name: value"
	Batch  int      // keys of one read (1); of HTTP they are where the URL has {keys}
	Keys   Keys     // which keys are asked for
	Write  Write    // requests that change something, mixed in

	Connections int     // how many are open at once (1)
	Pipeline    int     // requests on their way on one connection (1)
	Rate        float64 // requests a second, an open loop; 0: a closed loop
	Loops       int     // event loops (GOMAXPROCS, at most Connections)

	Duration time.Duration // of what is measured (5s)
	Warmup   time.Duration // before it, not measured
	Timeout  time.Duration // after which an answer counts as lost (10s)

	// Check is called with one of CheckEvery (1000) answers to reads, by several
	// goroutines at once. What the Answer holds is valid during the call only.
	Check      func(Answer) error `json:"-"`
	CheckEvery int

	PID      int            // a server whose CPU time and memory are reported, with its children
	Seed     uint64         // of the random keys: the same seed asks for the same keys
	Progress func(Progress) `json:"-"` // called about once a second by one goroutine

	// engine forces one of the two, for tests.
	engine engine
}

// Write is a share of requests that are not reads.
type Write struct {
	Percent float64 // of all requests, 0 to 100
	Method  string  // PUT (the default), POST, PATCH or DELETE; always SET of a key
	Path    string  // with {n} and {i} (that of Config.URL)
	Body    string  // with {n} and {i}
	Type    string  // of the body (application/json)
	First   int64   // the first {i}

	// Once makes each connection write once, as its first request; Percent is of
	// those that follow.
	Once bool
}

// An Answer is one that is to be checked.
type Answer struct {
	Key    int64
	Status int    // of Redis and memcached 200, 404 without a value, 500 for an error
	ETag   []byte // as it came, with its quotes; nil for none
	Body   []byte // of several values the first
}

// Progress is where a run is.
type Progress struct {
	Elapsed time.Duration // since the warm-up began
	Total   time.Duration // of the whole run
	Answers uint64        // since the warm-up began
	Errors  uint64
	Rate    float64 // answers a second since the last call
}

// engine is how connections are driven.
type engine uint8

const (
	anyEngine        engine = iota // the best for the system and the URL
	loopEngine                     // epoll loops
	goroutinesEngine               // a goroutine for each connection
)

// The defaults of Config.
const (
	defaultDuration   = 5 * time.Second
	defaultTimeout    = 10 * time.Second
	defaultCheckEvery = 1000
)

// A protocol is what is spoken with the server.
type protocol uint8

const (
	http1 protocol = iota
	redis
	memcached
)

// begins returns the stage in which a reader finds a new answer.
func (p protocol) begins() stage {
	return [...]stage{http1: inHead, redis: inReply, memcached: inLine}[p]
}

// schemes are those of URLs.
var schemes = map[string]struct {
	protocol protocol
	tls      bool
	port     string
}{
	"http": {http1, false, "80"}, "https": {http1, true, "443"},
	"redis": {redis, false, "6379"}, "rediss": {redis, true, "6379"},
	"memcache": {memcached, false, "11211"},
}

// A target is a parsed Config.URL.
type target struct {
	protocol protocol
	tls      bool
	network  string        // address to dial
	host     string        // for the Host header and the certificate
	path     string        // with its marks; of a key-value protocol the key
	user     *url.Userinfo // to authenticate with; nil for nobody
}

// withDefaults returns c with its defaults filled in, and where it goes.
func (c Config) withDefaults() (Config, target, error) {
	to, err := parseTarget(c.URL)
	c.URL = withoutUser(c.URL)
	if err != nil {
		return c, target{}, err
	}
	setDefault(&c.Method, "GET")
	setDefault(&c.Write.Method, "PUT")
	setDefault(&c.Write.Path, to.path)
	setDefault(&c.Write.Type, "application/json")
	setDefault(&c.Connections, 1)
	setDefault(&c.Pipeline, 1)
	setDefault(&c.Batch, 1)
	setDefault(&c.Duration, defaultDuration)
	setDefault(&c.Timeout, defaultTimeout)
	setDefault(&c.CheckEvery, defaultCheckEvery)
	setDefault(&c.Loops, runtime.GOMAXPROCS(0))
	c.Loops = min(c.Loops, c.Connections)
	c.Keys = c.Keys.withDefaults()
	if c.engine == anyEngine {
		c.engine = goroutinesEngine
		if haveLoops && !to.tls {
			c.engine = loopEngine
		}
	}
	return c, to, c.validate(to)
}

// setDefault gives *p the value v if it has none.
func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// validate says what is wrong with a configuration that has its defaults.
func (c *Config) validate(to target) error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(c.Method != "GET" && c.Method != "HEAD", "method %q of reads: GET or HEAD", c.Method)
	refuse(c.Connections < 0, "%d connections", c.Connections)
	refuse(c.Pipeline < 0 || c.Pipeline > maxPipeline, "pipeline of %d: want 1 to %d",
		c.Pipeline, maxPipeline)
	refuse(c.Batch < 0 || c.Batch > maxPipeline, "reads of %d keys: want 1 to %d", c.Batch,
		maxPipeline)
	several := strings.Contains(to.path, severalKeys)
	refuse(to.protocol == http1 && several != (c.Batch > 1),
		"%d keys in one read of %s: {keys} says where they are", c.Batch, c.URL)
	refuse(to.protocol != http1 && (c.Method != "GET" || len(c.Header) > 0),
		"%s has no methods and no headers", c.URL)
	refuse(c.Loops < 0, "%d loops", c.Loops)
	refuse(c.Rate < 0, "rate of %v a second", c.Rate)
	refuse(c.Duration < 0 || c.Warmup < 0 || c.Timeout < 0, "a negative duration")
	refuse(c.Write.Percent < 0 || c.Write.Percent > 100, "%v%% writes", c.Write.Percent)
	refuse(c.CheckEvery < 0, "a check of every %dth answer", c.CheckEvery)
	refuse(c.engine == loopEngine && (to.tls || !haveLoops), "there are no loops for %s", c.URL)
	for _, h := range c.Header {
		name, _, ok := strings.Cut(h, ":")
		refuse(!ok || name == "" || strings.ContainsAny(h, "\r\n"),
			"header %q: want \"Name: value\"", h)
	}
	return errors.Join(append(errs, c.Keys.validate())...)
}

// withoutUser returns a URL without its name and password, to be shown.
func withoutUser(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	end := len(rest)
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		end = i
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return raw
	}
	return scheme + "://" + rest[at+1:]
}

// parseTarget takes a URL apart. The path is kept as it is written: url.Parse
// would escape the braces.
func parseTarget(raw string) (target, error) {
	u, err := url.Parse(strings.NewReplacer("{n}", "0", "{i}", "0", severalKeys, "0").Replace(raw))
	raw = withoutUser(raw)
	if bad := (*url.Error)(nil); errors.As(err, &bad) {
		return target{}, fmt.Errorf("url %q: %w", raw, bad.Err)
	}
	kind, ok := schemes[u.Scheme]
	if !ok || u.Hostname() == "" {
		return target{}, fmt.Errorf("url %q: want http://host:port/path, "+
			"redis://host:port/key or memcache://host:port/key", raw)
	}
	if strings.ContainsAny(raw, " \r\n\t") {
		return target{}, fmt.Errorf("url %q has white space in it: escape it", raw)
	}
	to := target{protocol: kind.protocol, tls: kind.tls, host: u.Host, network: u.Host, path: "/",
		user: u.User}
	if u.Port() == "" {
		to.network = net.JoinHostPort(u.Hostname(), kind.port)
	}
	_, rest, _ := strings.Cut(raw, "://")
	rest, _, _ = strings.Cut(rest, "#")
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		to.path = rest[i:]
	}
	if to.path[0] == '?' {
		to.path = "/" + to.path
	}
	if to.protocol == http1 {
		return to, nil
	}
	if to.path = to.path[1:]; to.path == "" {
		return target{}, fmt.Errorf("url %q names no key", raw)
	}
	return to, nil
}
