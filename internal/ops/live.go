package ops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	framePeriod = time.Second
	checkPeriod = framePeriod / 10 // how often it is checked whether a frame is due before
	keptFrames  = 300              // five minutes of them, for who begins to look
	maxStreams  = 64               // streams at the same time
	frameWrite  = 10 * time.Second
)

// live tells those who look what happens, a frame a second (server-sent events), and one
// more when a source begins or ceases to be fresh. One frame is made for all of them, and
// none while nobody looks: a snapshot takes as long as a scrape of /metrics.
type live struct {
	o       Options
	started time.Time
	done    chan struct{} // closed by stop

	mu      sync.Mutex // guards the fields below
	streams map[*stream]struct{}
	running bool
	stopped bool
	frames  [][]byte // the last keptFrames as JSON, without resources and events

	all []ResourceFrame // of the last frame; nil while nobody looks
}

// A stream is one client of /-/live. Frames that it does not take in time are left out. A
// frame is the text of its event, which all streams write and none changes.
type stream struct{ frames chan []byte }

func newLive(o Options) *live {
	return &live{
		o: o, started: time.Now(), done: make(chan struct{}),
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

// ServeHTTP streams frames until the client has gone, or is the operator's no more, or the
// server stops. First come the
// frames of the last minutes in which somebody looked, as one event named history, and
// what is kept of the log, as one named events.
func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	events, err := json.Marshal(append([]Event{}, l.o.Events.Since(0)...))
	if err != nil || !send(fmt.Appendf(nil, "retry: 2000\nevent: history\ndata: [%s]\n\n"+
		"event: events\ndata: %s\n\n", history, events)) {
		return
	}
	for {
		select {
		case <-l.done:
			return
		case frame := <-k.frames:
			if l.o.Authorize(r) != nil || !send(frame) {
				return
			}
		}
	}
}

// join adds a stream, and starts the clock for the first. The history is that of before.
func (l *live) join() (k *stream, history []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || len(l.streams) >= maxStreams {
		return nil, nil, false
	}
	k = &stream{frames: make(chan []byte, 2)}
	l.streams[k] = struct{}{}
	if !l.running {
		l.running = true
		go l.run()
	}
	return k, bytes.Join(l.frames, []byte{','}), true
}

func (l *live) leave(k *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, k)
}

// run makes frames while somebody looks. The first, which has no rates, comes at once.
func (l *live) run() {
	ticker, checks := time.NewTicker(framePeriod), time.NewTicker(checkPeriod)
	defer ticker.Stop()
	defer checks.Stop()
	before, at := Snapshot{}, time.Time{}
	told := l.o.Events.Last()
	for {
		behind := l.behind() // before the snapshot: what changes meanwhile is told again
		now := l.o.Stats()
		t := time.Now()
		var interval time.Duration
		if !at.IsZero() {
			interval = t.Sub(at)
		}
		f := newFrame(&before, &now, interval)
		f.Version, f.Uptime = l.o.Version, Seconds(time.Since(l.started))
		f.Events = l.o.Events.Since(told)
		if l.o.Hottest != nil {
			hot := l.o.Hottest()
			f.Hottest = &hot
		}
		if n := len(f.Events); n > 0 {
			told = f.Events[n-1].Number
		}
		before, at = now, t
		if !l.send(&f) {
			return
		}
		for due := false; !due; {
			select {
			case <-ticker.C:
				due = true
			case <-checks.C:
				due = l.behind() != behind
			case <-l.done:
				return
			}
		}
	}
}

func (l *live) behind() int {
	if l.o.Behind == nil {
		return 0
	}
	return l.o.Behind()
}

// send gives a frame to all streams. It reports false, and the clock stops, when there
// are none.
func (l *live) send(f *Frame) bool {
	whole, err := json.Marshal(f)
	if err != nil {
		whole = fmt.Appendf(nil, `{"error":%q}`, err.Error())
	}
	event := fmt.Appendf(nil, "event: frame\ndata: %s\n\n", whole)
	short := *f
	short.Resources, short.Tables, short.Events = nil, 0, nil
	short.Latency, short.Hottest = nil, nil
	kept, err := json.Marshal(&short)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = f.all
	if len(l.streams) == 0 {
		l.running, l.all = false, nil
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
	if err == nil && f.Interval > 0 {
		l.frames = append(l.frames[max(0, len(l.frames)-keptFrames+1):], kept)
	}
	return true
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
	list, of := cutPage(all, p, func(r *ResourceFrame) string { return r.Name })
	return struct {
		Paged
		Resources []ResourceFrame `json:"resources"`
	}{of, list}
}
