package gofast

import (
	"fmt"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// An end is a session with what it has read and written.
type end struct {
	t       testing.TB
	s       *Session
	in, out []byte
	log     []string // events
	on      func(e *Event)
	err     error
}

func (p *end) String() string {
	if p.s.cfg.Server {
		return "server"
	}
	return "client"
}

// step lets the session work upon its input.
func (p *end) step() {
	p.t.Helper()
	var e Event
	for p.err == nil {
		var n int
		n, p.out, p.err = p.s.Next(p.in, p.out, &e)
		p.in = p.in[n:]
		if p.err != nil || e.Type == EventNone {
			return
		}
		entry := fmt.Sprint(e.Type)
		if e.Type != EventReady {
			entry += fmt.Sprintf(" %d %.20q", e.ID, e.Data)
		}
		if e.Err != nil {
			entry += " " + e.Err.Error()
		}
		p.log = append(p.log, entry)
		if p.on != nil {
			p.on(&e)
		}
	}
}

// A pair is a client and a server with wires between them.
type pair struct {
	t              testing.TB
	client, server *end
	now            time.Time
}

// connect opens both ends.
func connect(t testing.TB, client, server Config) *pair {
	server.Server = true
	p := &pair{t: t, now: start}
	p.client = &end{t: t, s: NewSession(client)}
	p.server = &end{t: t, s: NewSession(server)}
	p.client.out = p.client.s.Open(p.now, nil)
	p.server.out = p.server.s.Open(p.now, nil)
	return p
}

// ready is connect, and the handshake.
func ready(t testing.TB, client, server Config) *pair {
	t.Helper()
	p := connect(t, client, server)
	p.run()
	for _, e := range []*end{p.client, p.server} {
		if !e.s.Ready() || e.err != nil {
			t.Fatalf("%v is ready: %v, %v", e, e.s.Ready(), e.err)
		}
		e.log = nil
	}
	return p
}

// run carries bytes to and fro until both ends are silent, or one has failed.
func (p *pair) run() {
	p.t.Helper()
	for range 1000 {
		c, s := p.client, p.server
		c.out, s.out = c.s.Pump(c.out, 1<<30), s.s.Pump(s.out, 1<<30)
		if len(c.out)+len(s.out) == 0 {
			return
		}
		s.in, c.in = append(s.in, c.out...), append(c.in, s.out...)
		c.out, s.out = nil, nil
		s.step()
		c.step()
		if c.err != nil || s.err != nil {
			return
		}
	}
	p.t.Fatal("the two never fall silent")
}

func TestSession_Handshake(t *testing.T) {
	p := ready(t, Config{Token: []byte("secret")}, Config{Instance: "i-1"})
	if got := p.client.s.Peer().Ext.Instance; got != "i-1" {
		t.Errorf("instance %q", got)
	}
	if got := string(p.server.s.Peer().Ext.Token); got != "secret" {
		t.Errorf("token %q", got)
	}
	for _, e := range []*end{p.client, p.server} {
		if e.s.Agreed() != SessionFeatures || !e.s.Idle() {
			t.Errorf("%v: agreed on %b, idle %v", e, e.s.Agreed(), e.s.Idle())
		}
	}
}

func TestSession_RequestAndResponse(t *testing.T) {
	p := ready(t, Config{}, Config{})
	p.server.on = func(e *Event) {
		var err error
		m := Message{ID: e.ID, Prefix: []byte("re: "), Data: e.Data}
		if p.server.out, err = p.server.s.AppendResponse(p.server.out, e.Opaque, &m); err != nil {
			t.Fatal(err)
		}
	}
	var users []any
	p.client.on = func(e *Event) { users = append(users, e.User) }
	for i := range 3 {
		var err error
		m := Message{ID: 1, Data: fmt.Append(nil, "question ", i)}
		p.client.out, _, err = p.client.s.AppendRequest(p.client.out, &m, i)
		if err != nil {
			t.Fatal(err)
		}
	}
	p.run()
	if got, want := fmt.Sprint(p.client.log, users), `[response 1 "re: question 0" `+
		`response 1 "re: question 1" response 1 "re: question 2"] [0 1 2]`; got != want {
		t.Errorf("client hears %s, want %s", got, want)
	}
	if !p.client.s.Idle() || !p.server.s.Idle() {
		t.Error("not idle")
	}
}
