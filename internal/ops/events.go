package ops

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// keptEvents is how many events are kept: about 100 KB of them.
const keptEvents = 256

// An Event is a record of the log. What happens to a source, a feed or a table is
// logged once, where it happens, and told from here to whoever looks.
type Event struct {
	Number  uint64            `json:"number"` // counts from 1
	Time    time.Time         `json:"time"`
	Level   string            `json:"level"`          // INFO, WARN or ERROR
	Kind    string            `json:"kind,omitempty"` // as feed, gap; "": another record
	Message string            `json:"message"`
	Fields  map[string]string `json:"fields,omitempty"`
}

// kindAttr is the attribute of a record that says what has happened.
const kindAttr = "event"

// Events keeps the last records of the log. The zero Events keeps none yet.
type Events struct {
	mu   sync.Mutex // guards the fields below; innermost
	ring [keptEvents]Event
	last uint64 // the number of the newest; 0: none
}

// Handler returns a handler that keeps the records that next takes, of level INFO and
// above.
func (e *Events) Handler(next slog.Handler) slog.Handler {
	return &eventHandler{Handler: next, events: e}
}

// Since returns the events with numbers above n that are still kept, oldest first. The
// maps in them are shared: they must not be changed.
func (e *Events) Since(n uint64) []Event {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last > keptEvents {
		n = max(n, e.last-keptEvents)
	}
	var list []Event
	for i := n + 1; i <= e.last; i++ {
		list = append(list, e.ring[i%keptEvents])
	}
	return list
}

// Last returns the number of the newest event.
func (e *Events) Last() uint64 {
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

func (e *Events) add(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	ev.Number = e.last
	e.ring[e.last%keptEvents] = ev
}

// An eventHandler hands records on, and keeps them.
type eventHandler struct {
	slog.Handler
	events *Events
	prefix string      // of the groups, each with a dot
	attrs  []slog.Attr // with their prefix
}

// Handle keeps the record before it is written: a log that cannot be written is the time
// when somebody looks here.
func (h *eventHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		ev := Event{Time: r.Time, Level: r.Level.String(), Message: r.Message}
		n := len(h.attrs) + r.NumAttrs()
		if n > 0 {
			ev.Fields = make(map[string]string, n)
		}
		for _, a := range h.attrs {
			ev.Fields[a.Key] = a.Value.Resolve().String()
		}
		r.Attrs(func(a slog.Attr) bool {
			ev.Fields[h.prefix+a.Key] = a.Value.Resolve().String()
			return true
		})
		ev.Kind = ev.Fields[kindAttr]
		delete(ev.Fields, kindAttr)
		h.events.add(ev)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler that adds attrs to each record.
func (h *eventHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.Handler = h.Handler.WithAttrs(attrs)
	c.attrs = append([]slog.Attr(nil), h.attrs...)
	for _, a := range attrs {
		c.attrs = append(c.attrs, slog.Attr{Key: h.prefix + a.Key, Value: a.Value})
	}
	return &c
}

// WithGroup returns a handler that puts the attributes to come under name.
func (h *eventHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.Handler, c.prefix = h.Handler.WithGroup(name), h.prefix+name+"."
	return &c
}
