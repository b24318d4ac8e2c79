package eventloop

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	tortureTime = flag.Duration("torture.duration", 0, "how long TestTorture takes for all its forms")
	tortureSeed = flag.Uint64("torture.seed", 0, "the seed of TestTorture; 0: of the clock")
)

// TestTorture checks that every connection gets the answers to its own requests, in
// order, and that none is missing, whatever comes together. Actors open connections,
// cut what they send at random, pipeline, half-close, close and go on sending, or
// reset; and the loop is stopped every few milliseconds, so that it finds many
// connections ready in one wake-up. Every request has a number of its own, which is in
// its answer.
//
//	go test ./internal/eventloop -run '^TestTorture$' -torture.duration=1h -timeout 0 -v
func TestTorture(t *testing.T) {
	seed := *tortureSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	long := max(*tortureTime, 4*time.Second) / time.Duration(len(tortureForms))
	for i, form := range tortureForms {
		t.Run("form="+form, func(t *testing.T) {
			g := new(gate)
			c := Config{Loops: 1, Scope: func() Scope { return g }, Header: timeLimit, Idle: timeLimit}
			if form == "goroutine" || form == "tls" {
				// A stop is for a loop to find many connections at once. Here it would only
				// hold up each of the hundreds of reads of a connection.
				c.Scope = func() Scope { return new(gate) }
			}
			run(t, form, c, func(t *testing.T, s *site) {
				x := &torture{s: s, seed: seed + uint64(i)}
				x.run(t, g, long)
			})
		})
	}
}

// tortureForms are those of which a loop, or its goroutines, share buffers.
var tortureForms = []string{"epoll", "unix", "tlsloop", "goroutine", "tls"}

const tortureActors = 40

// A gate is a Scope that stops its loop.
type gate struct{ closed sync.RWMutex }

func (g *gate) BeginTurn(time.Time) {
	g.closed.RLock()
	//lint:ignore SA2001 to have had it is what counts
	g.closed.RUnlock()
}

// A torture is one run of TestTorture over a form.
type torture struct {
	s    *site
	seed uint64

	conns, requests, answers, stops, ids atomic.Int64
	failed                               atomic.Bool
}

func (x *torture) run(t *testing.T, g *gate, long time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	start := time.Now()
	var all sync.WaitGroup
	for i := range tortureActors {
		all.Go(func() {
			a := &actor{x: x, rnd: rand.New(rand.NewPCG(x.seed, uint64(i)))}
			a.sessions = [2]tls.ClientSessionCache{
				tls.NewLRUClientSessionCache(1), tls.NewLRUClientSessionCache(1)}
			for ctx.Err() == nil && !x.failed.Load() {
				if err := a.connection(); err != nil {
					x.failed.Store(true)
					t.Errorf("seed %d, actor %d, after %v and %d answers: %v", x.seed, i,
						time.Since(start).Round(time.Millisecond), x.answers.Load(), err)
				}
			}
		})
	}
	stopped := make(chan struct{})
	go func() { // stops and goes on
		defer close(stopped)
		rnd := rand.New(rand.NewPCG(x.seed, tortureActors))
		for ctx.Err() == nil {
			g.closed.Lock()
			pass(rnd, 3_000)
			g.closed.Unlock()
			x.stops.Add(1)
			pass(rnd, 2_000)
		}
	}()
	all.Wait()
	cancel()
	<-stopped
	n := x.s.server.Stats()
	t.Logf("seed %d: %d connections, %d requests, %d answers, %d stops, %d handed over, %v", x.seed,
		x.conns.Load(), x.requests.Load(), x.answers.Load(), x.stops.Load(), n.HandedOver,
		time.Since(start).Round(time.Millisecond))
	if n.Panics > 0 {
		t.Errorf("%d panics", n.Panics)
	}
}

// pass lets some microseconds pass. Nothing is waited for.
func pass(rnd *rand.Rand, most int) {
	<-time.After(time.Duration(rnd.IntN(most)) * time.Microsecond)
}

// An actor has one connection after the other.
type actor struct {
	x        *torture
	rnd      *rand.Rand
	sessions [2]tls.ClientSessionCache // of TLS 1.2 and 1.3
	resumes  [2]bool
}

// chance is true once in n times.
func (a *actor) chance(n int) bool { return a.rnd.IntN(n) == 0 }

// The ways in which a connection ends.
const (
	endQuietly = iota // all answers have come
	endClose          // the last request says so, and more bytes follow
	endBad            // the last request is bad, and more bytes follow
	endHalf           // no more requests will come
	endReset          // whatever is under way
	endsAltogether
)

// An expectation is an answer to come.
type expectation struct {
	status int
	body   string
}

// connection opens a connection, says all that it has to say, and compares all that
// comes back.
func (a *actor) connection() error {
	nc, err := net.Dial(a.x.s.addr.Network(), a.x.s.addr.String())
	if err != nil {
		return err
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(timeLimit))
	a.x.conns.Add(1)
	out := &cork{Conn: nc}
	conn, version := net.Conn(nc), a.rnd.IntN(2)
	if a.x.s.tls != nil {
		if conn, err = a.shake(out, version); err != nil {
			return fmt.Errorf("handshake: %w", err)
		}
	}
	end := a.rnd.IntN(endsAltogether)
	expect := make(chan expectation, 1000)
	read := make(chan error, 1)
	go func() { read <- a.x.read(conn, expect, end == endQuietly) }()
	werr := a.write(conn, out, end, expect)
	close(expect)
	if end == endReset {
		if tcp, ok := nc.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = nc.Close()
		<-read
		return nil
	}
	if end == endHalf && werr == nil {
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}
	err = <-read
	if end == endQuietly && err == nil {
		err = werr
	}
	a.resumes[version] = a.resumes[version] || err == nil
	if err != nil {
		return fmt.Errorf("end %d, version %d: %w", end, version, err)
	}
	return nil
}

