package clicks

import "time"

const (
	// restFor is how many times as long as a batch took the drainer leaves the processors
	// to redirects behind it, while clicks come faster than they are drained.
	restFor = 3

	// mostBehind is how old clicks may be before draining is as urgent as redirects: the
	// longer they wait, the shorter are the rests.
	mostBehind = 30 * time.Second

	// longestRest bounds a rest, for a batch that had to wait for the database.
	longestRest = 500 * time.Millisecond
)

// yield returns how long to wait before the next batch, when there is more to drain and
// the last batch took so long: no time at all when nobody is redirected.
func (d *Drainer) yield(took time.Duration) time.Duration {
	written, read := d.written(), uint64(0)
	for _, m := range d.batch.raw.Moves {
		read += m.To.Seq.Position() - m.From.Seq.Position()
	}
	came := written - d.reached
	d.reached = written
	if came < read/8 || len(d.batch.clicks) == 0 {
		return 0
	}
	last := time.UnixMilli(d.batch.clicks[len(d.batch.clicks)-1].at)
	left := 1 - float64(d.opts.Now().Sub(last))/float64(mostBehind)
	return min(time.Duration(restFor*max(left, 0)*float64(took)), longestRest)
}

// written returns how much is in the log's streams, in units of 8 bytes, from an
// arbitrary point on.
func (d *Drainer) written() (sum uint64) {
	for _, c := range d.click.Tips() {
		sum += c.Seq.Position()
	}
	return sum
}
