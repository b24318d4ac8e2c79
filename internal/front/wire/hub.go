package wirefront

import (
	"cmp"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/workers"
)

const (
	// After so many watchers the hub lets the loops send what they have, so
	// that an event with ten thousand of them holds up no answer for long.
	fanoutBatch = 64
	fanoutPause = 200 * time.Microsecond
)

// A hub tells the watchers of one resource what has changed. An event is encoded
// once, and costs as much as it has watchers. The hub remembers the last events,
// so that a watcher whose connection broke goes on where it was. It lives from
// the first watcher until its resource is served no more, or to the end of the front.
type hub struct {
	res   *resource.Resource
	watch *resource.Watch
	done  chan struct{}

	mu     sync.Mutex // guards what follows; taken before conn.mu
	epoch  string     // of the cursors; another one after a reset
	last   uint64     // sequence of the last event
	ring   []remembered
	since  resource.Token // the changes behind it are in the ring, or were
	lost   resource.Token // the highest position that has left the ring
	byKey  map[row.Key]map[*watcher]struct{}
	all    map[*watcher]struct{}
	listed []*watcher // scratch of tell
}

// A remembered is an event of the past.
type remembered struct {
	seq     uint64
	key     row.Key
	at      resource.Token
	payload []byte
}

// newHub starts to follow a resource.
func newHub(res *resource.Resource) *hub {
	w := res.Watch(front.FollowedEvents) // before the position
	return &hub{
		res: res, watch: w, done: make(chan struct{}), epoch: newEpoch(), since: res.Position(),
		byKey: make(map[row.Key]map[*watcher]struct{}), all: make(map[*watcher]struct{}),
	}
}

// newEpoch returns what cursors begin with that are good until the next reset.
func newEpoch() string { return rand.Text()[:13] }

// run tells events until the hub is closed.
func (h *hub) run() {
	defer h.watch.Close()
	for {
		select {
		case <-h.done:
			return
		case e := <-h.watch.C:
			if e.Reset {
				e = h.collapse(e)
			}
			told := false
			workers.Guard(nil, "tell of a change", func() {
				h.notify(&e)
				told = true
			})()
			if !told { // who does not know what has changed reads again
				e = resource.Event{Reset: true, Token: e.Token}
				workers.Guard(nil, "tell that anything may have changed", func() { h.notify(&e) })()
			}
		}
	}
}

// collapse returns one reset for e, which is one, and all that waits behind it:
// whoever is told that anything may have changed need not be told what has. A
// change of many rows makes many, and each goes to every watcher.
func (h *hub) collapse(e resource.Event) resource.Event {
	for {
		select {
		case next := <-h.watch.C:
			if next.Token.Origin != e.Token.Origin || next.Token.Pos > e.Token.Pos {
				e.Token = next.Token
			}
		default:
			return e
		}
	}
}

// notify gives an event to those who watch.
func (h *hub) notify(e *resource.Event) {
	listed, payload := h.listen(e)
	fanOut(h.done, listed, payload)
	clear(listed)
}

// listen returns those who are to be told of an event, and what they are told. They are good
// until the next call.
func (h *hub) listen(e *resource.Event) (listed []*watcher, payload []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	payload = h.remember(e)
	h.listed = h.listed[:0]
	if e.Reset {
		for _, set := range h.byKey {
			h.list(set)
		}
	} else {
		h.list(h.byKey[e.Key])
	}
	h.list(h.all)
	return h.listed, payload
}

// fanOut delivers an event to many. What goes to one connection goes at once:
// one lock and one write for all of its watchers. It pauses no more once done is closed.
func fanOut(done <-chan struct{}, listed []*watcher, payload []byte) {
	slices.SortFunc(listed, func(a, b *watcher) int {
		return cmp.Compare(a.c.number, b.c.number)
	})
	for told := 0; told < len(listed); {
		some := listed[told:min(told+fanoutBatch, len(listed))]
		for told += len(some); len(some) > 0; {
			n := 1
			for n < len(some) && some[n].c == some[0].c {
				n++
			}
			some[0].c.deliver(some[:n], payload)
			some = some[n:]
		}
		if told < len(listed) {
			pause(done)
		}
	}
}

// pause lets others go on.
func pause(done <-chan struct{}) {
	t := time.NewTimer(fanoutPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-done:
	}
}

