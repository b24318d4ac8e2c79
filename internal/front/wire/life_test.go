package wirefront

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// conversation returns the bytes of a client that does a bit of everything.
func conversation(t testing.TB) []byte {
	t.Helper()
	s := gofast.NewSession(gofast.Config{Token: []byte("r")})
	out := s.Open(time.Now(), nil)
	hello := gofast.NewSession(gofast.Config{Server: true}).Open(time.Now(), nil)
	var e gofast.Event
	_, out, err := s.Next(hello, out, &e) // requests are not sent to somebody unknown
	if err != nil {
		t.Fatal(err)
	}
	request := func(id uint64, payload []byte) {
		var err error
		if out, _, err = s.AppendRequest(out, &gofast.Message{ID: id, Data: payload}, nil); err != nil {
			t.Fatal(err)
		}
	}
	request(rows.IDGet, (&rows.Get{Resource: "depts", Key: "10"}).Append(nil))
	request(rows.IDGet, (&rows.Get{Resource: "depts", Key: "30", Flags: rows.NoCache}).Append(nil))
	request(rows.IDGetMulti, (&rows.GetMulti{Resource: "depts", Keys: []string{"20"}}).Append(nil))
	request(rows.IDQuery, (&rows.Query{Resource: "cities"}).Append(nil))
	request(rows.IDPatch, (&rows.Write{Resource: "depts", Key: "40", Body: []byte(`{"loc":"K"}`)}).Append(nil))
	out, _, err = s.AppendStart(out, &gofast.Message{ID: rows.IDWatch,
		Data: (&rows.Watch{Resource: "depts"}).Append(nil)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	request(rows.IDInfo, rows.AppendEmpty(nil))
	return out
}

// descriptors returns how many file descriptors the process has.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc/self/fd on this system")
	}
	return len(list)
}

// TestLife_KilledAtEveryByte: a client that goes away anywhere in a conversation
// leaves no connection, no descriptor and, by TestMain, no goroutine.
func TestLife_KilledAtEveryByte(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form)
		s.dial("").hot("depts", "10")
		_ = s.f.list()
		all := conversation(t)
		eventually(t, "one connection", func() bool { return s.over.Stats().Open <= 1 })
		before := descriptors(t)
		for cut := 0; cut <= len(all); cut++ {
			nc, err := net.Dial("tcp", s.over.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := nc.Write(all[:cut]); err != nil {
				t.Fatal(err)
			}
			if cut%2 == 0 { // else a FIN, with answers unread
				_ = nc.(*net.TCPConn).SetLinger(0)
			}
			_ = nc.Close()
		}
		eventually(t, "the connections end", func() bool { return s.over.Stats().Open <= 1 })
		eventually(t, "the front forgets them", func() bool { return len(s.f.list()) <= 1 })
		eventually(t, "the watchers leave", func() bool {
			h := s.hub("depts")
			if h == nil {
				return true // nobody came so far
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.all) == 0
		})
		eventually(t, "no descriptor is left", func() bool { return descriptors(t) <= before+2 })
		s.dial("").hot("depts", "40") // and it serves
	})
}

// TestLife_ConversationByTheByte: what is answered does not depend on how the
// bytes come.
func TestLife_ConversationByTheByte(t *testing.T) {
	s := newSite(t)
	nc, err := net.Dial("tcp", s.over.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	go func() {
		for _, b := range conversation(t) {
			if _, err := nc.Write([]byte{b}); err != nil {
				return
			}
		}
	}()
	d := gofast.NewDecoder(gofast.Limits{Packet: 1 << 20}, nil)
	var in []byte
	answers := 0
	_ = nc.SetReadDeadline(waittest.Deadline(time.Minute))
	for answers < 8 { // two whoami, six answers, and an event at least
		buf := make([]byte, 4096)
		n, err := nc.Read(buf)
		if err != nil {
			t.Fatalf("after %d answers: %v", answers, err)
		}
		in = append(in, buf[:n]...)
		for {
			var f gofast.Frame
			n, err := d.Next(in, &f)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			in = in[n:]
			if f.Kind == gofast.KindRequest {
				answers++
			}
		}
	}
}

// TestLife_DrainsGently: requests under way are answered, watches and peers are
// told, and then the connections end.
func TestLife_DrainsGently(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form)
		p := s.dial("")
		w := p.watch(rows.Watch{Resource: "depts"})
		p.event(w, rows.Ready)
		opaque := p.send(rows.IDGet, (&rows.Get{Resource: "depts", Key: "10", Flags: rows.NoCache}).Append(nil))
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), waittest.Limit(8*time.Second))
			defer cancel()
			done <- s.over.Shutdown(ctx)
		}()
		h := p.next(w)
		if h.Type != gofast.EventFinish || h.Err == nil || h.Err.Code != gofast.Unavailable || !h.Err.Retryable {
			t.Errorf("the watch ends with %v %v", h.Type, h.Err)
		}
		if h := p.next(opaque); h.Err != nil && h.Err.Code != gofast.Unavailable {
			t.Errorf("the request: %v", h.Err)
		}
		p.until("the server says so", func() bool { _, gone := p.s.GoingAway(); return gone })
		p.wantEnd()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestLife_TLS: the protocol's own name is agreed upon, nothing else.
