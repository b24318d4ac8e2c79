package clicklog

import (
	"errors"
	"fmt"
	"time"
)

const (
	// provisionTick is how often the provisioner looks at the writers. In this time one
	// writes some 2 MB at full speed; a prepared segment is many times that.
	provisionTick = 10 * time.Millisecond

	// idleTick is how often it looks when nobody writes.
	idleTick = 100 * time.Millisecond

	// restAfter is how long nobody has written before the provisioner sleeps until
	// somebody does.
	restAfter = 2 * time.Second

	// leastAhead is how many bytes ahead of a writer are touched at least: a
	// quarter of a second at 20,000 clicks a second.
	leastAhead = 1 << 20

	// enoughAhead is how many bytes a writer has before it, in the segment that it
	// writes and in prepared ones: a tenth of a second at full speed.
	enoughAhead = 16 << 20

	// leastReady is how many bytes a writer has before it at least: room for any record.
	leastReady = maxRoom

	// retry is how long a full disk is left in peace.
	retry = time.Second
)

// provision is the goroutine that provides segments and touches pages.
func (l *Log) provision() {
	defer l.ended.Done()
	pv := &provisioner{l: l, seen: make(map[*stream]*pace)}
	timer := time.NewTimer(0)
	defer timer.Stop()
	moved := time.Now()
	for {
		select {
		case <-l.quit:
			return
		case <-l.kick:
			pv.rouse()
		case <-timer.C:
		}
		now, wait := time.Now(), max(l.opts.tick, idleTick)
		switch {
		case pv.look(now):
			moved, wait = now, l.opts.tick
		case now.Sub(moved) >= l.opts.rest && pv.rest():
			timer.Stop()
			continue
		}
		timer.Reset(wait)
	}
}

// rest has the next record wake the provisioner, and those who wait for Still. It reports false
// when somebody has written, or waits for room.
func (pv *provisioner) rest() bool {
	l := pv.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.short() != nil {
		return false
	}
	for _, s := range l.streams {
		if s.w == nil {
			continue
		}
		s.w.rests.Store(true)
		// A record that is stored from here on wakes us; one before it is seen here.
		if p := pv.seen[s]; p == nil || p.done != s.w.done.Load() {
			pv.wake()
			return false
		}
	}
	l.still = make(chan struct{})
	return true
}

// rouse ends the rest.
func (pv *provisioner) rouse() {
	pv.l.mu.Lock()
	defer pv.l.mu.Unlock()
	pv.wake()
}

// wake is rouse with l.mu held.
func (pv *provisioner) wake() {
	for _, s := range pv.l.streams {
		if s.w != nil {
			s.w.rests.Store(false)
		}
	}
	if pv.l.still != nil {
		close(pv.l.still)
		pv.l.still = nil
	}
}

// A provisioner knows how fast the writers are.
type provisioner struct {
	l       *Log
	seen    map[*stream]*pace
	blocked time.Time // no segment is created before
}

// A pace is how far a writer was when last looked at, and how many bytes it has
// written in the best second of late.
type pace struct {
	done  uint64
	at    time.Time
	speed float64
	swept time.Time // when the pages ahead were last touched again
}

// look provides what the writers need, and reports whether any has moved.
func (pv *provisioner) look(now time.Time) bool {
	busy := false
	pv.l.mu.Lock()
	streams := append([]*stream(nil), pv.l.streams...)
	pv.l.mu.Unlock()
	added := make(map[*stream]bool)
	// Nobody gets a second one before all have one.
	for _, enough := range []int64{leastReady, enoughAhead} {
		for _, s := range streams {
			if s.w != nil && pv.prepare(s, enough, now) {
				added[s] = true
			}
		}
	}
	for _, s := range streams {
		if s.w == nil {
			continue
		}
		p := pv.seen[s]
		if p == nil {
			p = &pace{done: s.first, at: now}
			pv.seen[s] = p
		}
		done := s.w.done.Load()
		moved := done != p.done
		busy = busy || moved
		p.update(done, now)
		if added[s] || moved || p.swept.IsZero() {
			pv.touch(s, p, now)
		}
	}
	return busy
}

