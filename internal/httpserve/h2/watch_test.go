package h2_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// watch sends events with rising numbers until the client goes, or the server ends, and
// then one that says so.
func (f *full) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	every := time.NewTicker(2 * time.Millisecond)
	defer every.Stop()
	for i := 0; ; i++ {
		_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
		if http.NewResponseController(w).Flush() != nil {
			f.canceled <- struct{}{}
			return
		}
		select {
		case <-every.C:
		case <-r.Context().Done():
			f.canceled <- struct{}{}
			return
		case <-f.release:
			_, _ = io.WriteString(w, "data: end\n\n")
			return
		}
	}
}

// A watcher is a client's end of a watch.
type watcher struct {
	t      *testing.T
	events *bufio.Scanner
	next   int
	stop   context.CancelFunc
}

// watch begins one.
func (s *site) watch(t *testing.T, c *http.Client) *watcher {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", s.url("/watch/x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = a.Body.Close() })
	return &watcher{t: t, events: bufio.NewScanner(a.Body), stop: stop}
}

// see reads n events, which are those that come next. It reports false at the end.
func (w *watcher) see(n int) bool {
	for n > 0 && w.events.Scan() {
		switch line := w.events.Text(); line {
		case "":
		case "data: end":
			w.events.Scan() // the empty line
			if w.events.Scan() || w.events.Err() != nil {
				w.t.Errorf("behind the end: %q, %v", w.events.Text(), w.events.Err())
			}
			return false
		default:
			if want := fmt.Sprintf("data: %d", w.next); line != want {
				w.t.Errorf("%q, want %q", line, want)
			}
			w.next++
			n--
		}
	}
	if n > 0 {
		w.t.Errorf("%d events are missing: %v", n, w.events.Err())
	}
	return n == 0
}

// TestH2_WatchesBesideHits: several on one connection, of which the client ends some, and
// the server the others.
func TestH2_WatchesBesideHits(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		c := s.client(t)
		do(t, c, "GET", s.url("/hit/a"), nil) // so that there is a connection
		var list []*watcher
		for range 10 {
			list = append(list, s.watch(t, c))
		}
		var all sync.WaitGroup
		for _, w := range list {
			all.Go(func() { w.see(20) })
		}
		all.Go(func() { askMany(t, c, s.url(""), "beside") })
		all.Wait()
		for _, w := range list[:5] {
			w.stop()
		}
		for range 5 { // their handlers learn of it
			<-s.canceled
		}
		for _, w := range list[5:] {
			w.see(20)
		}
		close(s.release)
		for _, w := range list[5:] {
			for w.see(1) {
				continue
			}
		}
		if code, _ := do(t, c, "GET", s.url("/hit/a"), nil); code != 200 {
			t.Errorf("a hit behind them: %d", code)
		}
		if n := s.server.Stats(); n.Accepted != 1 || n.Panics != 0 {
			t.Errorf("%+v, want one connection", n)
		}
	})
}

// TestH2_WatchesEndWithTheServer: they go on while it drains, and end as their handlers do.
func TestH2_WatchesEndWithTheServer(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		c := s.client(t)
		w := s.watch(t, c)
		w.see(5)
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
			defer cancel()
			done <- s.stop(ctx)
		}()
		eventually(t, "nobody is let in", func() bool {
			_, err := s.client(t).Get(s.url("/hit/a"))
			return err != nil
		})
		w.see(20)
		close(s.release)
		for w.see(1) {
			continue
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestH2_WatchesWaitForWindows: what does not pass waits, and so does the handler; nothing
// of it is lost.
func TestH2_WatchesWaitForWindows(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p := s.dial(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		p.ask(1, "GET", "/watch/x", true)
		for range 10 { // others pass meanwhile
			p.ping()
		}
		p.ask(3, "GET", "/hit/a", true)
		p.must(p.WriteWindowUpdate(3, 100))
		p.want(3, "200", "/hit/a")
		got, end := "", "data: 200\n\n"
		for allowed := uint32(0); !strings.Contains(got, end); {
			if int(allowed) == len(got) { // now and then a little
				p.must(p.WriteWindowUpdate(1, 100))
				p.must(p.WriteWindowUpdate(0, 100))
				allowed += 100
			}
			f, err := p.ReadFrame()
			p.must(err)
			if d, ok := f.(*http2.DataFrame); ok && d.StreamID == 1 {
				got += string(d.Data())
			}
			if len(got) > int(allowed) {
				t.Fatalf("%d bytes with a window of %d", len(got), allowed)
			}
		}
		want := ""
		for i := range 201 {
			want += fmt.Sprintf("data: %d\n\n", i)
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q", got)
		}
		p.must(p.WriteRSTStream(1, http2.ErrCodeCancel))
		<-s.canceled
		p.ping()
	})
}
