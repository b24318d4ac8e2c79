package resource

import (
	"fmt"
	"slices"
	"strings"
)

// A lane is the part of a source's places that the loads and writes of one table may have: half
// of them. A table that somebody has locked cannot take those of all others.
type lane struct {
	table   string
	loads   chan struct{} // one for each that may run
	lagging chan struct{} // one for each that may run while the feed lags
}

// lane returns the lane of a table.
func (u *sourceState) lane(table string) *lane {
	l, ok := u.lanes.Load(table)
	if !ok {
		few := u.opts.bypass()
		l, ok = u.lanes.LoadOrStore(table, &lane{table: table,
			loads:   make(chan struct{}, max(1, u.opts.Readers/2)),
			lagging: make(chan struct{}, max(min(2, few), few/2))})
		if !ok {
			u.tablesServed.Add(1)
		}
	}
	return l.(*lane)
}

// lanesOf returns the lanes of the tables that revisions read, once each and in one order for
// everybody: who has the first waits for the next.
func lanesOf(f *revision, others ...*revision) []*lane {
	if len(others) == 0 {
		return f.lanes
	}
	all := slices.Clone(f.lanes)
	for _, g := range others {
		all = append(all, g.lanes...)
	}
	slices.SortFunc(all, func(a, b *lane) int { return strings.Compare(a.table, b.table) })
	return slices.Compact(all)
}

// A permit is one of the bounded places that a load takes.
type permit struct {
	places chan struct{}
	of     string // whose the places are
}

// permits returns what a load of tables takes, in order: those that all loads share come last,
// so that none of them is held by somebody who waits for his table.
func (u *sourceState) permits(lanes []*lane, lags bool) []permit {
	all := make([]permit, 0, 2*len(lanes)+2)
	if u.tablesServed.Load() > 1 { // else nobody is kept waiting by one table
		for _, l := range lanes {
			if lags {
				all = append(all, permit{l.lagging, "table " + l.table})
			}
			all = append(all, permit{l.loads, "table " + l.table})
		}
	}
	if lags {
		all = append(all, permit{u.bypass, "source " + u.name + ", while its feed lags"})
	}
	return append(all, permit{u.loadPermits, "source " + u.name})
}

// takeNow takes a place of each slot if all have one free.
func takeNow(slots []permit) bool {
	for i, s := range slots {
		select {
		case s.places <- struct{}{}:
		default:
			giveBack(slots[:i])
			return false
		}
	}
	return true
}

// giveBack gives back a place of each slot.
func giveBack(slots []permit) {
	for _, s := range slots {
		<-s.places
	}
}

// full is the error of a load that found no place in a slot in time.
func (u *sourceState) full(s permit) error {
	return u.busy(fmt.Sprintf("all %d readers of %s are busy for %v already", cap(s.places), s.of,
		u.opts.Acquire))
}
