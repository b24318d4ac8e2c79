package resource

import (
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// TestSpelled_AbsenceIsKept: that there is no row is known under each text, until a row comes
// whose key is equal; others leave it alone.
func TestSpelled_AbsenceIsKept(t *testing.T) {
	h := newHouse(t, nil)
	for _, key := range []string{"nobody", "NoBody", "somebody", "ño"} {
		if body := h.hit("person", key); body != "" {
			t.Errorf("person/%s = %q from memory, want none", key, body)
		}
	}
	h.mustWrite("person", Write{Op: source.OpReplace, Key: "NOBODY"}, `{"mail":"n"}`)
	for _, key := range []string{"nobody", "NoBody"} {
		if body, from := h.get("person", key, Options{}); body == "" || from == HitMemory {
			t.Errorf("person/%s = %q from %v, which has come", key, body, from)
		}
	}
	h.told()
	if _, from := h.get("person", "somebody", Options{}); from != HitMemory {
		t.Errorf("person/somebody comes from %v, and another has come", from)
	}
	if _, from := h.get("person", "ño", Options{}); from == HitMemory {
		t.Error("person/ño comes from memory: nobody knows to what it is equal")
	}
}

// TestSpelled_RowIsKeptUnderOtherTexts, but event loops are not given it: they would take it
// for that of the key which was asked for.
func TestSpelled_RowIsKeptUnderOtherTexts(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("person", "ALICE")
	r := h.resource("person")
	a, err := r.Get(t.Context(), "ALICE", Options{})
	if err != nil || a.Origin != HitMemory || a.Key != "alice" {
		t.Errorf("ALICE is %s from %v, %v, want alice from memory", a.Key, a.Origin, err)
	}
	var s Snapshot
	s.Begin(time.Now())
	if _, state, _ := r.Lookup("ALICE", row.FormatJSON, &s); state != Miss {
		t.Errorf("an event loop is given state %v of ALICE", state)
	}
	h.hit("person", "alice")
	s.Begin(time.Now())
	if _, state, _ := r.Lookup("alice", row.FormatJSON, &s); state != Hit {
		t.Errorf("an event loop is given state %v of alice", state)
	}
	h.mustWrite("person", Write{Op: source.OpMerge, Key: "Alice"}, `{"mail":"new"}`)
	for _, key := range []string{"ALICE", "alice"} {
		if body, from := h.get("person", key, Options{}); body != `{"name":"alice","mail":"new"}` {
			t.Errorf("person/%s = %s from %v after a write", key, body, from)
		}
	}
}

// TestSpelled_HerdMakesOneLoad: who asks for a text while it is read gets that answer.
func TestSpelled_HerdMakesOneLoad(t *testing.T) {
	h := newHouse(t, nil)
	h.told()
	for _, key := range []row.Key{"nobody", "Alice"} {
		before := h.set.Stats().Sources[0].Timings["load"].Count
		var wg sync.WaitGroup
		start := make(chan struct{})
		for range 500 {
			wg.Go(func() {
				<-start
				a, err := h.resource("person").Get(t.Context(), key, Options{})
				if want := map[row.Key]row.Key{"nobody": "nobody", "Alice": "alice"}[key]; err != nil || a.Key != want {
					t.Errorf("%s is %s, %v, want %s", key, a.Key, err, want)
				}
			})
		}
		close(start)
		wg.Wait()
		if n := h.set.Stats().Sources[0].Timings["load"].Count - before; n > 3 { // a late fence ends a load's use
			t.Errorf("%s: 500 readers made %d loads", key, n)
		}
	}
}

// TestSpelled_TimeToLiveWithoutFeed: a time to live is of every answer.
func TestSpelled_TimeToLiveWithoutFeed(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) {
		o.Sources[0].Mode = source.FeedNone
		o.Resources[3].TTL = time.Hour
	})
	for _, key := range []string{"nobody", "ALICE"} {
		h.hit("person", key)
	}
	h.mustWrite("person", Write{Op: source.OpReplace, Key: "Nobody"}, `{"mail":"n"}`)
	if body, _ := h.get("person", "nobody", Options{}); body == "" {
		t.Error("what was written through is not there")
	}
}

// TestSpelled_WatchersAreTold of the texts that they have asked for.
func TestSpelled_WatchersAreTold(t *testing.T) {
	h := newHouse(t, nil)
	w := h.resource("person").Watch(64)
	defer w.Close()
	for _, key := range []string{"nobody", "NoBody", "ALICE"} {
		h.hit("person", key)
	}
	h.mustWrite("person", Write{Op: source.OpReplace, Key: "NOBODY"}, `{"mail":"n"}`)
	h.mustWrite("person", Write{Op: source.OpMerge, Key: "alice"}, `{"mail":"m"}`)
	missing := map[row.Key]bool{"nobody": true, "NoBody": true, "NOBODY": true, "ALICE": true, "alice": true}
	h.until(func() bool {
		select {
		case e := <-w.C:
			delete(missing, e.Key)
			return len(missing) == 0
		default:
			return false
		}
	})
}