func (h *hub) list(set map[*watcher]struct{}) {
	for w := range set {
		h.listed = append(h.listed, w)
	}
}

// remember puts an event into the ring and returns its payload. h.mu is held.
func (h *hub) remember(e *resource.Event) []byte {
	if e.Reset {
		h.epoch, h.last, h.ring = newEpoch(), 0, nil
		h.since, h.lost = e.Token, resource.Token{}
		return h.event(rows.Reset, "", e.Token)
	}
	h.last++
	payload := h.event(rows.Changed, e.Key, e.Token)
	if h.ring == nil {
		h.ring = make([]remembered, 0, 64)
	}
	kept := remembered{h.last, e.Key, e.Token, payload}
	if len(h.ring) < front.WatchHistory {
		h.ring = append(h.ring, kept)
		return payload
	}
	old := &h.ring[(h.last-1)%front.WatchHistory]
	if old.at.Pos > h.lost.Pos {
		h.lost = old.at
	}
	*old = kept
	return payload
}

// event encodes an event that leaves the hub in the state it is in.
func (h *hub) event(k rows.EventKind, key row.Key, at resource.Token) []byte {
	e := rows.Event{Kind: k, Key: string(key), Cursor: h.cursor()}
	if !at.IsZero() {
		e.Position = at.String()
	}
	return e.Append(nil)
}

// cursor is where a watcher is that has been told everything.
func (h *hub) cursor() string { return h.epoch + "." + strconv.FormatUint(h.last, 16) }

// join adds a watcher and tells it first what it has missed after since, or to
// begin anew where nobody knows, and then that this was all. deliver is called
// with the hub locked, so that nothing overtakes it.
func (h *hub) join(w *watcher, since string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.done: // a reload has taken the resource away, or the front ends
		return false
	default:
	}
	missed, ok := h.missed(since)
	if !ok {
		w.deliver(h.event(rows.Reset, "", h.res.Position()))
	}
	for _, m := range missed {
		if w.key == "" || m.key == w.key {
			w.deliver(m.payload)
		}
	}
	w.deliver(h.event(rows.Ready, "", h.res.Position()))
	set := h.all
	if w.key != "" {
		if set = h.byKey[w.key]; set == nil {
			set = make(map[*watcher]struct{}, 1)
			h.byKey[w.key] = set
		}
	}
	set[w] = struct{}{}
	return true
}

// missed returns the events after since, a cursor or a position, oldest first;
// false: nobody knows them any more. h.mu is held.
func (h *hub) missed(since string) ([]remembered, bool) {
	if since == "" {
		return nil, true
	}
	if strings.HasPrefix(since, "hr1.") {
		return h.missedAt(since)
	}
	epoch, text, _ := strings.Cut(since, ".")
	seq, err := strconv.ParseUint(text, 16, 64)
	if err != nil || epoch != h.epoch || seq > h.last || h.last-seq > uint64(len(h.ring)) {
		return nil, false
	}
	return h.after(func(m *remembered) bool { return m.seq > seq }), true
}

// missedAt is missed for the position of an answer: after what that includes for certain. An
// event may be told later
// than one of a higher position, so every event of the ring is looked at.
func (h *hub) missedAt(since string) ([]remembered, bool) {
	t, err := resource.ParseToken(since)
	if err != nil || h.since.IsZero() || t.Source != h.since.Source ||
		t.Origin != h.since.Origin || t.Since() < h.since.Pos || t.Since() < h.lost.Pos {
		return nil, false
	}
	return h.after(func(m *remembered) bool { return m.at.Pos > t.Since() }), true
}

// after returns the events of the ring that which picks, oldest first.
func (h *hub) after(which func(*remembered) bool) []remembered {
	var list []remembered
	n := uint64(len(h.ring))
	for i := range n {
		m := &h.ring[i]
		if n == front.WatchHistory {
			m = &h.ring[(h.last+i)%front.WatchHistory]
		}
		if which(m) {
			list = append(list, *m)
		}
	}
	return list
}

// leave removes a watcher. It is told nothing more once this has returned,
// except what is being delivered now.
func (h *hub) leave(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.key == "" {
		delete(h.all, w)
		return
	}
	set := h.byKey[w.key]
	if delete(set, w); len(set) == 0 {
		delete(h.byKey, w.key)
	}
}