// update measures the writer's speed, which falls by half each second at most.
func (p *pace) update(done uint64, now time.Time) {
	past := now.Sub(p.at).Seconds()
	if past <= 0 {
		return
	}
	speed := float64(done-p.done) / past
	p.speed = max(speed, p.speed*max(0, 1-past/2))
	p.done, p.at = done, now
}

// prepare keeps segments ready for a writer. It reports whether there is a new
// one.
func (pv *provisioner) prepare(s *stream, enough int64, now time.Time) bool {
	if now.Before(pv.blocked) {
		return false
	}
	pv.l.mu.Lock()
	defer pv.l.mu.Unlock()
	before, had := pv.l.short(), len(s.segments)
	err := pv.l.fill(s, enough)
	switch short := pv.l.short(); {
	case short == nil && before != nil:
		pv.l.log.Info("the click log has room again")
	case short != nil && before == nil:
		pv.l.log.Error("the click log has no room for another segment", "err", short)
	}
	if err != nil && !errors.Is(err, errKeep) {
		pv.blocked = now.Add(retry)
	}
	return len(s.segments) > had
}

// fill puts segments into the empty slots of a writer until it has enough bytes
// before it, and returns why there is none to be had. l.mu is held.
//
// What is left of a segment may be too short for a record: only who has enough for a while
// is not short any more.
func (l *Log) fill(s *stream, enough int64) error {
	done := max(s.w.done.Load(), s.first)
	ready := int64(0)
	for _, seg := range s.segments {
		if seg.number < s.next && seg.end > done {
			ready += int64(seg.end - max(done, seg.start))
		}
	}
	for ready < enough {
		slot := &s.w.next[s.provided%ahead]
		if slot.Load() != nil {
			break
		}
		seg, err := l.next(s)
		if err != nil {
			s.short = err
			return err
		}
		ready += int64(seg.end - max(done, seg.start))
		s.next++
		s.provided++
		slot.Store(seg)
	}
	if enough == enoughAhead {
		s.short = nil
	}
	return nil
}

// next is provide for the next segment of a stream, which has so many and no more.
// l.mu is held.
func (l *Log) next(s *stream) (*segment, error) {
	end := (s.next + 1) * uint64(l.opts.Segment)
	if end >= streamBytes {
		return nil, errEnd
	}
	if end > streamBytes/8*7 && !s.nearEnd {
		s.nearEnd = true
		l.log.Error("a writer of the click log has little room left: the next start of this "+
			"process takes another number", "node", s.node, "writer", s.writer,
			"left", streamBytes-end)
	}
	return l.provide(s, s.next)
}

// errEnd says that a writer has written all that one number may.
var errEnd = fmt.Errorf("a writer has written %d bytes, as many as it may under one number: "+
	"restart this process, and it takes another one", uint64(streamBytes))

// touch touches the pages that a writer comes to next: those of a second, and
// once a second all of them again, for the kernel takes away from the process
// what it has written to the disk.
func (pv *provisioner) touch(s *stream, p *pace, now time.Time) {
	pv.l.mu.Lock()
	segments, next := append([]*segment(nil), s.segments...), s.next
	pv.l.mu.Unlock()
	done := max(s.w.done.Load(), s.first)
	again := now.Sub(p.swept) >= time.Second
	if again {
		p.swept = now
	}
	left := min(max(uint64(2*p.speed), leastAhead), uint64(pv.l.opts.Segment))
	for _, seg := range segments {
		if seg.end <= done || seg.number >= next || left == 0 {
			continue
		}
		from := max(seg.start, done)
		to := min(seg.end, from+left)
		left -= to - from
		if !again {
			from = max(from, seg.touched)
		}
		if from >= to {
			continue
		}
		reached, err := seg.touch(from, to)
		seg.touched = max(seg.touched, reached)
		if err != nil {
			pv.l.faults.Add(1)
			pv.l.log.Error("a segment of the click log cannot be written: the next one is "+
				"taken", "file", seg.file.Name(), "err", err)
			s.w.floor.Store(seg.end)
			return
		}
	}
}
