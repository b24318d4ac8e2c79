package ops

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	framePeriod = time.Second
	checkPeriod = framePeriod / 10 // how often it is checked whether a frame is due before
	idleShare   = 1000             // snapshots take one part in so many while nobody looks
	maxPeriod   = 5 * time.Second  // between them, then
	maxStreams  = 64               // streams at the same time
	frameWrite  = 10 * time.Second
)

// live takes a snapshot a second, and keeps figures of it. Those who look are told what happens,
// a frame a second (server-sent events), and one more when a source begins or ceases to be
// fresh. One frame is made for all of them.
type live struct {
	o       Options
	started time.Time
	done    chan struct{} // closed by stop
	looked  chan uint64   // somebody looks, and nobody did: the last event of before

	mu      sync.Mutex // guards the fields below
	streams map[*stream]struct{}
	running bool
	stopped bool
	history history
	all     []ResourceFrame // of the last frame; nil while nobody looks
}

// A stream is one client of /-/live. Frames that it does not take in time are left out. A
// frame is the text of its event, which all streams write and none changes.
type stream struct{ frames chan []byte }

func newLive(o Options) *live {
	return &live{
		o: o, started: time.Now(), done: make(chan struct{}), looked: make(chan uint64, 1),
		streams: make(map[*stream]struct{}),
	}
}

// stop ends all streams. A server that shuts down would wait for them.
func (l *live) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		l.stopped = true
		close(l.done)
	}
}

// serve streams frames until the client has gone, or authorize does not let it in any more, or
// the server stops. First come the figures of the last minutes and of a day, as one event named
// history, and what is kept of the log, as one named events.
func (l *live) serve(
	w http.ResponseWriter, r *http.Request, authorize func(*http.Request) error,
) {
	k, history, ok := l.join()
	if !ok {
		w.Header().Set("Retry-After", "5")
		writeText(w, http.StatusServiceUnavailable,
			fmt.Sprintf("%d streams are open already, or hotrow is stopping\n", maxStreams))
		return
	}
	defer l.leave(k)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would gather frames
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{}) // the request has come; its answer has no end
	send := func(b []byte) bool {
		_ = rc.SetWriteDeadline(time.Now().Add(frameWrite))
		if _, err := w.Write(b); err != nil {
			return false
		}
		return rc.Flush() == nil
	}
	if !send([]byte("retry: 2000\n")) || !send(eventOf("history", history)) ||
		!send(eventOf("events", append([]Event{}, l.o.Events.Since(0)...))) {
		return
	}
	for {
		select {
		case <-l.done:
			return
		case frame := <-k.frames:
			if authorize(r) != nil || !send(frame) {
				return
			}
		}
	}
}

// A History is the first event of a stream. Its lists are shared and must not be changed.
type History struct {
	Names   []string `json:"names"`   // of the figures of a point
	Minutes []Point  `json:"minutes"` // the last, a second each, oldest first
	Day     []Point  `json:"day"`     // the last, five minutes each
}

// join adds a stream. The history is that of before.
func (l *live) join() (k *stream, h History, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || len(l.streams) >= maxStreams {
		return nil, h, false
	}
	k = &stream{frames: make(chan []byte, 2)}
	if l.streams[k] = struct{}{}; len(l.streams) == 1 {
		select {
		case l.looked <- l.o.Events.Last():
		default:
		}
	}
	l.startLocked()
	return k, History{PointNames[:], append([]Point{}, l.history.minutes...),
		append([]Point{}, l.history.day...)}, true
}

// start begins to take snapshots.
func (l *live) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startLocked()
}

// startLocked is start. l.mu is held.
func (l *live) startLocked() {
	if !l.running && !l.stopped {
		l.running = true
		go l.run()
	}
}

func (l *live) leave(k *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, k)
}

// run takes snapshots until l is stopped, and makes frames of them while somebody looks. The
// first for who begins to look comes at once and has no rates.
func (l *live) run() {
	told, behind, looking := uint64(0), 0, false
	before, at := l.o.Stats(), time.Now()
	for due := at.Add(framePeriod); ; {
		wait := time.Until(due)
		if looking {
			wait = min(wait, checkPeriod)
		}
		begins := false
		select {
		case <-l.done:
			return
		case last := <-l.looked:
			if begins = !looking; begins {
				told = last
			}
		case <-time.After(wait):
		}
		was := behind
		if behind = l.behind(); !begins && behind == was && time.Now().Before(due) {
			continue
		}
		began := time.Now() // after behind: what changes meanwhile is told again
		now, t := l.o.Stats(), time.Now()
		due = t.Add(framePeriod)
		f := newFrame(&before, &now, t.Sub(at))
		if begins {
			f, looking = newFrame(new(Snapshot), &now, 0), true
		} else {
			p := f.point()
			f.Point, f.Step = &p, l.keep(p)
			before, at = now, t
		}
		if looking {
			looking = l.tell(&f, &told)
		} else { // thousands of tables take their time
			due = t.Add(min(max(framePeriod, idleShare*time.Since(began)), maxPeriod))
		}
	}
}

func (l *live) behind() int {
	if l.o.Behind == nil {
		return 0
	}
	return l.o.Behind()
}

func (l *live) keep(p Point) *Point {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.history.add(p, time.Now())
}

// tell gives a frame to all streams, with the events after the one of number told. It reports
// false when there are no streams.
func (l *live) tell(f *Frame, told *uint64) bool {
	f.Version, f.Uptime = l.o.Version, Seconds(time.Since(l.started))
	if f.Events = l.o.Events.Since(*told); len(f.Events) > 0 {
		*told = f.Events[len(f.Events)-1].Number
	}
	if l.o.Hottest != nil {
		hot := l.o.Hottest()
		f.Hottest = &hot
	}
	event := eventOf("frame", f)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = f.all
	if len(l.streams) == 0 {
		l.all = nil
		if l.o.Rest != nil {
			l.o.Rest()
		}
		return false
	}
	for k := range l.streams {
		select {
		case k.frames <- event:
		default: // it has not taken the last two
		}
	}
	return true
}

// eventOf returns the text of an event.
func eventOf(name string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		data = fmt.Appendf(nil, `{"error":%q}`, err.Error())
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data)
}

// resources returns a page of all resources, with the rates of the last frame; while nobody
// looks at the frames there are none.
func (l *live) resources(p Page) any {
	l.mu.Lock()
	all := l.all
	l.mu.Unlock()
	if all == nil {
		now := l.o.Stats()
		all = resourceFrames(new(Snapshot), &now, 0)
	}
	all = sorted(all, resourceOrders, p.Sort)
	list, of := cutPage(all, p, func(r *ResourceFrame) string { return r.Name })
	return struct {
		Paged
		Resources []ResourceFrame `json:"resources"`
	}{of, list}
}
