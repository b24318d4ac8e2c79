package clicks

import (
	"context"
	"fmt"
	"time"
)

// looks is the goroutine that counts what the drainer has not come to: while a
// transaction is under way or the database is away, clicks are shown and sent to
// live followers all the same.
func (d *Drainer) looks(ctx context.Context) {
	timer := time.NewTimer(d.opts.Every)
	defer timer.Stop()
	var still <-chan struct{} // nil: look again after Every
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-still:
		}
		still = d.click.Still() // before the log is read
		if d.writing.Load() || d.behind.Load() || d.counts.away.Load() || d.held.Load() {
			if err := d.look(); err != nil {
				d.log.Warn("a part of the click log cannot be read now", "err", err)
				still = nil
			}
		} // else the drainer counts what it reads
		if still == nil {
			timer.Reset(d.opts.Every)
		}
	}
}

// look counts everything in the log that was not counted.
func (d *Drainer) look() error {
	for {
		d.counting.Lock()
		n, err := d.lookOnce()
		d.counting.Unlock()
		if err != nil {
			return fmt.Errorf("count the clicks of the log: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
}

// lookOnce counts some of it. d.counting is held.
func (d *Drainer) lookOnce() (int, error) {
	n, err := d.backlog.Read(&d.backlogRecords, 4096)
	if err != nil {
		return 0, err
	}
	d.seen = append(d.seen[:0], make([]click, n)...)
	list := d.seen
	d.meaning.Lock()
	for i := range list {
		d.meanings.read(&d.backlogRecords.Records[i], &list[i])
	}
	d.meaning.Unlock()
	d.count(list, d.backlogRecords.Moves)
	return max(n, len(d.backlogRecords.Moves)), nil
}
