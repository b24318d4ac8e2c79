package gofast

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSession_AllocatesNothing: a request that is answered at once, its response,
// a post and a message of a stream cost no allocation at either end.
func TestSession_AllocatesNothing(t *testing.T) {
	p := ready(t, Config{}, Config{Credit: 1 << 30})
	c, s := p.client.s, p.server.s
	m := Message{ID: 112, Data: bytes.Repeat([]byte("a"), 64), Prefix: []byte("head")}
	there, back := make([]byte, 0, 1<<10), make([]byte, 0, 1<<10)
	there, stream, err := c.AppendStart(there, &m, nil)
	if err != nil {
		t.Fatal(err)
	}
	var e Event
	events := 0
	n := testing.AllocsPerRun(1000, func() {
		var opaque uint64
		var err1, err2, err3 error
		there, opaque, err1 = c.AppendRequest(there, &m, t)
		there, err2 = c.AppendPost(there, &m)
		there, err3 = c.AppendMessage(there, stream, &m)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		for in := there; ; events++ {
			n, out, err := s.Next(in, back, &e)
			if in, back = in[n:], out; err != nil {
				t.Fatal(err)
			}
			if e.Type == EventNone {
				break
			}
			if e.Type == EventRequest {
				answer := Message{ID: e.ID, Data: e.Data}
				if back, err = s.AppendResponse(back, e.Opaque, &answer); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, _, err := c.Next(back, there[:0], &e); err != nil || e.Type != EventResponse ||
			e.Opaque != opaque || e.User != t {
			t.Fatal(e.Type, err)
		}
		there, back = there[:0], back[:0]
	})
	if n != 0 || events != 1+3*1001 {
		t.Errorf("%v allocations, %d events", n, events)
	}
}

// ofBytes runs a conversation whose bytes arrive one by one, and returns what
// both ends have heard and said.
func ofBytes(t *testing.T, cut int) (log string, killed *pair, total int) {
	p := connect(t, Config{}, Config{Buffer: 200})
	c, s := p.client, p.server
	c.on = func(e *Event) {
		var err1, err2, err3 error
		if e.Type == EventReady {
			m := Message{ID: 1, Data: bytes.Repeat([]byte("q"), 300)}
			c.out, _, err1 = c.s.AppendRequest(c.out, &m, "request")
			var opaque uint64
			c.out, opaque, err2 = c.s.AppendStart(c.out, &Message{ID: 2, Data: []byte("s")}, "stream")
			c.out, err3 = c.s.AppendMessage(c.out, opaque, &m)
		} else if e.Type == EventFinish {
			c.out, err1 = c.s.AppendFinish(c.out, e.Opaque)
		}
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
	}
	s.on = func(e *Event) {
		var err1, err2 error
		switch e.Type {
		case EventRequest:
			s.out, err1 = s.s.AppendResponse(s.out, e.Opaque, &Message{ID: 1, Data: e.Data[:100]})
		case EventMessage:
			s.out, err1 = s.s.AppendMessage(s.out, e.Opaque, &Message{ID: 2, Data: []byte("m")})
			s.out, err2 = s.s.AppendFinish(s.out, e.Opaque)
		}
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
	}
	for {
		c.out, s.out = c.s.Pump(c.out, 1<<20), s.s.Pump(s.out, 1<<20)
		if len(c.out)+len(s.out) == 0 || total == cut {
			return fmt.Sprint(c.log, s.log), p, total
		}
		from, to := c, s
		if len(c.out) == 0 || total%3 == 0 && len(s.out) > 0 {
			from, to = s, c
		}
		to.in = append(to.in, from.out[0])
		from.out = from.out[1:]
		total++
		if to.step(); to.err != nil {
			t.Fatal(to.err)
		}
	}
}

// TestSession_CutAtEveryByte: bytes that come one by one are heard as if they
// came together; and wherever the connection is lost, each exchange is told.
func TestSession_CutAtEveryByte(t *testing.T) {
	log, p, total := ofBytes(t, -1)
	for _, event := range []string{"ready", "response 1", "finish", "start 2", "message 2"} {
		if !strings.Contains(log, event) {
			t.Errorf("no %s in %s", event, log)
		}
	}
	if !p.client.s.Idle() || !p.server.s.Idle() || total < 1000 {
		t.Errorf("idle %v, %v after %d bytes", p.client.s.Idle(), p.server.s.Idle(), total)
	}
	for cut := range total {
		_, p, _ := ofBytes(t, cut)
		for _, e := range []*end{p.client, p.server} {
			if err := check(e.s); err != nil {
				t.Fatalf("%v after %d bytes: %v", e, cut, err)
			}
			ours, theirs := e.s.Live()
			told := 0
			e.s.End(func(uint64, any, bool) { told++ })
			if told != ours+theirs || !e.s.Idle() || check(e.s) != nil {
				t.Fatalf("%v after %d bytes: %d are told, want %d and %d", e, cut, told, ours, theirs)
			}
		}
	}
}

// TestSession_CreditHoldsAStream: what the owner does not consume, the peer does
// not send.
func TestSession_CreditHoldsAStream(t *testing.T) {
	p := ready(t, Config{Credit: 1000}, Config{})
	c, s := p.client, p.server
	out, opaque, err := c.s.AppendStart(nil, &Message{ID: 1}, "watch")
	if err != nil {
		t.Fatal(err)
	}
	c.out = out
	p.run()
	m, sent := Message{ID: 1, Data: make([]byte, 300)}, 0
	say := func() {
		for range 100 {
			if s.out, err = s.s.AppendMessage(s.out, opaque, &m); err != nil {
				return
			}
			sent++
		}
	}
	if say(); !errors.Is(err, ErrNoCredit) || sent != 4 {
		t.Fatalf("%d messages, %v", sent, err)
	}
	p.run()
	c.out = c.s.AppendConsumed(c.out, opaque, 300) // less than half
	if p.run(); len(s.log) != 1 {
		t.Errorf("server hears %v", s.log)
	}
	c.out = c.s.AppendConsumed(c.out, opaque, 600)
	if p.run(); len(s.log) != 2 || !strings.HasPrefix(s.log[1], "credit") {
		t.Errorf("server hears %v", s.log)
	}
	if say(); sent != 4+3 {
		t.Errorf("%d messages", sent)
	}
	p.run()
	c.in = AppendFrame(nil, &Frame{Kind: KindMessage, Opaque: opaque, Message: m})
	if c.step(); !errors.Is(c.err, ErrOverrun) {
		t.Errorf("a message too many: %v", c.err)
	}
}

// TestSession_FragmentsLetOthersPass: a long message does not hold a short one.
func TestSession_FragmentsLetOthersPass(t *testing.T) {
	p := ready(t, Config{}, Config{Buffer: 1000})
	c := p.client
	var err error
	for _, size := range []int{100_000, 50_000, 10} {
		m := Message{ID: 1, Data: make([]byte, size)}
		if c.out, _, err = c.s.AppendRequest(c.out, &m, size); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.out) > 3000 || !c.s.Pending() {
		t.Errorf("%d bytes at once", len(c.out))
	}
	var order []int
	p.server.on = func(e *Event) { order = append(order, len(e.Data)) }
	if p.run(); fmt.Sprint(order) != "[10 50000 100000]" {
		t.Errorf("requests arrive in the order %v", order)
	}
	_, _, err = c.s.AppendRequest(nil, &Message{ID: 1, Data: make([]byte, 2<<20)}, nil)
	if !errors.Is(err, ErrTooLarge) || c.s.MaxData() != 1<<20 {
		t.Errorf("%v, at most %d", err, c.s.MaxData())
	}
}

// TestSession_WhoamiIsABarrier: its answer comes after those of all requests
// before it, and waits for none behind it.
func TestSession_WhoamiIsABarrier(t *testing.T) {
	p := ready(t, Config{}, Config{})
	c, s := p.client, p.server
	var waiting []uint64
	s.on = func(e *Event) { waiting = append(waiting, e.Opaque) }
	ask := func(user string) {
		var err error
		if c.out, _, err = c.s.AppendRequest(c.out, &Message{ID: 1}, user); err != nil {
			t.Fatal(err)
		}
	}
	ask("1")
	ask("2")
	out, _, err := c.s.AppendWhoami(c.out, "barrier")
	if c.out = out; err != nil {
		t.Fatal(err)
	}
	ask("3")
	p.run()
	var heard []any
	c.on = func(e *Event) { heard = append(heard, e.User) }
	for _, i := range []int{1, 0, 2} {
		if s.out, err = s.s.AppendResponse(s.out, waiting[i], &Message{ID: 1}); err != nil {
			t.Fatal(err)
		}
		p.run()
	}
	if got := fmt.Sprint(heard); got != "[2 1 barrier 3]" {
		t.Errorf("answers to %s", got)
	}
}

// TestSession_BoundsTheOpenExchanges: a negotiated peer is refused, an old one is
// the owner's to refuse, at once.
func TestSession_BoundsTheOpenExchanges(t *testing.T) {
	p := ready(t, Config{}, Config{Exchanges: 2})
	for range 2 {
		out, _, err := p.client.s.AppendRequest(p.client.out, &Message{ID: 1}, nil)
		if p.client.out = out; err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := p.client.s.AppendRequest(nil, &Message{ID: 1}, nil); !errors.Is(err, ErrNoOpaque) {
		t.Errorf("a third request: %v", err)
	}
	f := frame(KindRequest, 5000, 1, nil)
	p.server.in = AppendFrame(nil, &f)
	f = frame(KindStart, 5001, 1, nil)
	p.client.out = AppendFrame(p.client.out, &f)
	p.run()
	if got := p.server.s.Stats(); len(p.server.log) != 2 || got.TxFin != 1 || got.TxResp != 2 {
		t.Errorf("server hears %v, %+v", p.server.log, got)
	}

	old := ready(t, Config{Legacy: true}, Config{Exchanges: 2}).server
	for i := range uint64(3) {
		f := frame(KindRequest, 2000+i, 1, nil)
		old.in = AppendFrame(old.in, &f)
	}
	refused := 0
	old.on = func(e *Event) {
		if e.Refuse {
			refused++
		}
	}
	if old.step(); refused != 1 || old.err != nil && !errors.Is(old.err, ErrFlood) {
		t.Errorf("%d refused, %v", refused, old.err)
	}
	if old.step(); !errors.Is(old.err, ErrFlood) {
		t.Errorf("an answer that does not come at once: %v", old.err)
	}
}

// TestSession_Time is about heartbeats, silence and the handshake.
func TestSession_Time(t *testing.T) {
	alone := NewSession(Config{Handshake: time.Minute})
	alone.Open(start, nil)
	if _, err := alone.Tick(start.Add(59*time.Second), nil); err != nil {
		t.Error(err)
	}
	if _, err := alone.Tick(start.Add(time.Minute), nil); !errors.Is(err, ErrHandshake) {
		t.Errorf("no handshake: %v", err)
	}

	p := ready(t, Config{}, Config{})
	now := start
	for range 60 { // a minute of both being idle
		now = now.Add(time.Second)
		for _, e := range []*end{p.client, p.server} {
			if e.out, e.err = e.s.Tick(now, e.out); e.err != nil {
				t.Fatal(e.err)
			}
		}
		p.run()
	}
	if got := p.client.s.Stats(); got.RxBeats != 12 || got.TxPost != 12 {
		t.Errorf("%+v", got)
	}
	for after, want := range []time.Duration{5 * time.Second, time.Second} { // it is the tick that notices
		now = now.Add(time.Second)
		if got := p.client.s.Silent(now); got != want {
			t.Errorf("silent for %v at tick %d", got, after)
		}
		if _, err := p.client.s.Tick(now, nil); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.client.s.Tick(now.Add(14*time.Second), nil); err != nil {
		t.Error(err)
	}
	if _, err := p.client.s.Tick(now.Add(17*time.Second), nil); !errors.Is(err, ErrSilent) {
		t.Errorf("a dead peer: %v", err)
	}

	old := legacyPair(t, Config{})
	if _, err := old.client.s.Tick(start.Add(time.Hour), nil); err != nil {
		t.Errorf("an old peer that sends no heartbeats: %v", err)
	}
}

// TestSession_RefusesTheSameOpaques: gofast's handshake hangs for ever.
func TestSession_RefusesTheSameOpaques(t *testing.T) {
	own := Range{First: 2000, Last: 3000}
	p := connect(t, Config{Opaques: own}, Config{Opaques: Range{First: 2500, Last: 4000}})
	if p.run(); !errors.Is(p.client.err, ErrOpaques) && !errors.Is(p.server.err, ErrOpaques) {
		t.Errorf("%v, %v", p.client.err, p.server.err)
	}
	q := ready(t, Config{}, Config{})
	f := frame(KindRequest, serverRange.First+2, 1, nil)
	q.server.in = AppendFrame(nil, &f)
	if q.server.step(); !errors.Is(q.server.err, ErrForeign) {
		t.Error(q.server.err)
	}
}

// TestSession_LongTokensFollow: a whoami stays small enough for any gofast.
func TestSession_LongTokensFollow(t *testing.T) {
	token := bytes.Repeat([]byte("t"), 2000)
	p := connect(t, Config{Token: token}, Config{})
	if len(p.client.out) > maxWhoami+100 {
		t.Errorf("the first message has %d bytes", len(p.client.out))
	}
	var got []byte
	p.server.on = func(e *Event) {
		if e.Type == EventAuth {
			got = bytes.Clone(e.Data)
		}
	}
	if p.run(); !bytes.Equal(got, token) {
		t.Errorf("%d bytes of the token arrive, %v", len(got), p.server.log)
	}
}

// TestSession_LimitsChange: the peer keeps to those that it is told of.
func TestSession_LimitsChange(t *testing.T) {
	p := ready(t, Config{}, Config{})
	out, err := p.server.s.AppendLimits(p.server.out, 2000, 1)
	if p.server.out = out; err != nil {
		t.Fatal(err)
	}
	p.run()
	c := p.client.s
	if _, _, err := c.AppendRequest(nil, &Message{ID: 1, Data: make([]byte, 2001)}, nil); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	_, _, err1 := c.AppendRequest(nil, &Message{ID: 1}, nil)
	_, _, err2 := c.AppendRequest(nil, &Message{ID: 1}, nil)
	if err1 != nil || !errors.Is(err2, ErrNoOpaque) {
		t.Error(err1, err2)
	}
}

// TestStats_HaveGofastsNames compares the two lists, and adds.
func TestStats_HaveGofastsNames(t *testing.T) {
	var s Stats
	for i, p := range s.all() {
		*p = uint64(i)
	}
	s.Add(&s)
	m := s.Map()
	for i, name := range StatNames() {
		if m[name] != 2*uint64(i) {
			t.Errorf("%s = %d, want %d", name, m[name], 2*i)
		}
	}
}
