// Package clicks takes the records of clicklog to the tables of a database: what
// a click means (a human, a bot, a prefetch, a HEAD; browser, country, visitor),
// its raw row, and the sums by hour, day and dimension that statistics are read
// from. Rows, sums and the cursor are one transaction: every click is counted
// once, whatever is killed when.
//
// It also knows what is not in the database yet: the tail of the log (Tail) and
// the clicks as they come (Live). It answers no request: package links does.
package clicks

import (
	"time"

	"github.com/hotrow/hotrow/internal/links/clicklog"
)

// A Kind says what a click was.
type Kind uint8

// The kinds, as the column kind has them. Only Human and Bot are counted in sums.
const (
	Human Kind = iota
	Bot
	Prefetch
	Head
)

// String returns the name of a kind.
func (k Kind) String() string {
	switch k {
	case Human:
		return "human"
	case Bot:
		return "bot"
	case Prefetch:
		return "prefetch"
	case Head:
		return "head"
	}
	return "unknown"
}

// kindOf returns the kind of a request. What was asked for comes before who asks:
// a bot's HEAD is no visit of a bot.
func kindOf(f clicklog.Flags, bot bool) Kind {
	switch {
	case f&clicklog.FlagHead != 0:
		return Head
	case f&clicklog.FlagPrefetch != 0:
		return Prefetch
	case bot:
		return Bot
	}
	return Human
}

// Links that are none: the sums of clicks on codes that do not exist, and those
// of all links together.
const (
	Orphans int64 = 0
	All     int64 = -1
)

// The units of click_time.
const (
	UnitHour = "h"
	UnitDay  = "d"
)

// HourOf and DayOf return the bucket of a time in milliseconds: hours and days
// since 1970, in UTC.
func HourOf(ms int64) int64 { return floorDiv(ms, int64(time.Hour/time.Millisecond)) }

// DayOf is described at HourOf.
func DayOf(ms int64) int64 { return floorDiv(ms, dayMillis) }

const dayMillis = 24 * int64(time.Hour/time.Millisecond)

// floorDiv divides, rounding down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// A Dim is a dimension that humans' clicks are counted by (click_dims).
type Dim uint8

// The dimensions. DimPath is that of Orphans alone, and counts bots as well.
const (
	DimReferrer Dim = iota + 1
	DimCountry
	DimBrowser
	DimOS
	DimDevice
	DimPath
)

// dims is one more than the last Dim.
const dims = DimPath + 1

// Values that stand for others: DimOther for those beyond the cap of a link, day
// and dimension, Direct for no referrer, Nowhere for an unknown country, Unknown
// for a browser, system or device that nothing is known of.
const (
	DimOther = "(other)"
	Direct   = "(direct)"
	Nowhere  = "??"
	Unknown  = "(unknown)"
)

// The caps of values for each link, day and dimension.
const (
	maxValues  = 200
	maxOrphans = 1000
)

// An IPPolicy says what is kept of addresses.
type IPPolicy uint8

// The policies. MaskIP keeps /24 of IPv4 and /48 of IPv6.
const (
	MaskIP IPPolicy = iota
	FullIP
	NoIP
)
