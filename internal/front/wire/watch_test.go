package wirefront

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// watch opens a watch and returns its opaque.
func (p *peer) watch(w rows.Watch) uint64 {
	p.t.Helper()
	out, opaque, err := p.s.AppendStart(nil, &gofast.Message{ID: rows.IDWatch, Data: w.Append(nil)}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(out)
	return opaque
}

// event returns the next event of a watch, which must be of this kind.
func (p *peer) event(watch uint64, kind rows.EventKind) rows.Event {
	p.t.Helper()
	h := p.next(watch)
	var e rows.Event
	if h.Type != gofast.EventMessage {
		p.t.Fatalf("%v %v in place of an event", h.Type, h.Err)
	}
	if err := e.Decode(h.data); err != nil || e.Kind != kind {
		p.t.Fatalf("event %+v, %v, want kind %d", e, err, kind)
	}
	p.write(p.s.AppendConsumed(nil, watch, len(h.data)))
	return e
}

// change changes a department.
func (s *site) change(key, loc string) {
	s.t.Helper()
	if err := s.src.Exec(s.t.Context(), fmt.Sprintf("UPDATE dept SET loc = '%s' WHERE deptno = %s",
		loc, key)); err != nil {
		s.t.Fatal(err)
	}
}

// changed wants the next event to be the change of key, and that a read sees it.
func (p *peer) changed(watch uint64, key string) rows.Event {
	p.t.Helper()
	e := p.event(watch, rows.Changed)
	if e.Key != key || e.Position == "" || e.Cursor == "" {
		p.t.Fatalf("event %+v, want %s", e, key)
	}
	return e
}

func TestWatch_TellsChanges(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form)
		p := s.dial("")
		all, one := p.watch(rows.Watch{Resource: "depts"}), p.watch(rows.Watch{Resource: "depts", Key: "020"})
		p.event(all, rows.Ready)
		p.event(one, rows.Ready)
		for i := range 5 {
			s.change("10", fmt.Sprint("A", i))
			p.changed(all, "10")
			s.change("20", fmt.Sprint("B", i))
			e := p.changed(all, "20")
			p.changed(one, "20")
			a, _ := p.get(rows.Get{Resource: "depts", Key: "20", Min: e.Position})
			if want := fmt.Sprintf(`{"deptNumber":20,"dname":"RESEARCH","loc":"B%d"}`, i); string(a.Body) != want {
				t.Fatalf("a read after the event: %s", a.Body)
			}
		}
		out, err := p.s.AppendFinish(nil, one)
		if err != nil {
			t.Fatal(err)
		}
		p.write(out)
		if h := p.next(one); h.Type != gofast.EventFinish || h.Err != nil {
			t.Errorf("%v %v, want the finish", h.Type, h.Err)
		}
		s.change("20", "LAST")
		p.changed(all, "20")
		for _, w := range []rows.Watch{{Resource: "nothing"}, {Resource: "depts", Key: "x"}, {Resource: "pay"}} {
			if h := p.next(p.watch(w)); h.Type != gofast.EventFinish || h.Err == nil {
				t.Errorf("watch %+v: %v %v", w, h.Type, h.Err)
			}
		}
	})
}

// TestWatch_GoesOnWhereItWas: from a cursor and from a position, over a
// connection that knows nothing of the first.
func TestWatch_GoesOnWhereItWas(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	w := p.watch(rows.Watch{Resource: "depts"})
	ready := p.event(w, rows.Ready)
	s.change("10", "A")
	first := p.changed(w, "10")
	s.change("20", "B")
	p.changed(w, "20")
	s.change("10", "C")
	last := p.changed(w, "10")
	_ = p.nc.Close()
	p = s.dial("")
	for _, tt := range []struct {
		key, since string
		want       []string
	}{
		{"", ready.Cursor, []string{"10", "20", "10"}}, {"", first.Cursor, []string{"20", "10"}},
		{"10", first.Cursor, []string{"10"}}, {"", last.Cursor, nil},
		{"", ready.Position, []string{"10", "20", "10"}}, {"", first.Position, []string{"20", "10"}},
		{"", last.Position, nil},
	} {
		w = p.watch(rows.Watch{Resource: "depts", Key: tt.key, Since: tt.since})
		for _, key := range tt.want {
			p.changed(w, key)
		}
		p.event(w, rows.Ready)
	}
	for _, since := range []string{"x", "x.1", ready.Cursor + "ffff", "hr1.main.other.5", "hr1.main..1",
		"hr1.other.o.5", "hr1.x"} {
		w = p.watch(rows.Watch{Resource: "depts", Since: since})
		p.event(w, rows.Reset)
		p.event(w, rows.Ready)
	}
}

