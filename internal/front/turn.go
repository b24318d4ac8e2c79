package front

import (
	"time"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/resource"
)

// A Turn is the one that a loop is in, or was in last: when it began, what it has answered,
// and where that is logged. The loop alone uses it.
//
// A loop reads the clock once per wake-up, not for each request. So every hit of
// a wake-up counts as long as the whole of it took: from the clock read before
// its first request was looked at to the one after its last answer was given to
// the socket. That is never less than what the hit itself took, and grows with
// the number of requests that were answered together. What a request has waited
// in the socket before the wake-up is not in it.
//
// The second clock read is that of the next wake-up where this follows at once,
// as under load; else the loop reads the clock once more before it sleeps or
// lets others run, so that their time is not counted.
//
// What the loop looks up by Snapshot is lent to it until the turn ends.
type Turn struct {
	Began    time.Time
	Access   LoopLog
	Snapshot resource.Snapshot

	touched []*Timed // with hits that have no duration yet
}

// Timed are hits of one loop by their duration: those of one resource, say.
type Timed struct {
	// untimed are the hits of this wake-up; nobody else looks. It stands first, beside the
	// counters of the resource that a hit touches, too.
	untimed uint64
	Durations
}

// Begin begins a wake-up at now, which ends the one before if it did not rest. Its lines go
// to log, which may be nil.
func (w *Turn) Begin(now time.Time, log *accesslog.Log) {
	w.settle(now.Sub(w.Began))
	w.Began = now
	w.Access.Open(log)
	w.Snapshot.Begin(now)
}

// Touch notes a hit of t.
func (w *Turn) Touch(t *Timed) {
	if t.untimed == 0 {
		w.touched = append(w.touched, t)
	}
	t.untimed++
}

// EndTurn ends a wake-up after which the loop sleeps or lets others run. It is
// eventloop.TurnEnder.
func (w *Turn) EndTurn() {
	w.Snapshot.End()
	if len(w.touched) > 0 || w.Access.Pending() {
		w.settle(time.Since(w.Began))
	}
}

// settle gives what the wake-up has answered its duration.
func (w *Turn) settle(took time.Duration) {
	for _, t := range w.touched {
		t.Add(took, t.untimed)
		t.untimed = 0
	}
	w.touched = w.touched[:0]
	w.Access.Publish(took)
}
