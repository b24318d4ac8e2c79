package h2_test

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/httpserve/h2"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

var (
	tortureTime = flag.Duration("torture.duration", 0, "how long TestTorture takes for all its forms")
	tortureSeed = flag.Uint64("torture.seed", 0, "the seed of TestTorture; 0: of the clock")
)

// TestTorture checks that every stream gets the answer to its own request, whatever comes
// together. Actors open connections, send streams side by side in frames that are cut at
// random, padded, continued and reset, open windows little by little, and end quietly, by a
// wrong frame, within a frame, by half or by a reset; and the loop is stopped every few
// milliseconds, so that it finds many connections ready in one wake-up. A mark of the
// request, of connection and stream, is in the head and the body of its answer.
//
//	go test ./internal/httpserve/h2 -run '^TestTorture$' -torture.duration=1h -timeout 0 -v
func TestTorture(t *testing.T) {
	seed := *tortureSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	long := max(*tortureTime, 4*time.Second) / time.Duration(len(tortureForms))
	for i, form := range tortureForms {
		t.Run("form="+form.name, func(t *testing.T) {
			x := &torture{seed: seed + uint64(i)}
			x.serve(t, form.secure, form.goroutines)
			x.run(t, long)
		})
	}
}

var tortureForms = []struct {
	name               string
	secure, goroutines bool
}{
	{"loop", true, false},
	{"goroutine", true, true},
	{"h2c-loop", false, false},
	{"h2c-goroutine", false, true},
}

const tortureActors = 30

// A torture is one run of TestTorture over a form.
type torture struct {
	seed   uint64
	addr   string
	trust  *tls.Config // nil: no TLS
	gate   gate
	server *eventloop.Server

	conns, streams, answers, resets, unanswered, stops atomic.Int64

	failed atomic.Bool
}

// A gate is an eventloop.Scope that stops its loop.
type gate struct{ closed sync.RWMutex }

func (g *gate) BeginTurn(time.Time) {
	g.closed.RLock()
	//lint:ignore SA2001 to have had it is what counts
	g.closed.RUnlock()
}

func (x *torture) serve(t *testing.T, secure, goroutines bool) {
	messages := eventloop.NewMessageServer(&http.Server{Handler: http.HandlerFunc(serveMarked),
		ErrorLog: log.New(io.Discard, "", 0)}, http1.Frame)
	c := eventloop.Config{
		Proto: marked{}, HTTP2: h2.New(marked{}), HandedOver: messages.Serve, Loops: 1, Goroutines: goroutines,
		Header: timeLimit, Idle: timeLimit, Write: timeLimit, Grace: 20 * time.Millisecond,
		Scope: func() eventloop.Scope { return &x.gate },
	}
	if goroutines { // which a stop would hold up at each of hundreds of reads
		c.Scope = func() eventloop.Scope { return new(gate) }
	}
	if secure {
		made := tlstest.New(t, "torture")
		x.trust = &tls.Config{RootCAs: made.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}}
		c.TLS = &tls.Config{Certificates: []tls.Certificate{*made.Pair(t)}, NextProtos: []string{"h2"}}
	}
	if !secure {
		c.Preface = http2.ClientPreface
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x.addr = l.Addr().String()
	if x.server, err = eventloop.Serve(l, c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
		defer cancel()
		if err := errors.Join(x.server.Shutdown(ctx), messages.Shutdown(ctx)); err != nil {
			t.Error(err)
		}
	})
}

func (x *torture) run(t *testing.T, long time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	start := time.Now()
	var all sync.WaitGroup
	for i := range tortureActors {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(x.seed, uint64(i)))
			for ctx.Err() == nil && !x.failed.Load() {
				if err := x.connection(rnd); err != nil {
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
			x.gate.closed.Lock()
			pass(rnd, 3_000)
			x.gate.closed.Unlock()
			x.stops.Add(1)
			pass(rnd, 2_000)
		}
	}()
	all.Wait()
	cancel()
	<-stopped
	n := x.server.Stats()
	t.Logf("seed %d: %d connections, %d streams, %d answers, %d reset, %d cut off, %d stops, %d handed over, %v",
		x.seed,
		x.conns.Load(), x.streams.Load(), x.answers.Load(), x.resets.Load(), x.unanswered.Load(),
		x.stops.Load(), n.HandedOver, time.Since(start).Round(time.Millisecond))
	if n.Panics > 0 || x.answers.Load() == 0 {
		t.Errorf("%d panics, %d answers", n.Panics, x.answers.Load())
	}
}

// pass lets some microseconds pass. Nothing is waited for.
func pass(rnd *rand.Rand, most int) {
	<-time.After(time.Duration(rnd.IntN(most)) * time.Microsecond)
}

// marked answers GET /hit/NAME at once, /miss/NAME by a goroutine, /again/NAME by being
// asked again, POST /take/NAME by a goroutine if its body is there, and hands all else over. In
// the head of an answer is what serveMarked has there.
type marked struct{}

func (marked) Open(_ *eventloop.Conn, out []byte) []byte { return out }
func (marked) Tick(_ *eventloop.Conn, out []byte) ([]byte, eventloop.Next) {
	return out, eventloop.More
}

func (m marked) Step(c *eventloop.Conn, in, out []byte) (n int, _ []byte, next eventloop.Next) {
	for n < len(in) && next == eventloop.More {
		used := 0
		if used, out, next = m.step(c, in[n:], out); used == 0 {
			break
		}
		n += used
	}
	return n, out, next
}

func (marked) step(c *eventloop.Conn, in, out []byte) (int, []byte, eventloop.Next) {
	var r http1.Request
	n, v := r.Parse(in)
	kind, _, _ := strings.Cut(strings.TrimPrefix(string(r.Path), "/"), "/")
	switch {
	case v == http1.NeedMore:
		return 0, out, eventloop.More
	case v == http1.HandOver:
		body, n, whole := r.Body(in)
		if kind != "take" || !whole {
			return 0, out, eventloop.HandOver
		}
		late := string(r.Path) + " " + sumOf(body)
		go c.Resume(append(markedHead(nil, &r, len(late)), late...))
		return n, out, eventloop.Parked
	case v != http1.Complete:
		return len(in), http1.AppendRefusal(out, v, time.Now(), ""), eventloop.Close
	case kind == "hit" || kind == "again" && c.Data != nil:
		c.Data = nil
		return n, markedAnswer(out, &r), eventloop.More
	case kind == "miss":
		late := markedAnswer(nil, &r)
		go c.Resume(late)
		return n, out, eventloop.Parked
	case kind == "again":
		c.Data = true
		go c.Resume(nil)
		return 0, out, eventloop.Parked
	}
	return 0, out, eventloop.HandOver
}

func markedAnswer(out []byte, r *http1.Request) []byte {
	body := bodyOf(string(r.Path))
	out = markedHead(out, r, len(body))
	if r.Head {
		return out
	}
	return append(out, body...)
}

func markedHead(out []byte, r *http1.Request, length int) []byte {
	out = http1.AppendHeader(http1.AppendStatus(out, 200), "X-Mark", string(r.RequestID)+" "+string(r.Path))
	return http1.AppendEnd(http1.AppendLength(out, length))
}

func serveMarked(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Mark", r.Header.Get("X-Request-Id")+" "+r.URL.Path)
	kind, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch kind {
	case "put", "take":
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprint(w, r.URL.Path, " ", sumOf(body))
	case "nowhere":
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, r.URL.Path)
	default: // what others would answer too, while the peer takes too little
		_, _ = io.WriteString(w, bodyOf(r.URL.Path))
	}
}