func TestLife_TLS(t *testing.T) {
	made := tlstest.New(t, "first")
	shown := new(front.Certificate)
	shown.Set(made.Pair(t), tls.VersionTLS12)
	s := newSite(t, func(_ *Options, l *Listen) { l.TLS = shown.Config(ALPN) })
	s.trust = &tls.Config{RootCAs: made.Pool(), NextProtos: []string{ALPN}, ServerName: "localhost"}
	p := s.dial("")
	if got := p.nc.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != ALPN {
		t.Errorf("protocol %q, want %q", got, ALPN)
	}
	if a := p.hot("depts", "10"); len(a.Body) == 0 {
		t.Error("no document")
	}
	w := p.watch(rows.Watch{Resource: "depts"})
	p.event(w, rows.Ready)
	s.change("10", "T")
	p.changed(w, "10")
	s.trust = &tls.Config{RootCAs: made.Pool(), NextProtos: []string{"h2"}, ServerName: "localhost"}
	if nc, err := tls.Dial("tcp", s.over.Addr().String(), s.trust); err == nil {
		_ = nc.Close()
		t.Error("h2 is agreed upon")
	}
}

// TestLife_GofastDefects: what makes gofast's server panic, spin or hang ends
// one connection here, at once, and costs the others nothing.
func TestLife_GofastDefects(t *testing.T) {
	s := newSite(t)
	good := s.dial("")
	good.hot("depts", "10")
	hello := gofast.NewSession(gofast.Config{Legacy: true}).Open(time.Now(), nil)
	for name, text := range map[string]string{
		"junk": "6a756e6b6a756e6b6a756e6b", "an HTTP request": hex.EncodeToString([]byte("GET / HTTP/1.1\r\n\r\n")),
		"a length of eight bytes":          "d9d9f75b0000000100000000",
		"a length beyond the buffer":       "d9d9f7c65a7fffffff",
		"the fifteen bytes that spin":      "d9d9f7c64ad9010a46d82bbf011900",
		"a byte string beyond its packet":  "d9d9f7c64ad9010a58ffd82bbf011900",
		"a finish without an end":          "d9d9f7c844d903e84000",
		"compressed garbage":               "d9d9f7c64bd9010a47d82e44deadbeef",
		"message id 0":                     "d9d9f7c64ed903e84ad82bbfd82c00d82d40ff",
		"a whoami whose name is too short": "d9d9f7815158d9010a4dd82bbfd82c191002d82d41ffff",
	} {
		for _, first := range [][]byte{nil, hello} {
			b, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			nc, err := net.Dial("tcp", s.over.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := nc.Write(append(first, b...)); err != nil {
				t.Fatal(err)
			}
			_ = nc.SetReadDeadline(waittest.Deadline(time.Minute))
			var timeout net.Error
			if _, err := io.Copy(io.Discard, nc); errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("%s: the connection stays", name)
			}
			_ = nc.Close()
		}
	}
	if a, code := good.get(rows.Get{Resource: "depts", Key: "10"}); code != gofast.OK || a.Origin != rows.HitMemory {
		t.Errorf("another connection: %v %+v", code, a)
	}
	if n := s.over.Stats().Panics; n != 0 {
		t.Errorf("%d panics", n)
	}
}

// TestLife_LateFinishHitsNobody: a finish of what has ended is dropped.
func TestLife_LateFinishHitsNobody(t *testing.T) {
	s := newSite(t)
	p := s.dialAs(gofast.Config{Legacy: true})
	finish, err := hex.DecodeString("d9d9f7c844d903e840ff")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.write(append(finish, finish...))
		if st, _, _ := p.old(rows.IDGet, (&rows.Get{Resource: "depts", Key: "10"}).Append(nil)); st != rows.OK {
			t.Fatalf("status %v", st)
		}
	}
}

