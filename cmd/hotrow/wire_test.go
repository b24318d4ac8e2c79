package main

import (
	"crypto/tls"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A wirePeer is a client of the wire protocol, one request at a time.
type wirePeer struct {
	t  *testing.T
	nc net.Conn
	s  *gofast.Session
	in []byte
}

// dial connects to the listener of a protocol.
func (r *running) dial(proto string) net.Conn {
	r.t.Helper()
	m := regexp.MustCompile(`proto=(` + proto + `|` + proto + `-tls) addr=(\S+)`).FindStringSubmatch(r.log.String())
	if m == nil {
		r.t.Fatalf("%s is not served:\n%s", proto, r.log)
	}
	network := "tcp"
	if strings.HasPrefix(m[2], "/") {
		network = "unix"
	}
	nc, err := net.Dial(network, m[2])
	if err == nil && m[1] != proto {
		nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = nc.Close() })
	return nc
}

// dialWire connects to a running hotrow with a token.
func (r *running) dialWire(token string) *wirePeer {
	r.t.Helper()
	nc := r.dial("wire")
	p := &wirePeer{t: r.t, nc: nc, s: gofast.NewSession(gofast.Config{Token: []byte(token)})}
	p.write(p.s.Open(time.Now(), nil))
	for !p.s.Ready() {
		p.next()
	}
	return p
}

func (p *wirePeer) write(b []byte) {
	p.t.Helper()
	if _, err := p.nc.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// next returns the next event.
func (p *wirePeer) next() (e gofast.Event) {
	p.t.Helper()
	for {
		n, out, err := p.s.Next(p.in, nil, &e)
		if err != nil {
			p.t.Fatal(err)
		}
		p.write(out)
		if p.in = p.in[n:]; e.Type != gofast.EventNone {
			return e
		}
		buf := make([]byte, 64<<10)
		_ = p.nc.SetReadDeadline(waittest.Deadline(time.Minute))
		n, err = p.nc.Read(buf)
		if err != nil {
			p.t.Fatal(err)
		}
		p.in = append(p.in, buf[:n]...)
	}
}

// get reads a document and returns its body, or the code of the error.
func (p *wirePeer) get(resource, key string) (string, gofast.Code) {
	p.t.Helper()
	g := rows.Get{Resource: resource, Key: key}
	out, opaque, err := p.s.AppendRequest(nil, &gofast.Message{ID: rows.IDGet, Data: g.Append(nil)}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(out)
	for {
		e := p.next()
		switch {
		case e.Opaque != opaque:
			continue
		case e.Err != nil:
			return e.Err.Text, e.Err.Code
		}
		var a rows.Answer
		if err := a.Decode(e.Data); err != nil {
			p.t.Fatal(err)
		}
		return string(a.Body), gofast.OK
	}
}

// TestServe_SpeaksTheWireProtocol, and tells of it on the operator's port.
func TestServe_SpeaksTheWireProtocol(t *testing.T) {
	t.Parallel()
	r := serve(t, database(t, deptSQL))
	p := r.dialWire("")
	for range 2 {
		if body, code := p.get("dept", "10"); code != gofast.OK || !strings.Contains(body, "ACCOUNTING") ||
			strings.Contains(body, "password") {
			t.Fatalf("%v %s", code, body)
		}
	}
	o := &running{t: t, http: r.ops}
	for path, want := range map[string]string{
		"/gofast/transports": `["wire-1"]`, "/gofast/statistics?keys=n_rxreq": `"n_rxreq":3`,
		"/metrics": `hotrow_requests_total{code="ok",proto="wire",source="main"} 2`,
	} {
		if a := o.get(path); a.code != 200 || !strings.Contains(a.body, want) {
			t.Errorf("%s = %d, without %s: %.2000s", path, a.code, want, a.body)
		}
	}
	if code := r.stop(); code != 0 {
		t.Errorf("exit %d:\n%s", code, r.log)
	}
}

// TestServe_WireTokensAndReload: a token that is removed is worth nothing on the
// open connection.
func TestServe_WireTokensAndReload(t *testing.T) {
	db := database(t, deptSQL)
	file := configFile(t, secureConfig(db, "ann", "bob"))
	r := serve(t, "-c", file)
	ann, bob, nobody := r.dialWire("secret-ann"), r.dialWire("secret-bob"), r.dialWire("")
	want := func(p *wirePeer, want gofast.Code) {
		t.Helper()
		if text, code := p.get("dept", "10"); code != want {
			t.Errorf("%v %s, want %v", code, text, want)
		}
	}
	want(ann, gofast.OK)
	want(bob, gofast.OK)
	want(nobody, gofast.Unauthenticated)
	rewrite(t, file, secureConfig(db, "bob"))
	hangUp(t, r, "configuration reloaded")
	want(ann, gofast.Unauthenticated)
	want(bob, gofast.OK)
	if strings.Contains(r.log.String(), "secret-") {
		t.Errorf("a token stands in the log:\n%s", r.log)
	}
}

// TestServe_WireRefusesToListenBeyondLoopback without tokens.
func TestServe_WireRefusesToListenBeyondLoopback(t *testing.T) {
	t.Setenv("HOTROW_HTTP_LISTEN", "off")
	t.Setenv("HOTROW_OPS_LISTEN", "off")
	t.Setenv("HOTROW_WIRE_LISTEN", "0.0.0.0:0")
	code, _, stderr := command(t, "serve", database(t, deptSQL))
	if code != 2 || !strings.Contains(stderr, "wire.listen") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
