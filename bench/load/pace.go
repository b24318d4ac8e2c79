package load

import "time"

// A pace says when the requests of an open loop are due: at equal distances,
// whatever becomes of them. The idea of a pacer apart from the attack is
// vegeta's.
type pace struct {
	start    int64   // of the first, in ns
	interval float64 // ns between two
	next     int64   // number of the next
}

// newPace returns the pace of worker i of n, which together make rate requests
// a second.
func newPace(rate float64, i, n int) pace {
	each := 1e9 / rate
	return pace{start: int64(each * float64(i)), interval: each * float64(n)}
}

// due returns when the next request is due.
func (p *pace) due() int64 { return p.start + int64(p.interval*float64(p.next)) }

// overdue counts as unfinished the measured requests that were due before the
// schedule's end and could not be sent: they have waited until now at least.
func (p *pace) overdue(w *worker, now int64) {
	for ; p.due() < w.run.closes; p.next++ {
		w.unfinished(p.due(), now)
	}
}

// unfinished counts a request of an open loop that has no answer at its end.
func (w *worker) unfinished(start, now int64) {
	f := flight{start: start}
	if !w.measures(f) {
		return
	}
	w.tally.unfinished++
	w.tally.reads.Record(time.Duration(now - start))
}
