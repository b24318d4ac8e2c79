package query

import (
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// A time of a request needs not be as precise as the column: a date is its midnight, seconds
// may be left out, and what has no zone is UTC.

// moment returns the operand of op that stands for a time which c.Part does not read as it
// is; false: it is none.
func (c *Column) moment(op Op, text string) (string, bool) {
	switch c.Part.Kind {
	case row.Date, row.Datetime, row.DatetimeTZ:
	default:
		return "", false
	}
	utc, ok := InUTC(text)
	if !ok {
		return "", false
	}
	switch c.Part.Kind {
	case row.DatetimeTZ:
		return utc, true
	case row.Datetime:
		text, err := c.Part.Parse(strings.TrimSuffix(utc, "Z"))
		return text, err == nil
	}
	return dayOf(op, utc)
}

// InUTC reads a date, or a date and time with or without its zone, and returns it as RFC 3339
// has it in UTC: 2024-01-01T00:00:00Z.
func InUTC(text string) (string, bool) {
	spellings := []string{text, text + "Z", text + ":00Z"}
	if len(text) == len(time.DateOnly) {
		spellings = []string{text + "T00:00:00Z"}
	}
	part := row.KeyPart{Kind: row.DatetimeTZ}
	for _, spelling := range spellings {
		if utc, err := part.Parse(spelling); err == nil && strings.HasSuffix(utc, "Z") {
			return utc, true
		}
	}
	return "", false
}

// dayOf returns the date that dates are compared with in place of a time of that day: those
// before a time are those up to its day.
func dayOf(op Op, utc string) (string, bool) {
	day, clock, _ := strings.Cut(utc, "T")
	midnight := clock == "00:00:00Z"
	switch op {
	case Gt, Lte:
		return day, true
	case Gte, Lt:
		if midnight {
			return day, true
		}
		t, err := time.Parse(time.DateOnly, day)
		next := t.AddDate(0, 0, 1)
		return next.Format(time.DateOnly), err == nil && next.Year() <= 9999
	}
	return day, midnight
}
