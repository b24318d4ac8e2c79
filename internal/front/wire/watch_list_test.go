package wirefront

import (
	"fmt"
	"testing"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
)

// exec changes the database behind hotrow's back.
func (s *site) exec(statements ...string) {
	s.t.Helper()
	if err := s.src.Exec(s.t.Context(), statements...); err != nil {
		s.t.Fatal(err)
	}
}

// moved wants the next event to say that the answer to a query is another, and that a read
// made now has it, from memory.
func (p *peer) moved(watch uint64, q rows.Query, want string) rows.Event {
	p.t.Helper()
	e := p.event(watch, rows.Changed)
	if e.Key != "" || e.Position == "" || e.Cursor == "" {
		p.t.Fatalf("event %+v", e)
	}
	data, fault := p.call(rows.IDQuery, q.Append(nil))
	if fault != nil {
		p.t.Fatal(fault)
	}
	var page rows.Page
	if err := page.Decode(data); err != nil {
		p.t.Fatal(err)
	}
	got := ""
	for _, a := range page.Answers {
		if got += string(a.Body); a.Origin != rows.HitMemory {
			p.t.Errorf("the answer behind the event is from %v", a.Origin)
		}
	}
	if got != want {
		p.t.Fatalf("the answer behind the event is %s, want %s", got, want)
	}
	return e
}

func TestWatch_OfAQuery(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form)
		p := s.dial("")
		const filter = "loc=eq.MOON&select=dname"
		q := rows.Query{Resource: "depts", Filter: filter}
		watch := rows.Watch{Resource: "depts", Filter: filter}
		w, twin := p.watch(watch), p.watch(watch)
		p.event(w, rows.Ready)
		p.event(twin, rows.Ready)
		if n := s.listHubs(); n != 1 {
			t.Errorf("two watchers of one list have %d hubs", n)
		}
		for range 3 {
			s.exec(`UPDATE dept SET loc = 'MOON' WHERE deptno = 20`)
			p.moved(w, q, `{"dname":"RESEARCH"}`)
			// Neither another row nor a member that was not asked for is told.
			s.exec(`UPDATE dept SET loc = 'X' WHERE deptno = 10`,
				`UPDATE dept SET dname = 'STUDY' WHERE deptno = 20`)
			p.moved(w, q, `{"dname":"STUDY"}`)
			s.exec(`INSERT INTO dept VALUES (50, 'NEW', 'MOON')`)
			p.moved(w, q, `{"dname":"STUDY"}{"dname":"NEW"}`)
			s.exec(`DELETE FROM dept WHERE deptno = 50`,
				`UPDATE dept SET loc = NULL, dname = 'RESEARCH' WHERE deptno = 20`)
			// Both may be told of at once.
			eventually(t, "the list is empty", func() bool {
				p.event(w, rows.Changed)
				data, _ := p.call(rows.IDQuery, q.Append(nil))
				var page rows.Page
				return page.Decode(data) == nil && len(page.Answers) == 0
			})
		}
		for _, opaque := range []uint64{w, twin} {
			out, err := p.s.AppendFinish(nil, opaque)
			if err != nil {
				t.Fatal(err)
			}
			p.write(out)
		}
		eventually(t, "the hub ends with its last watcher", func() bool { return s.listHubs() == 0 })
	})
}

// TestWatch_OfAQueryByNobody: a watcher that ends before it has joined leaves no list that
// is watched for ever.
func TestWatch_OfAQueryByNobody(t *testing.T) {
	s := newSite(t)
	for i := range 100 {
		p := s.dial("")
		p.watch(rows.Watch{Resource: "depts", Filter: fmt.Sprintf("loc=eq.X%d", i)})
		_ = p.nc.Close()
	}
	eventually(t, "all are gone", func() bool { return s.f.Stats().Watchers == 0 })
	eventually(t, "nothing is watched", func() bool { return s.listHubs() == 0 })
}

// listHubs returns how many lists are watched.
func (s *site) listHubs() int {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return len(s.f.lists)
}

// TestWatch_OfAQueryGoesOnWhereItWas: another connection is told of a change exactly if
// there was one.
func TestWatch_OfAQueryGoesOnWhereItWas(t *testing.T) {
	s := newSite(t)
	watch := rows.Watch{Resource: "depts", Filter: "loc=eq.DALLAS", Format: rows.CBOR}
	p := s.dial("")
	ready := p.event(p.watch(watch), rows.Ready)
	_ = p.nc.Close()
	eventually(t, "the hub is gone", func() bool { return s.listHubs() == 0 })
	p = s.dial("")
	watch.Since = ready.Cursor
	first := p.watch(watch)
	if again := p.event(first, rows.Ready); again.Cursor != ready.Cursor {
		t.Errorf("the cursor is %q, and was %q", again.Cursor, ready.Cursor)
	}
	s.exec(`UPDATE dept SET loc = 'DALLAS' WHERE deptno = 30`)
	p.event(first, rows.Changed)
	for _, since := range []string{ready.Cursor, "x", ready.Position} {
		watch.Since = since
		w := p.watch(watch)
		if e := p.event(w, rows.Changed); e.Cursor == ready.Cursor {
			t.Errorf("since %q: %+v", since, e)
		}
		p.event(w, rows.Ready)
	}
}

