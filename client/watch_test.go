package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestWatch_TellsChanges(t *testing.T) {
	s := newSite(t)
	c := open(t, s.wireURL)
	ctx := within(t)
	all, err := c.Watch(ctx, "depts")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = all.Close() }()
	one, err := c.Watch(ctx, "depts", OfKey("20"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = one.Close() }()
	for _, key := range []string{"10", "20"} {
		patch := map[string]any{"deptLocation": "MOON"}
		if _, err := c.Patch(ctx, "depts", key, patch); err != nil {
			t.Fatal(err)
		}
		wantChange(t, all, key)
	}
	wantChange(t, one, "20")
}

// wantChange wants the next event to be the change of a key.
func wantChange(t *testing.T, w *Watch, key string) {
	t.Helper()
	e, err := w.Next(within(t))
	if err != nil || e.Kind != Changed || e.Key != key || e.Position == "" {
		t.Errorf("the event is %+v, %v; want the change of %s", e, err, key)
	}
}

// TestWatch_GoesOnAfterACut: a change that happens while the connection is down
// is told when it is up again.
func TestWatch_GoesOnAfterACut(t *testing.T) {
	s := newSite(t)
	p := newProxy(t, s.wireURL[len("hotrow://"):])
	direct, c := open(t, s.wireURL), open(t, "hotrow://"+p.address())
	ctx := within(t)
	w, err := c.Watch(ctx, "depts")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for i := range 5 {
		p.cut()
		patch := map[string]any{"deptLocation": fmt.Sprint(i)}
		if _, err := direct.Patch(ctx, "depts", "30", patch); err != nil {
			t.Fatal(err)
		}
		wantChange(t, w, "30")
	}
}

// TestWatch_BeginsAnewWithReset when nobody knows what was missed.
func TestWatch_BeginsAnewWithReset(t *testing.T) {
	s := newSite(t)
	c := open(t, s.wireURL)
	w, err := c.Watch(within(t), "depts", Since("hr1.main.other.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if e, err := w.Next(within(t)); err != nil || e.Kind != Reset {
		t.Errorf("the first event is %+v, %v", e, err)
	}
}

func TestWatch_EndsWithItsContextAndWithClose(t *testing.T) {
	s := newSite(t)
	c := open(t, s.wireURL)
	w, err := c.Watch(within(t), "depts")
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := w.Next(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("next out of time: %v", err)
	}
	if _, err := c.Patch(within(t), "depts", "10", map[string]any{"deptLocation": "A"}); err != nil {
		t.Fatal(err)
	}
	if e, err := w.Next(within(t)); err != nil {
		t.Errorf("next after its context has ended: %+v, %v", e, err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := w.Next(context.Background())
		ended <- err
	}()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("next after close: %v", err)
	}
}

func TestWatch_OfWhatIsNotThere(t *testing.T) {
	s := newSite(t)
	c := open(t, s.wireURL)
	if _, err := c.Watch(within(t), "nothing"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a watch of nothing: %v", err)
	}
	if _, err := c.Watch(within(t), "pay"); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("a watch without a token: %v", err)
	}
}

// TestWatch_OverHTTP: a document and a query are watched, through cuts, and a server without
// watches is taken for what it is.
func TestWatch_OverHTTP(t *testing.T) {
	s := newSite(t)
	p := newProxy(t, s.httpURL[len("http://"):])
	direct, c := open(t, s.httpURL), open(t, "http://"+p.address())
	move := func(location string) {
		t.Helper()
		if _, err := direct.Patch(within(t), "depts", "10", map[string]any{"deptLocation": location}); err != nil {
			t.Fatal(err)
		}
	}
	move("EARTH")
	doc, err := c.Watch(within(t), "depts", OfKey("10"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = doc.Close() }()
	list, err := c.Watch(within(t), "depts", OfQuery("deptLocation=eq.MARS"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = list.Close() }()
	for i := range 4 {
		if i == 2 {
			p.cut()
		}
		move([]string{"MARS", "EARTH"}[i%2])
		if e, err := doc.Next(within(t)); err != nil || e.Kind != Changed || e.Key != "10" || e.Position == "" {
			t.Fatalf("change %d of the document: %+v, %v", i, e, err)
		}
		wantChange(t, list, "")
	}
	if _, err := direct.Delete(within(t), "depts", "10"); err != nil {
		t.Fatal(err)
	}
	if e, err := doc.Next(within(t)); err != nil || e.Kind != Deleted || e.Key != "10" {
		t.Errorf("the end of the document: %+v, %v", e, err)
	}
	if _, err := c.Watch(within(t), "depts"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("all of a resource: %v", err)
	}
	if _, err := c.Watch(within(t), "nothing", OfKey("1")); !errors.Is(err, ErrNotFound) {
		t.Errorf("a watch of nothing: %v", err)
	}
	if _, err := c.Watch(within(t), "pay", OfKey("1")); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("a watch without a token: %v", err)
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("{}"))
	}))
	defer plain.Close()
	if _, err := open(t, plain.URL).Watch(within(t), "depts", OfKey("1")); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a watch of a server that has none: %v", err)
	}
}

// TestWatch_OfAQuery: its changes are told, no others, and after a cut exactly if there was
// one.
func TestWatch_OfAQuery(t *testing.T) {
	s := newSite(t)
	p := newProxy(t, s.wireURL[len("hotrow://"):])
	direct, c := open(t, s.wireURL), open(t, "hotrow://"+p.address())
	const query = "deptLocation=eq.MARS"
	w, err := c.Watch(within(t), "depts", OfQuery(query))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	move := func(key, location string) {
		t.Helper()
		if _, err := direct.Patch(within(t), "depts", key, map[string]any{"deptLocation": location}); err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	for i, key := range []string{"10", "20", "30"} {
		if i > 0 {
			p.cut()
		}
		move("40", fmt.Sprint("ELSEWHERE", i))
		move(key, "MARS")
		wantChange(t, w, "")
		page, err := c.Query(within(t), "depts", query)
		if found++; err != nil || len(page.Documents) != found {
			t.Errorf("behind event %d: %d documents, %v", found, len(page.Documents), err)
		}
	}
	p.cut()
	short, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if e, err := w.Next(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nothing has changed: %+v, %v", e, err)
	}
	move("10", "EARTH")
	wantChange(t, w, "")

	if _, err := c.Watch(within(t), "depts", OfQuery("nothing=eq.1")); !errors.Is(err, ErrInvalid) {
		t.Errorf("a column that there is not: %v", err)
	}
}
