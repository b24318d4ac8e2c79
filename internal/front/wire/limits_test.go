package wirefront

import (
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/waittest"
)

// slowTable takes a minute or so to list: each row costs some of its
// milliseconds, and SQLite looks between them whether it shall go on.
var slowTable = []string{
	`CREATE TABLE slow (id INTEGER PRIMARY KEY)`,
	`INSERT INTO slow (id) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM s WHERE i < 1000)
		SELECT i FROM s`,
	`ALTER TABLE slow ADD COLUMN cost INTEGER
		AS (length(replace(hex(zeroblob(2000000 + id)), '00', 'abc')))`,
}

// lists returns how many lists have been read, or given up, by the database.
func (s *site) lists() uint64 { return s.set.Stats().Sources[0].Timings["list"].Count }

// codes returns how many requests of a resource have ended how.
func (s *site) codes(resource string) map[gofast.Code]uint64 {
	for _, r := range s.f.Stats().Resources {
		if r.Resource == resource {
			return r.Codes
		}
	}
	return nil
}

// newSlowSite starts a site whose table slow is.
func newSlowSite(t *testing.T, form func(*Options, *Listen)) *site {
	t.Helper()
	s := newSite(t, form)
	if r := mustLookup(t, s, "slow"); r.Shape() == nil {
		t.Fatal("the slow table is not served")
	}
	return s
}

// TestLimits_DeadlineOfTheRequest: the answer is an error in time, and nobody
// works on it any more: neither who waits for a change nor the database.
func TestLimits_DeadlineOfTheRequest(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSlowSite(t, form)
		p := s.dial("")
		m := gofast.Message{ID: rows.IDQuery, Deadline: 100 * time.Millisecond,
			Data: (&rows.Query{Resource: "slow", Limit: 1000}).Append(nil)}
		began := time.Now()
		p.want(p.next(p.sendMessage(&m)).Err, gofast.DeadlineExceeded, "deadline")
		if took := time.Since(began); took < m.Deadline {
			t.Errorf("told after %v, the deadline is %v", took, m.Deadline)
		}
		eventually(t, "the database is told to stop", func() bool { return s.lists() == 1 })
		p.hot("depts", "20") // and the connection goes on
	})
}

// TestLimits_CancelOfTheRequest: the request ends at once, and the connection
// goes on.
func TestLimits_CancelOfTheRequest(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSlowSite(t, form)
		p := s.dial("")
		opaque := p.send(rows.IDQuery, (&rows.Query{Resource: "slow", Limit: 1000}).Append(nil))
		p.hot("depts", "10") // others are answered meanwhile
		if s.lists() != 0 {
			t.Fatal("the list was not slow")
		}
		out, err := p.s.AppendCancel(nil, opaque, gofast.Canceled)
		if err != nil {
			t.Fatal(err)
		}
		p.write(out)
		eventually(t, "the request ends", func() bool { return s.codes("slow")[gofast.Canceled] == 1 })
		eventually(t, "the database is told to stop", func() bool { return s.lists() == 1 })
		p.hot("depts", "20")
	})
}

// TestLimits_WhoLeavesIsNotWorkedFor: the work for a connection ends with it.
func TestLimits_WhoLeavesIsNotWorkedFor(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSlowSite(t, form)
		p := s.dial("")
		p.send(rows.IDQuery, (&rows.Query{Resource: "slow", Limit: 1000}).Append(nil))
		p.hot("depts", "10")
		_ = p.nc.Close()
		eventually(t, "the database is told to stop", func() bool { return s.lists() == 1 })
	})
}

// TestLimits_HandshakeInTime: a peer that does not say who it is is cut off, one
// that says nothing and one that is not done.
func TestLimits_HandshakeInTime(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form, func(o *Options, _ *Listen) { o.Handshake = 100 * time.Millisecond })
		hello := gofast.NewSession(gofast.Config{}).Open(time.Now(), nil)
		for _, sent := range [][]byte{nil, hello[:5], hello[:len(hello)-1]} {
			nc, err := net.Dial("tcp", s.over.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := nc.Write(sent); err != nil {
				t.Fatal(err)
			}
			_ = nc.SetReadDeadline(waittest.Deadline(time.Minute))
			if _, err := io.Copy(io.Discard, nc); err != nil {
				t.Errorf("after %d bytes: %v, want the end", len(sent), err)
			}
			_ = nc.Close()
		}
		eventually(t, "the front forgets them", func() bool { return len(s.f.list()) == 0 })
		if n := s.f.Stats().Broken; n != 3 {
			t.Errorf("%d connections ended because of their peer, want 3", n)
		}
		p := s.dial("")
		_ = p.nc.SetDeadline(time.Time{})
		p.hot("depts", "10") // who is in time stays
	})
}

// TestLimits_PeerThatTakesNothing is cut off after Listen.Write, and leaves
// nothing in memory.
func TestLimits_PeerThatTakesNothing(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form, func(_ *Options, l *Listen) { l.Write = 200 * time.Millisecond })
		p := s.dial("")
		p.hot("big", "1")
		var freed atomic.Bool
		for _, c := range s.f.list() {
			runtime.AddCleanup(c, func(b *atomic.Bool) { b.Store(true) }, &freed)
		}
		var in []byte
		for range 500 { // 50 MB of answers
			var err error
			in, _, err = p.s.AppendRequest(in, &gofast.Message{ID: rows.IDGet,
				Data: (&rows.Get{Resource: "big", Key: "1"}).Append(nil)}, nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		p.write(in)
		eventually(t, "the connection is cut", func() bool { return s.over.Stats().Open == 0 })
		eventually(t, "the front forgets it", func() bool { return len(s.f.list()) == 0 })
		eventually(t, "its memory is free", func() bool {
			runtime.GC()
			return freed.Load()
		})
		s.dial("").hot("depts", "10")
	})
}

// TestLimits_WatcherThatTakesNothing is cut off after Options.SlowWatcher, with
// an error that says so, and its connection goes on.
func TestLimits_WatcherThatTakesNothing(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form, func(o *Options, _ *Listen) { o.SlowWatcher = 100 * time.Millisecond })
		p := s.dialAs(gofast.Config{Credit: 300})
		w := p.watch(rows.Watch{Resource: "depts"})
		p.event(w, rows.Ready)
		h := s.hub("depts")
		for range 100 {
			h.notify(&resource.Event{Key: "10", Token: h.res.Position()})
		}
		var got held
		for got = p.next(w); got.Type == gofast.EventMessage; got = p.next(w) {
		}
		p.want(got.Err, gofast.ResourceExhausted, "slow-watcher")
		if st := s.f.Stats(); st.Slow != 1 {
			t.Errorf("%d watchers cut off, want 1", st.Slow)
		}
		eventually(t, "it has left", func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.all) == 0
		})
		p.hot("depts", "10")
	})
}