// TestWatch_OfAQueryThatEmbeds: a change of what is embedded is told; who may not read
// that any more is cut off.
func TestWatch_OfAQueryThatEmbeds(t *testing.T) {
	s := newSite(t)
	s.tokens.set(map[string]front.Principal{"r": {Name: "r", Roles: []string{"reader"}}})
	watch := rows.Watch{Resource: "works", Filter: "dept=eq.20&select=id,pay(sal)"}
	p := s.dial("r")
	w := p.watch(watch)
	p.event(w, rows.Ready)
	s.exec(`UPDATE pay SET sal = 101 WHERE id = 1`)
	p.moved(w, rows.Query{Resource: "works", Filter: watch.Filter}, `{"id":1,"pay":{"sal":101}}`)
	stranger := s.dial("")
	if h := stranger.next(stranger.watch(watch)); h.Type != gofast.EventFinish || h.Err == nil ||
		h.Err.Code != gofast.Unauthenticated {
		t.Errorf("a watch without a token: %v %v", h.Type, h.Err)
	}
	s.tokens.set(nil)
	s.exec(`UPDATE pay SET sal = 102 WHERE id = 1`)
	if h := p.next(w); h.Type != gofast.EventFinish || h.Err == nil {
		t.Errorf("a watch whose token was taken away: %v %v", h.Type, h.Err)
	}
}

func TestWatch_OfAQueryThatCannotBe(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	for filter, want := range map[string]string{
		"nothing=eq.1": "bad-query", "loc=eq.A&format=cbor": "bad-query", "limit=99999": "bad-query",
	} {
		h := p.next(p.watch(rows.Watch{Resource: "depts", Filter: filter}))
		if h.Type != gofast.EventFinish {
			t.Fatalf("%s: %v", filter, h.Type)
		}
		p.want(h.Err, gofast.InvalidArgument, want)
	}
	h := p.next(p.watch(rows.Watch{Resource: "depts", Key: "10", Filter: "loc=eq.A"}))
	p.want(h.Err, gofast.InvalidArgument, "bad-query")
	h = p.next(p.watch(rows.Watch{Resource: "pay", Filter: "sal=eq.1"}))
	p.want(h.Err, gofast.Unauthenticated, "unauthorized")

	// A column that goes ends the watches that ask for it, and no other.
	w, other := p.watch(rows.Watch{Resource: "cities", Filter: "people=gt.0"}),
		p.watch(rows.Watch{Resource: "cities", Filter: "state=eq.OK"})
	p.event(w, rows.Ready)
	p.event(other, rows.Ready)
	s.exec(`ALTER TABLE city DROP COLUMN people`)
	p.event(other, rows.Changed)
	p.want(p.next(w).Err, gofast.InvalidArgument, "bad-query")

	// What is not served any more is not watched.
	if err := s.set.Reload(t.Context(), siteResources()[2:]); err != nil {
		t.Fatal(err)
	}
	s.f.Configure(s.opts)
	p.want(p.next(other).Err, gofast.NotFound, "not-found")
	eventually(t, "nothing is watched", func() bool { return s.listHubs() == 0 })
}

// TestWatch_OfManyLists: each watcher is told of its own list, and of the last of many
// changes.
func TestWatch_OfManyLists(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	const lists, writes = 100, 300
	watches := make([]uint64, lists)
	for i := range watches {
		watches[i] = p.watch(rows.Watch{Resource: "crowd",
			Filter: fmt.Sprintf("id=in.(%d,%d)&select=n", 2*i+1, 2*i+2)})
		p.event(watches[i], rows.Ready)
	}
	for i := range writes {
		s.exec(fmt.Sprintf("UPDATE crowd SET n = n + 1 WHERE id = %d", i%(2*lists)+1))
	}
	for i := range watches {
		want := ""
		for id := 2*i + 1; id <= 2*i+2; id++ {
			n := writes / (2 * lists)
			if id <= writes%(2*lists) {
				n++
			}
			want += fmt.Sprintf(`{"n":%d}`, n)
		}
		q := rows.Query{Resource: "crowd", Filter: fmt.Sprintf("id=in.(%d,%d)&select=n", 2*i+1, 2*i+2)}
		for got := ""; got != want; {
			p.event(watches[i], rows.Changed)
			data, _ := p.call(rows.IDQuery, q.Append(nil))
			var page rows.Page
			if err := page.Decode(data); err != nil {
				t.Fatal(err)
			}
			got = ""
			for _, a := range page.Answers {
				got += string(a.Body)
			}
		}
	}
}