// TestLife_TooManyAtOnce are refused, and the connection goes on.
func TestLife_TooManyAtOnce(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	var watches []uint64
	for range front.Exchanges {
		w := p.watch(rows.Watch{Resource: "depts"})
		p.event(w, rows.Ready)
		watches = append(watches, w)
	}
	if out, _, err := p.s.AppendRequest(nil, &gofast.Message{ID: rows.IDGet,
		Data: (&rows.Get{Resource: "depts", Key: "10"}).Append(nil)}, nil); err == nil {
		t.Errorf("the session lets one exchange too many pass: %x", out)
	}
	old := s.dialAs(gofast.Config{Legacy: true})
	for range front.Exchanges {
		w := old.watch(rows.Watch{Resource: "depts"})
		old.next(w)
	}
	st, _, _ := old.old(rows.IDGet, (&rows.Get{Resource: "depts", Key: "10"}).Append(nil))
	if st != rows.TooLarge {
		t.Errorf("an old peer's exchange too many: %v", st)
	}
	_ = watches
}

// TestTask_EndsInTime: by its deadline, or because it is not wanted any more. A
// write that has begun goes on, whoever has left.
func TestTask_EndsInTime(t *testing.T) {
	set, _ := openSet(t)
	f := New(Options{Resources: set})
	defer f.Close()
	s := newStepper(t, f)
	c := s.conn.Data.(*conn)
	goOn, began := make(chan struct{}), make(chan struct{}, 3)
	begin := func(write bool, m gofast.Message) (*task, uint64, chan error) {
		t.Helper()
		in, opaque, err := s.client.AppendRequest(nil, &m, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		var e gofast.Event
		if _, _, err := c.session.Next(in, nil, &e); err != nil || e.Type != gofast.EventRequest {
			t.Fatalf("%v, %v", e.Type, err)
		}
		k := c.newTask(&e, nil)
		k.isWrite = write
		ended := make(chan error, 1)
		c.run(f.live.Load(), k, 0, func(ctx context.Context) {
			began <- struct{}{}
			select {
			case <-ctx.Done():
			case <-goOn:
			}
			ended <- ctx.Err()
		})
		return k, opaque, ended
	}
	k, _, _ := begin(false, gofast.Message{ID: rows.IDGet, Deadline: time.Millisecond})
	eventually(t, "the deadline has passed", k.over)
	select {
	case <-began:
	case <-time.After(50 * time.Millisecond): // it never began
	}
	for _, write := range []bool{false, true} {
		k, opaque, ended := begin(write, gofast.Message{ID: rows.IDGet})
		in, err := s.client.AppendCancel(nil, opaque, gofast.Canceled)
		if err != nil {
			t.Fatal(err)
		}
		<-began
		s.step(in)
		if write {
			close(goOn)
		}
		if err := <-ended; (err == nil) != write || k.over() == write {
			t.Errorf("a cancelled task (write: %v): %v, over %v", write, err, k.over())
		}
		k.fault(&fault{kind: kindInternal}) // what the work would have said
	}
	codes := f.Stats().Resources[0].Codes
	if codes[gofast.DeadlineExceeded] != 1 || codes[gofast.Canceled] != 1 || codes[gofast.Internal] != 1 ||
		c.busy() {
		t.Errorf("codes %v, busy %v", codes, c.busy())
	}
}

// TestLife_Echo: the messages of gofast's perf program.
func TestLife_Echo(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form, func(o *Options, _ *Listen) { o.Perf = true })
		for _, legacy := range []bool{true, false} {
			p := s.dialAs(gofast.Config{Legacy: legacy, Buffer: 2048})
			want := rows.AppendEcho(nil, []byte("aaaa"))
			if got, fault := p.call(rows.IDEchoRequest, want); fault != nil || string(got) != string(want) {
				t.Errorf("echo: %x %v", got, fault)
			}
			start := func(id uint64, data []byte) uint64 {
				out, opaque, err := p.s.AppendStart(nil, &gofast.Message{ID: id, Data: rows.AppendEcho(nil, data)}, nil)
				if err != nil {
					t.Fatal(err)
				}
				p.write(out)
				return opaque
			}
			up := start(rows.IDEchoSend, []byte("aaaa"))
			var out []byte
			for range 100 {
				var err error
				if out, err = p.s.AppendMessage(out, up, &gofast.Message{ID: rows.IDEchoSend, Data: want}); err != nil {
					t.Fatal(err)
				}
			}
			out, _ = p.s.AppendFinish(out, up)
			p.write(out)
			if h := p.next(up); h.Type != gofast.EventFinish || h.Err != nil {
				t.Errorf("a stream to the server ends with %v %v", h.Type, h.Err)
			}
			down := start(rows.IDEchoReceive, []byte{0, 0, 0x10, 0, 0, 0, 2, 0}) // 4,096 of 512 bytes
			n := 0
			h := p.next(down)
			for ; h.Type == gofast.EventMessage; h = p.next(down) {
				n++
				p.write(p.s.AppendConsumed(nil, down, len(h.data)))
			}
			if n != 4096 || h.Type != gofast.EventFinish || h.Err != nil {
				t.Errorf("a stream from the server: %d messages, %v %v", n, h.Type, h.Err)
			}
		}
	})
}