// shake does the handshake of TLS. The client's last message is mostly in the segment of
// the first requests, where that is possible: in TLS 1.2 if a session is resumed.
func (a *actor) shake(out *cork, version int) (*tls.Conn, error) {
	cfg := clientTLS()
	cfg.MinVersion = []uint16{tls.VersionTLS12, tls.VersionTLS13}[version]
	cfg.MaxVersion = cfg.MinVersion
	cfg.ClientSessionCache = a.sessions[version]
	cfg.DynamicRecordSizingDisabled = a.chance(2)
	out.closing = !a.chance(4) && (version == 1 || a.resumes[version])
	c := tls.Client(out, cfg)
	return c, c.Handshake()
}

// write sends bursts of requests.
func (a *actor) write(conn net.Conn, out *cork, end int, expect chan<- expectation) error {
	for burst := 1 + a.rnd.IntN(4); burst > 0; burst-- {
		var text strings.Builder
		for range 1 + a.rnd.IntN(1+a.rnd.IntN(30)) {
			request, want := a.request()
			text.WriteString(request)
			expect <- want
		}
		if burst == 1 {
			a.last(&text, end, expect)
		}
		if err := a.cut(conn, out, text.String()); err != nil {
			return err
		}
		if a.chance(2) {
			pass(a.rnd, 2_000)
		}
	}
	return nil
}

// request returns a request and its answer.
func (a *actor) request() (text string, want expectation) {
	a.x.requests.Add(1)
	id := fmt.Sprintf("%d-%d", a.x.ids.Add(1), a.rnd.Uint32())
	switch k := a.rnd.IntN(100); {
	case k < 5:
		text, answer := put(id + strings.Repeat("b", a.rnd.IntN(3_000)))
		return text, expectation{200, answer}
	case k < 6:
		return get("/nowhere/" + id), expectation{404, ""}
	case k < 14:
		return get("/miss/" + id), expectation{200, "miss " + id}
	case k < 18:
		return get("/now/" + id), expectation{200, "now " + id}
	case k < 20:
		id = fmt.Sprintf("%d:%s", a.rnd.IntN(100_000), id)
	}
	filler := "User-Agent: " + strings.Repeat("f", a.rnd.IntN(300))
	return get("/hit/"+id, filler), expectation{200, bodyOf("hit " + id)}
}

// last appends what the connection ends with.
func (a *actor) last(text *strings.Builder, end int, expect chan<- expectation) {
	switch end {
	case endClose:
		id := fmt.Sprint(a.x.ids.Add(1))
		text.WriteString(get("/hit/"+id, "Connection: close"))
		expect <- expectation{200, "hit " + id}
	case endBad:
		text.WriteString("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n")
		expect <- expectation{400, ""}
	default:
		return
	}
	a.x.requests.Add(1)
	for range a.rnd.IntN(2) * a.rnd.IntN(2_500) {
		text.WriteString(get("/hit/forged"))
	}
}

// cut sends text, under TLS in records of all sizes, and in segments that do not end
// where records do.
func (a *actor) cut(conn net.Conn, out *cork, text string) error {
	first := out.closed // behind the end of a handshake
	if most := []int{1, 40, 40, 300, 5_000, 1 << 20}[a.rnd.IntN(6)]; conn != out.Conn {
		if most == 1 && len(text) > 2_000 {
			most = 40
		}
		out.closed = true
		for b := []byte(text); len(b) > 0; {
			n := min(len(b), 1+a.rnd.IntN(most))
			if _, err := conn.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
	} else {
		out.kept = []byte(text)
	}
	b := out.kept
	out.closed, out.closing, out.kept = false, false, nil
	pieces := a.rnd.IntN(5)
	if first {
		pieces = max(pieces, 1)
	}
	for len(b) > 0 {
		n := len(b)
		if pieces--; pieces >= 0 {
			n = 1 + a.rnd.IntN(len(b))
		}
		if _, err := out.Conn.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
		if a.chance(4) {
			pass(a.rnd, 300)
		}
	}
	return nil
}

// read compares the answers with what is expected, and wants nothing behind them but,
// unless the connection is to end quietly, its end.
func (x *torture) read(conn net.Conn, expect <-chan expectation, quietly bool) error {
	r := bufio.NewReader(conn)
	i := 0
	for want := range expect {
		i++
		a, err := http.ReadResponse(r, nil)
		if err != nil {
			return fmt.Errorf("answer %d, %d %.30q, %d wait: %w", i, want.status, want.body,
				len(expect), err)
		}
		body, err := io.ReadAll(a.Body)
		if err != nil {
			return fmt.Errorf("answer %d, %.30q: half of it, %w", i, want.body, err)
		}
		if a.StatusCode != want.status || want.status == 200 && string(body) != want.body {
			return fmt.Errorf("answer %d is %d %.30q, want %d %.30q", i, a.StatusCode, body,
				want.status, want.body)
		}
		x.answers.Add(1)
	}
	if n := r.Buffered(); n > 0 || quietly {
		return behind(n)
	}
	n, err := io.Copy(io.Discard, r)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("no end behind answer %d: %w", i, err)
	}
	return behind(int(n))
}

// behind returns the error of n bytes behind the last answer.
func behind(n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d bytes behind the last answer", n)
}
