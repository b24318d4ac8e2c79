package api

import (
	"bytes"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotrow/hotrow/internal/links"
)

// A writes counts what a handler writes to its connection.
type writes struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (w writes) Write(b []byte) (int, error) {
	w.n.Add(1)
	return w.ResponseWriter.Write(b)
}

func (w writes) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A lockedBuffer takes what a server logs.
type lockedBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// An export of many links goes out in large pieces, and nobody complains about how.
func TestExport_GoesOutInPieces(t *testing.T) {
	b := newBed(t, links.Options{}, nil)
	var lines strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&lines, `{"code":"c%d","url":"https://example.com/%s%d"}`+"\n", i,
			strings.Repeat("x", 100), i)
	}
	if a := b.do("POST", "/api/v1/links", lines.String(), "Content-Type", typeNDJSON); a.status != 200 {
		t.Fatalf("%d %.300s", a.status, a.body)
	}
	var logged lockedBuffer
	var n atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.h.ServeHTTP(writes{w, &n}, r)
	}))
	server.Config.ErrorLog = log.New(&logged, "", 0)
	server.Start()
	b.url = server.URL
	for mediaType, want := range map[string]int{typeCSV: 1201, typeNDJSON: 1200} {
		n.Store(0)
		a := b.do("GET", "/api/v1/links?order=code", "", "Accept", mediaType)
		if got := strings.Count(a.body, "\n"); a.status != 200 || got != want {
			t.Errorf("%s: %d with %d lines, want %d", mediaType, a.status, got, want)
		}
		if most := int64(len(a.body)>>15) + 2; n.Load() > most {
			t.Errorf("%s: %d bytes in %d writes", mediaType, len(a.body), n.Load())
		}
	}
	server.Close()
	if logged.String() != "" {
		t.Errorf("logged: %s", logged.String())
	}
}
