package clicklog

import (
	"errors"
	"time"
)

// syncEvery is how often what was written goes to the disk, with SyncSecond.
const syncEvery = time.Second

// syncs is the goroutine that syncs and removes: what may wait for the disk.
func (l *Log) syncs() {
	defer l.ended.Done()
	ticker := time.NewTicker(syncEvery)
	defer ticker.Stop()
	failed := false
	for {
		select {
		case <-l.quit:
			return
		case <-ticker.C:
		}
		if l.opts.Sync == SyncSecond {
			err := l.syncAll(false)
			if err != nil && !failed {
				l.log.Error("the click log cannot be synced: a loss of power takes its end",
					"err", err)
			}
			failed = err != nil
		}
		l.mu.Lock()
		removable := l.removable
		l.removable = nil
		l.mu.Unlock()
		l.remove(removable)
	}
}

// syncAll syncs what every writer has written since the last time.
func (l *Log) syncAll(last bool) error {
	l.mu.Lock()
	streams := append([]*stream(nil), l.streams...)
	l.mu.Unlock()
	var errs []error
	for _, s := range streams {
		if s.w != nil {
			errs = append(errs, l.syncStream(s, last))
		}
	}
	err := errors.Join(errs...)
	if err != nil {
		l.faults.Add(1)
	}
	return err
}

// syncStream syncs what lies behind a writer. The page that it is writing would
// have to be given to it again, so it is told to go on with the next one first:
// at most a page a second is left empty.
func (l *Log) syncStream(s *stream, last bool) error {
	done := s.w.done.Load()
	if done <= s.synced {
		return nil
	}
	l.mu.Lock()
	var list []*segment
	for _, seg := range s.segments {
		if seg.end > s.first && seg.start < done && seg.end > s.synced {
			list = append(list, seg)
		}
	}
	l.mu.Unlock()
	floor := (done + pageSize - 1) &^ (pageSize - 1)
	if n := len(list); n > 0 && !last && list[n-1].mem != nil && floor < list[n-1].end {
		s.w.floor.Store(floor)
	}
	done = s.w.done.Load()
	for _, seg := range list {
		if err := seg.sync(s.synced, done); err != nil {
			return err
		}
	}
	if len(list) > 0 && list[0].start >= s.synced {
		if err := syncDirectory(l.opts.Dir); err != nil {
			return err
		}
	}
	s.synced = done
	return nil
}
