package wiretest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/internal/waittest"
)

// The messages of gofast's perf.
const (
	perfPost = 111 + iota
	perfRequest
	perfStreamTx
	perfStreamRx
)

// A socket is a session at a connection, with as little around it as possible. Its
// goroutine reads, and writes answers when it has read.
type socket struct {
	conn net.Conn
	on   func(s *gofast.Session, out []byte, e *gofast.Event) []byte

	mu   sync.Mutex // guards s, and writes
	s    *gofast.Session
	done chan struct{} // closed when reading has ended; err is set before
	err  error
}

func newSocket(conn net.Conn, c gofast.Config, on func(*gofast.Session, []byte, *gofast.Event) []byte) *socket {
	w := &socket{conn: conn, on: on, s: gofast.NewSession(c), done: make(chan struct{})}
	w.write(func(s *gofast.Session, out []byte) []byte { return s.Open(time.Now(), out) })
	go w.read()
	return w
}

// write writes what f appends.
func (w *socket) write(f func(s *gofast.Session, out []byte) []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if out := f(w.s, nil); len(out) > 0 {
		_, _ = w.conn.Write(out)
	}
}

func (w *socket) read() {
	defer close(w.done)
	defer w.conn.Close()
	var e gofast.Event
	var out []byte
	for buf, have := make([]byte, 128<<10), 0; w.err == nil; {
		n, err := w.conn.Read(buf[have:])
		if err != nil {
			w.err = err
			return
		}
		have += n
		w.mu.Lock()
		used := 0
		for {
			n, out, w.err = w.s.Next(buf[used:have], out, &e)
			if used += n; w.err != nil || e.Type == gofast.EventNone {
				break
			}
			out = w.on(w.s, out, &e)
		}
		have = copy(buf, buf[used:have])
		if _, err := w.conn.Write(out); w.err == nil {
			w.err = err
		}
		out = out[:0]
		w.mu.Unlock()
	}
}

// perfServer answers perf -c.
func perfServer(s *gofast.Session, out []byte, e *gofast.Event) []byte {
	var err error
	switch e.Type {
	case gofast.EventRequest:
		out, err = s.AppendResponse(out, e.Opaque, &gofast.Message{ID: e.ID, Data: e.Data})
	case gofast.EventFinish:
		out, err = s.AppendFinish(out, e.Opaque)
	}
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return out
}

// TestPerf_ClientOfGofast has gofast's own client talk to a session.
func TestPerf_ClientOfGofast(t *testing.T) {
	Perf(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	wires, tags := make(chan *socket, 100), atomic.Uint32{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c := gofast.Config{Server: true, Tags: gofast.Tags(tags.Load()), Compress: true}
			wires <- newSocket(conn, c, perfServer)
		}
	}()
	tests := []struct {
		name  string
		count int
		args  []string
		least map[string]uint64
	}{
		{"post", 400_000, []string{"-do", "post", "-payload", "64"}, map[string]uint64{"n_rxpost": 400_000}},
		{"request", 60_000, []string{"-do", "request", "-routines", "20"},
			map[string]uint64{"n_rxreq": 60_000 + 21, "n_txresp": 60_000 + 21}},
		{"streamtx", 20_000, []string{"-do", "streamtx", "-routines", "20", "-stream", "20", "-payload", "64"},
			map[string]uint64{"n_rxstart": 20_000, "n_rxstream": 400_000, "n_rxfin": 20_000, "n_txfin": 20_000}},
		// One routine: those of gofast share one buffer for what they compress.
		{"compressed", 2_000, []string{"-do", "request"},
			map[string]uint64{"n_rxreq": 2_000 + 2, "n_txresp": 2_000 + 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "compressed" {
				tags.Store(uint32(gofast.Gzip | gofast.LZW))
			}
			theirs := RunClient(t, l.Addr().String(), tt.count, tt.args...)
			w := <-wires
			for len(wires) > 0 { // those of runs that were too short
				w = <-wires
			}
			select {
			case <-w.done:
			case <-time.After(waittest.Limit(time.Minute)):
				t.Fatal("the connection does not end")
			}
			if !errors.Is(w.err, io.EOF) {
				t.Error(w.err)
			}
			checkPerf(t, w.s, theirs)
			stats := w.s.Stats()
			for name, least := range tt.least {
				if got := stats.Map()[name]; got < least {
					t.Errorf("%s = %d, want %d", name, got, least)
				}
			}
			if got := stats.RxPost - stats.RxBeats; theirs["n_txpost"]-got > 60 { // its beats
				t.Errorf("%d posts came, perf has sent %d with its heartbeats", got, theirs["n_txpost"])
			}
			if plain := stats.Rx * 520; tt.name == "compressed" && stats.RxByte > plain/2 {
				t.Errorf("%d frames have %d bytes, and are compressed", stats.Rx, stats.RxByte)
			}
		})
	}
}

