package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A loss is how many clicks were not recorded, or did not get to the database, by the
// cause.
type loss struct{ full, refused, damaged, unstored, differing uint64 }

// all returns how many they are.
func (l loss) all() uint64 { return l.full + l.refused + l.damaged + l.unstored + l.differing }

// String says how many were lost and why.
func (l loss) String() string {
	var parts []string
	for _, one := range []struct {
		n   uint64
		why string
	}{
		{l.full, "for which the log had no room"},
		{l.refused, "refused with their redirects, for the log had no room"},
		{l.damaged, "whose records are damaged"},
		{l.unstored, "that the database does not take"},
		{l.differing, "that the database has otherwise"},
	} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.why))
		}
	}
	return strings.Join(parts, ", ")
}

// lostClicks returns the clicks that this process knows to be lost.
func (s *server) lostClicks() (l loss) {
	if !s.links.begin.done.Load() || s.links.drainer == nil {
		return l
	}
	log, d := s.links.log.Stats(), s.links.drainer.Stats()
	return loss{log.Dropped, log.Refused, d.Bad, d.Poison, d.Conflicts}
}

// linksAlarms says what the operator of links must see: clicks that are lost, and that more
// will be.
func (s *server) linksAlarms() (lines []string) {
	lost := s.lostClicks()
	if lost.all() > 0 {
		lines = append(lines, "links: clicks are lost since the start: "+lost.String())
	}
	if s.links.begin.done.Load() && s.links.drainer != nil {
		if why := s.links.log.Stats().Full; why != "" {
			lines = append(lines, "links: the click log has no room: "+why)
		}
	}
	return lines
}

const (
	// lossLook is how often it is looked whether clicks are lost.
	lossLook = time.Second

	// lossPause is how long the log says nothing of more of them.
	lossPause = time.Minute
)

// watchLosses says in the log that clicks are lost: at once of the first, then once a minute
// how many more.
func (s *server) watchLosses(ctx context.Context) {
	if !s.links.on() {
		return
	}
	said, at := uint64(0), time.Time{}
	say := func() {
		if lost := s.lostClicks(); lost.all() > said {
			s.log.Error("links: clicks are lost", "more", lost.all()-said, "since_start",
				lost.String(), "hint", "see docs/explanation/clicklog.md: room on the disk of "+
					"links.log.dir, links.log.max, and a database that takes clicks")
			said, at = lost.all(), time.Now()
		}
	}
	tick := time.NewTicker(lossLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			say()
			return
		case <-tick.C:
			if time.Since(at) >= lossPause {
				say()
			}
		}
	}
}