// TestWatch_ResetsWithTheEpoch: after a reload everything may have changed.
func TestWatch_ResetsWithTheEpoch(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	w := p.watch(rows.Watch{Resource: "depts"})
	ready := p.event(w, rows.Ready)
	specs := siteResources()
	specs[0].MaxLimit = 2
	if err := s.set.Reload(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	s.f.Configure(s.opts) // its feed may not have begun
	reset := p.event(w, rows.Reset)
	if reset.Cursor == ready.Cursor {
		t.Error("a reset does not change the cursor")
	}
	again := p.watch(rows.Watch{Resource: "depts", Since: ready.Cursor})
	p.event(again, rows.Reset)
	// What is not served any more is not watched.
	if err := s.set.Reload(t.Context(), specs[1:]); err != nil {
		t.Fatal(err)
	}
	s.f.Configure(s.opts)
	var h held
	for h.Type != gofast.EventFinish {
		h = p.next(w)
	}
	if h.Err == nil || h.Err.Code != gofast.NotFound {
		t.Errorf("%v %v", h.Type, h.Err)
	}
	// Nothing of it is left: no hub, which would hold the resource, and no counters.
	s.f.mu.Lock()
	hubs := len(s.f.hubs)
	s.f.mu.Unlock()
	if hubs != 0 {
		t.Errorf("%d hubs", hubs)
	}
	for _, r := range s.f.Stats().Resources {
		if r.Resource == "depts" {
			t.Errorf("it is counted as %+v", r)
		}
	}
}

// TestWatch_CutsOffWhoIsTooSlow: a peer that gives no credit is told why, and
// goes on at its cursor.
func TestWatch_CutsOffWhoIsTooSlow(t *testing.T) {
	s := newSite(t)
	slow, quick := s.dialAs(gofast.Config{Credit: 300}), s.dial("")
	w, q := slow.watch(rows.Watch{Resource: "depts"}), quick.watch(rows.Watch{Resource: "depts"})
	e := slow.event(w, rows.Ready)
	quick.event(q, rows.Ready)
	h := s.hub("depts")
	for range 2 * front.WatchBehind {
		h.notify(&resource.Event{Key: "10", Token: h.res.Position()})
	}
	var got held
	for got = slow.next(w); got.Type == gofast.EventMessage; got = slow.next(w) {
		if err := e.Decode(got.data); err != nil {
			t.Fatal(err)
		}
	}
	slow.want(got.Err, gofast.ResourceExhausted, "slow-watcher")
	if st := s.f.Stats(); st.Slow != 1 {
		t.Errorf("%d watchers cut off, want 1", st.Slow)
	}
	for range 2 * front.WatchBehind {
		quick.changed(q, "10")
	}
	w = quick.watch(rows.Watch{Resource: "depts", Since: e.Cursor})
	quick.changed(w, "10")
}

// hub returns the hub of a resource, nil while there is none.
func (s *site) hub(name string) *hub {
	r := mustLookup(s.t, s, name)
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return s.f.hubs[r]
}

func mustLookup(t testing.TB, s *site, name string) *resource.Resource {
	t.Helper()
	r, ok := s.set.Lookup(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return r
}

// TestWatch_OldPeersHearToo, with a status before each event.
func TestWatch_OldPeersHearToo(t *testing.T) {
	s := newSite(t)
	p := s.dialAs(gofast.Config{Legacy: true})
	w := p.watch(rows.Watch{Resource: "depts"})
	next := func() rows.Event {
		t.Helper()
		st, answer, _, err := rows.DecodeStatus(p.next(w).data)
		var e rows.Event
		if err != nil || st != rows.OK || e.Decode(answer) != nil {
			t.Fatalf("%v %x %v", st, answer, err)
		}
		return e
	}
	if e := next(); e.Kind != rows.Ready {
		t.Errorf("%+v", e)
	}
	s.change("10", "A")
	if e := next(); e.Kind != rows.Changed || e.Key != "10" {
		t.Errorf("%+v", e)
	}
	if h := p.next(p.watch(rows.Watch{Resource: "nothing"})); h.Type != gofast.EventFinish {
		t.Errorf("%v, want the finish", h.Type)
	}
}

// TestHub_RemembersTheLastEvents, and knows which it has forgotten.
func TestHub_RemembersTheLastEvents(t *testing.T) {
	at := func(n int) resource.Token {
		return resource.Token{Source: "m", Origin: "o", Pos: source.Position(10 + n)}
	}
	h := &hub{epoch: "e", since: at(0)}
	for n := 1; n <= front.WatchHistory+100; n++ {
		h.remember(&resource.Event{Key: "k", Token: at(n)})
		if n != 50 && n != front.WatchHistory && n != front.WatchHistory+100 {
			continue
		}
		kept := min(n, front.WatchHistory)
		list := h.after(func(*remembered) bool { return true })
		if len(list) != kept || list[0].seq != uint64(n-kept+1) || list[kept-1].seq != uint64(n) {
			t.Fatalf("after %d events: %d, from %d to %d", n, len(list), list[0].seq, list[kept-1].seq)
		}
	}
	for since, want := range map[string]int{
		fmt.Sprintf("e.%x", front.WatchHistory+100): 0, fmt.Sprintf("e.%x", 100): front.WatchHistory, "e.63": -1,
		at(front.WatchHistory + 100).String(): 0, at(100).String(): front.WatchHistory, at(99).String(): -1,
		at(-1).String(): -1, "f.1": -1,
	} {
		list, ok := h.missed(since)
		if got := len(list); !ok && want >= 0 || ok && got != want {
			t.Errorf("missed(%s) = %d, %v, want %d", since, got, ok, want)
		}
	}
}

// TestHub_CollapsesResets: what waits behind a reset is told with it.
func TestHub_CollapsesResets(t *testing.T) {
	at := func(pos source.Position) resource.Token {
		return resource.Token{Source: "m", Origin: "o", Pos: pos}
	}
	c := make(chan resource.Event, 8)
	for _, e := range []resource.Event{{Key: "1", Token: at(11)}, {Reset: true, Token: at(14)},
		{Key: "2", Token: at(12)}, {Reset: true, Token: at(13)}} {
		c <- e
	}
	h := &hub{watch: &resource.Watch{C: c}}
	got := h.collapse(resource.Event{Reset: true, Token: at(10)})
	if !got.Reset || got.Token != at(14) || len(c) != 0 {
		t.Errorf("%+v, %d are left", got, len(c))
	}
}

// TestWatch_ManyWatchersOfOneKey: all of them hear, and others are answered.
func TestWatch_ManyWatchersOfOneKey(t *testing.T) {
	s := newSite(t)
	const conns, each = 10, 50
	var peers []*peer
	var opaques [][]uint64
	for range conns {
		p := s.dial("")
		var list []uint64
		for range each {
			w := p.watch(rows.Watch{Resource: "depts", Key: "10"})
			p.event(w, rows.Ready)
			list = append(list, w)
		}
		peers, opaques = append(peers, p), append(opaques, list)
	}
	s.change("10", "X")
	var wait sync.WaitGroup
	for i, p := range peers {
		wait.Go(func() {
			for _, w := range opaques[i] {
				p.changed(w, "10")
			}
		})
	}
	other := s.dial("")
	for range 20 {
		start := time.Now()
		other.get(rows.Get{Resource: "depts", Key: "20"})
		if d := time.Since(start); waittest.Late(d, 5*time.Second) {
			t.Errorf("a read took %v", d)
		}
	}
	wait.Wait()
}
