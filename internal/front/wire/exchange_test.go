package wirefront

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/internal/waittest"
	"github.com/hotrow/hotrow/internal/wire/exchange"
)

// A hopPeer is a peer that passes HTTP exchanges on, one at a time.
type hopPeer struct {
	t  *testing.T
	nc net.Conn
	s  *gofast.Session
	in []byte
}

// serveHTTP serves h over the wire and returns a peer of it.
func serveHTTP(t *testing.T, h http.HandlerFunc, token string) *hopPeer {
	t.Helper()
	set, _ := openSet(t)
	o := Options{Resources: set}
	if h != nil {
		o.HTTP = h
	}
	f := New(o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site, err := f.Serve(l, Listen{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { site.Close(); f.Close() })
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(waittest.Deadline(20 * time.Second))
	p := &hopPeer{t: t, nc: nc, s: gofast.NewSession(gofast.Config{Token: []byte(token)})}
	p.write(p.s.Open(time.Now(), nil))
	for !p.s.Ready() {
		p.next()
	}
	return p
}

func (p *hopPeer) write(b []byte) {
	p.t.Helper()
	if _, err := p.nc.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// next returns the next event.
func (p *hopPeer) next() (e gofast.Event) {
	p.t.Helper()
	buf := make([]byte, 64<<10)
	for {
		n, out, err := p.s.Next(p.in, nil, &e)
		if err != nil {
			p.t.Fatal(err)
		}
		p.write(out)
		if p.in = p.in[n:]; e.Type != gofast.EventNone {
			return e
		}
		if n, err = p.nc.Read(buf); err != nil {
			p.t.Fatal(err)
		}
		p.in = append(p.in, buf[:n]...)
	}
}

// ask sends a request and returns its answer.
func (p *hopPeer) ask(r exchange.Request) (a exchange.Answer, err *gofast.Error) {
	p.t.Helper()
	out, _, fail := p.s.AppendRequest(nil, &gofast.Message{ID: exchange.ID, Data: r.Append(nil)}, nil)
	if fail != nil {
		p.t.Fatal(fail)
	}
	p.write(out)
	e := p.next()
	if e.Type != gofast.EventResponse {
		p.t.Fatal(e.Type)
	}
	if e.Err != nil {
		return a, e.Err
	}
	if err := a.Decode(append([]byte(nil), e.Data...)); err != nil {
		p.t.Fatal(err)
	}
	return a, nil
}

// open opens a stream with a request that streams its body.
func (p *hopPeer) open(r exchange.Request) (opaque uint64) {
	p.t.Helper()
	r.Streamed = true
	out, opaque, err := p.s.AppendStart(nil, &gofast.Message{ID: exchange.ID, Data: r.Append(nil)}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(out)
	return opaque
}

// send sends a part on a stream.
func (p *hopPeer) send(opaque uint64, part []byte) {
	p.t.Helper()
	out, err := p.s.AppendMessage(nil, opaque, &gofast.Message{ID: exchange.ID, Data: part})
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(out)
}

// get is a request for a path.
func get(path string, fields ...exchange.Field) exchange.Request {
	return exchange.Request{Method: []byte("GET"), Authority: []byte("localhost"), Path: []byte(path), Fields: fields}
}

// field makes a field.
func field(name, value string) exchange.Field {
	return exchange.Field{Name: []byte(name), Value: []byte(value)}
}

// echoHTTP answers with what it was asked.
func echoHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("X-Token", r.Header.Get("Authorization"))
	w.Header().Set("Connection", "close")
	if r.URL.Path == "/parts" {
		w.(http.Flusher).Flush()
	}
	fmt.Fprint(w, r.Method, " ", r.Host, " ", r.URL.Path, " ", len(body))
}

func TestExchange_RequestsAreAnsweredByTheHandler(t *testing.T) {
	p := serveHTTP(t, echoHTTP, "secret")
	a, err := p.ask(get("/a"))
	if err != nil || a.Status != 200 || string(a.Body) != "GET localhost /a 0" {
		t.Errorf("%d %q %v", a.Status, a.Body, err)
	}
	for _, f := range a.Fields {
		if string(f.Name) == "X-Token" && string(f.Value) != "Bearer secret" || string(f.Name) == "Connection" {
			t.Errorf("%s: %s", f.Name, f.Value)
		}
	}
	r := get("/b", field("Content-Length", "3"))
	r.Method, r.Body = []byte("POST"), []byte("abc")
	if a, err = p.ask(r); err != nil || string(a.Body) != "POST localhost /b 3" {
		t.Errorf("%q %v", a.Body, err)
	}
	r = get("/h")
	r.Method = []byte("HEAD")
	if a, err = p.ask(r); err != nil || len(a.Body) != 0 || a.Status != 200 {
		t.Errorf("%d %q %v", a.Status, a.Body, err)
	}
	r = get("/b", field("Content-Length", "4"))
	r.Body = []byte("abc")
	if _, err = p.ask(r); err == nil || err.Code != gofast.InvalidArgument {
		t.Errorf("a false length: %v", err)
	}
}

func TestExchange_StreamsAreAnsweredByTheHandler(t *testing.T) {
	p := serveHTTP(t, echoHTTP, "")
	for _, path := range []string{"/whole", "/parts"} {
		r := get(path)
		r.Method = []byte("PUT")
		opaque := p.open(r)
		for range 10 {
			p.send(opaque, exchange.AppendData(nil, make([]byte, 30_000)))
		}
		p.send(opaque, exchange.AppendTrailers(nil, nil))
		var body strings.Builder
		for kinds := []exchange.Kind(nil); ; {
			e := p.next()
			if e.Type == gofast.EventFinish {
				if e.Err != nil || kinds[0] != exchange.Head {
					t.Errorf("%s: %v %v", path, e.Err, kinds)
				}
				if last := kinds[len(kinds)-1]; path == "/parts" && last != exchange.Trailers {
					t.Errorf("the last part is %v, want trailers", last)
				}
				break
			}
			if e.Type != gofast.EventMessage {
				continue
			}
			var part exchange.Part
			if err := part.Decode(e.Data); err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, part.Kind)
			body.Write(part.Data)
		}
		if body.String() != "PUT localhost "+path+" 300000" {
			t.Errorf("%q", &body)
		}
		out, err := p.s.AppendFinish(nil, opaque)
		if err != nil {
			t.Fatal(err)
		}
		p.write(out)
	}
}

func TestExchange_EndsWhenThePeerWantsNoMore(t *testing.T) {
	came, gone := make(chan struct{}, 2), make(chan error, 2)
	p := serveHTTP(t, func(_ http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		if r.Method == http.MethodPut {
			_, err := io.ReadAll(r.Body)
			gone <- err
			return
		}
		<-r.Context().Done()
		gone <- r.Context().Err()
	}, "")
	get := get("/")
	out, opaque, err := p.s.AppendRequest(nil, &gofast.Message{ID: exchange.ID, Data: get.Append(nil)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.write(out)
	<-came
	if out, err = p.s.AppendCancel(nil, opaque, gofast.Canceled); err != nil {
		t.Fatal(err)
	}
	p.write(out)
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	put := get
	put.Method = []byte("PUT")
	opaque = p.open(put)
	<-came
	if out, err = p.s.AppendFinish(nil, opaque); err != nil { // in the middle of the body
		t.Fatal(err)
	}
	p.write(out)
	if err := <-gone; err == nil {
		t.Error("a request that was cut looks whole")
	}
}

func TestExchange_IsUnknownWithoutAHandler(t *testing.T) {
	p := serveHTTP(t, nil, "")
	if _, err := p.ask(get("/")); err == nil || err.Code != gofast.Unimplemented {
		t.Errorf("%v", err)
	}
}