// checkPerf compares our counters with the peer's.
func checkPerf(t *testing.T, s *gofast.Session, theirs map[string]uint64) {
	t.Helper()
	stats := s.Stats()
	ours := stats.Map()
	for rx, tx := range map[string]string{"n_rxresp": "n_txresp", "n_rxfin": "n_txfin", "n_rxreq": "n_txreq",
		"n_rxstart": "n_txstart", "n_rxstream": "n_txstream"} {
		if ours[rx] != theirs[tx] || ours[tx] != theirs[rx] {
			t.Errorf("%s, %s: ours %d, %d; gofast's %d, %d", rx, tx, ours[rx], ours[tx], theirs[rx], theirs[tx])
		}
	}
	if ours["n_mdrops"]+theirs["n_mdrops"] != 0 {
		t.Errorf("%d messages dropped here, %d there", ours["n_mdrops"], theirs["n_mdrops"])
	}
	if !s.Idle() {
		t.Error("exchanges are left open")
	}
}

// TestPerf_ServerOfGofast has a session talk to gofast's own server.
func TestPerf_ServerOfGofast(t *testing.T) {
	server := Serve(t, "-stream", "1000", "-payload", "100")
	conn, err := server.Dial()
	if err != nil {
		t.Fatal(err)
	}
	const posts, requests, messages = 1000, 1000, 1000
	finished, answers := make(chan error, 1), 0
	var received, streams int
	next := func(s *gofast.Session, out []byte, e *gofast.Event) []byte {
		var err error
		switch e.Type {
		case gofast.EventReady:
			for range posts {
				if out, err = s.AppendPost(out, &gofast.Message{ID: perfPost, Data: perfData(64)}); err != nil {
					finished <- err
				}
			}
			for range requests {
				m := &gofast.Message{ID: perfRequest, Data: perfData(64)}
				if out, _, err = s.AppendRequest(out, m, "asked"); err != nil {
					finished <- err
				}
			}
		case gofast.EventResponse:
			if answers++; answers == requests {
				out = perfStreams(s, out, messages, finished)
			} else if e.ID == gofast.IDWhoami {
				finished <- nil
			} else if e.ID != perfRequest || string(e.Data) != string(perfData(64)) || e.User != "asked" {
				finished <- errors.New("another answer")
			}
		case gofast.EventMessage:
			if received++; e.ID != perfStreamRx || len(e.Data) != 108 {
				finished <- errors.New("another message")
			}
		case gofast.EventFinish:
			if e.User == "rx" {
				out, err = s.AppendFinish(out, e.Opaque)
			}
			if streams++; streams == 2 && err == nil {
				out, _, err = s.AppendWhoami(out, "end")
			}
			if err != nil {
				finished <- err
			}
		}
		return out
	}
	w := newSocket(conn, gofast.Config{}, next)
	select {
	case err := <-finished:
		if err != nil {
			t.Fatal(err)
		}
	case <-w.done:
		t.Fatal(w.err)
	case <-time.After(waittest.Limit(time.Minute)):
		t.Fatal("no end")
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	<-w.done
	theirs := server.Stop()
	checkPerf(t, w.s, theirs)
	if theirs["n_rxpost"] != posts || theirs["n_rxreq"] != requests+2 || theirs["n_rxstream"] != messages ||
		received != messages || answers != requests+1 {
		t.Errorf("%d messages and %d answers came; gofast has %v", received, answers, theirs)
	}
}

// perfStreams opens a stream each way.
func perfStreams(s *gofast.Session, out []byte, messages int, finished chan<- error) []byte {
	m := &gofast.Message{ID: perfStreamTx, Data: perfData(64)}
	out, opaque, err := s.AppendStart(out, m, "tx")
	for i := 0; i < messages && err == nil; i++ {
		out, err = s.AppendMessage(out, opaque, m)
	}
	if err == nil {
		out, err = s.AppendFinish(out, opaque)
	}
	if err == nil {
		out, _, err = s.AppendStart(out, &gofast.Message{ID: perfStreamRx, Data: perfData(64)}, "rx")
	}
	if err != nil {
		finished <- err
	}
	return out
}

// perfData is a message of gofast's perf program.
func perfData(n int) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(n))
	return append(b, bytes.Repeat([]byte("a"), n)...)
}
