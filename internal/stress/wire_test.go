package stress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	hotrow "github.com/hotrow/hotrow/client"
	wirefront "github.com/hotrow/hotrow/internal/front/wire"
	"github.com/hotrow/hotrow/internal/testbed"
)

// A road is a way to a stand: a connection of HTTP, or hotrow's own client.
type road interface {
	// get asks for a path. headers are "Name: value".
	get(path string, headers ...string) (*answer, error)
	// do sends one request and reads its answer.
	do(method, path, body string, headers ...string) (*answer, error)
}

// serveWire answers the wire protocol on a port of its own, once it is asked for.
func (s *stand) serveWire() string {
	s.T.Helper()
	if s.wireAddr != "" {
		return s.wireAddr
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.T.Fatal(err)
	}
	front := wirefront.New(wirefront.Options{Resources: s.Set, Log: testbed.Log(s.T)})
	site, err := front.Serve(listener, wirefront.Listen{})
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() {
		site.Close()
		front.Close()
	})
	s.wireAddr = listener.Addr().String()
	return s.wireAddr
}

// A wireRoad asks over the wire and gives the answers as HTTP would have told
// them, so that one oracle judges both.
type wireRoad struct {
	c      *hotrow.Client
	format hotrow.Format
}

// connectWire opens a client that ends with the test. It takes no position of
// its own along: what it has written must show without.
func (s *stand) connectWire(format hotrow.Format) *wireRoad {
	s.T.Helper()
	c, err := hotrow.Open("hotrow://"+s.serveWire(), hotrow.WithFormat(format),
		hotrow.WithConnections(1), hotrow.WithRetries(0), hotrow.WithTimeout(2*testbed.Patience),
		hotrow.WithoutOwnWrites())
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = c.Close() })
	return &wireRoad{c, format}
}

// road returns the i-th of several roads: every other one is HTTP, the rest the
// wire, in all formats.
func (s *stand) road(i int) road {
	if i%2 == 0 {
		return s.connect()
	}
	return s.connectWire(hotrow.Format(i / 2 % 3))
}

func (w *wireRoad) get(path string, headers ...string) (*answer, error) {
	if list, query, ok := strings.Cut(path, "?"); ok {
		return w.query(strings.TrimPrefix(list, "/"), query)
	}
	table, key := split(path)
	var options []hotrow.ReadOption
	status := "fwd=uri-miss; collapsed" // what a client is not told may be
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch name {
		case "Cache-Control":
			options = append(options, hotrow.NoCache())
			status = "fwd=request"
		case "Hotrow-Min-Position":
			options = append(options, hotrow.MinPosition(value))
		}
	}
	doc, err := w.c.Get(context.Background(), table, key, options...)
	return w.answer(&doc, status, err)
}

// query asks for a list.
func (w *wireRoad) query(table, query string) (*answer, error) {
	page, err := w.c.Query(context.Background(), table, query)
	whole := new(hotrow.Document)
	var bodies [][]byte
	for i := range page.Documents {
		d := &page.Documents[i]
		one, err := w.answer(d, "fwd=uri-miss; collapsed", nil)
		if err != nil {
			return nil, err
		}
		whole, bodies = d, append(bodies, one.body)
	}
	a, err := w.answer(whole, "fwd=uri-miss; collapsed", err)
	if err == nil && a.code == http.StatusOK {
		a.body = slices.Concat([]byte("["), bytes.Join(bodies, []byte(",")), []byte("]"))
	}
	return a, err
}

func (w *wireRoad) do(method, path, body string, _ ...string) (*answer, error) {
	if method != http.MethodPut {
		return nil, fmt.Errorf("%s over the wire", method)
	}
	table, key := split(path)
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		return nil, err
	}
	doc, err := w.c.Put(context.Background(), table, key, value)
	return w.answer(&doc, "fwd=method", err)
}

// answer tells as HTTP does what the client has been told. status is that of
// what comes from the database.
func (w *wireRoad) answer(doc *hotrow.Document, status string, err error) (*answer, error) {
	a := &answer{code: http.StatusOK, header: make(http.Header), format: int(w.format), wire: true}
	var told *hotrow.Error
	switch {
	case err == nil:
	case errors.Is(err, hotrow.ErrNotFound) && doc.Missing:
		a.code = http.StatusNotFound
	case errors.Is(err, hotrow.ErrUnavailable) && errors.As(err, &told) && told.RetryAfter > 0:
		a.code = http.StatusServiceUnavailable
		a.header.Set("Retry-After", told.RetryAfter.String())
		a.header.Set("Content-Type", "application/problem+json")
		return a, nil
	default:
		return nil, err
	}
	switch doc.Origin {
	case hotrow.FromMemory:
		status = hit
	case hotrow.FromDisk:
		status = diskHit
	case hotrow.FromStale:
		status = "fwd=stale"
	}
	a.header.Set("Cache-Status", "hotrow; "+status)
	if doc.Position != "" {
		a.header.Set("Hotrow-Position", fmt.Sprintf("%s; lag=%.3f", doc.Position,
			doc.Lag.Round(time.Millisecond).Seconds()))
	}
	if len(doc.Body) == 0 {
		return a, nil
	}
	if a.body = doc.Body; w.format != hotrow.JSON {
		var value any
		if err := doc.Decode(&value); err != nil {
			return nil, err
		}
		a.body, err = json.Marshal(value)
	}
	return a, err
}

// split takes "/flat/1" apart.
func split(path string) (table, key string) {
	table, key, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return table, key
}
