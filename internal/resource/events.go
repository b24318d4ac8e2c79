package resource

import "time"

// What the attribute "event" of a record of the log says has happened, for those who count
// such records or show them apart from the rest.
const (
	eventFeed   = "feed"   // the feed was chosen, or goes on
	eventGap    = "gap"    // the feed was lost, or is not known to be complete
	eventEpoch  = "epoch"  // what was kept before does not count any more
	eventSchema = "schema" // a table has another definition
	eventAudit  = "audit"  // a copy was not what the database has
	eventSlow   = "slow"   // a statement took long
)

const (
	slowQuery = time.Second      // a statement that takes longer is an event
	slowSaid  = 10 * time.Second // and is said once in this time
)

// slow says that a statement took long.
func (u *sourceState) slow(op string, took int64) {
	if took < int64(slowQuery) {
		return
	}
	count, now, said := u.slowed.Add(1), monotonic(), u.slowSaid.Load()
	if said != 0 && now-said < int64(slowSaid) || !u.slowSaid.CompareAndSwap(said, now) {
		return
	}
	u.log.Warn("a statement took long", "event", eventSlow, "op", op,
		"took", time.Duration(took).Round(time.Millisecond).String(), "so_far", count)
}
