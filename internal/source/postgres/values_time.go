package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// PostgreSQL counts days and microseconds from the first day of 2000.
var pgEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	daySeconds    = 24 * 60 * 60
	secondMicros  = 1_000_000
	infinity      = "infinity"
	minusInfinity = "-infinity"
)

// dateValue returns a date. What RFC 3339 cannot say, the infinities and the
// years before 1 and after 9999, is PostgreSQL's own text.
func dateValue(days int32) row.Value {
	switch days {
	case math.MaxInt32:
		return row.TextValue(row.Text, infinity)
	case math.MinInt32:
		return row.TextValue(row.Text, minusInfinity)
	}
	date, suffix := dateText(pgEpoch.AddDate(0, 0, int(days)))
	if suffix == "" && len(date) == len("2006-01-02") {
		return row.TextValue(row.Date, date)
	}
	return row.TextValue(row.Text, date+suffix)
}

// dateText returns a date as PostgreSQL writes it, and " BC" or nothing.
func dateText(t time.Time) (date, suffix string) {
	year, month, day := t.Date()
	if year < 1 { // there is no year 0
		year, suffix = 1-year, " BC"
	}
	return fmt.Sprintf("%04d-%02d-%02d", year, month, day), suffix
}

// timestampValue returns a date and time, with what RFC 3339 cannot say as
// dateValue has it.
func timestampValue(micros int64, zone bool) row.Value {
	switch micros {
	case math.MaxInt64:
		return row.TextValue(row.Text, infinity)
	case math.MinInt64:
		return row.TextValue(row.Text, minusInfinity)
	}
	seconds, rest := floorDiv(micros, secondMicros)
	days, inDay := floorDiv(seconds, daySeconds)
	date, suffix := dateText(pgEpoch.AddDate(0, 0, int(days)))
	clock := clockText(inDay*secondMicros + rest)
	if suffix != "" || len(date) != len("2006-01-02") {
		if zone {
			clock += "+00"
		}
		return row.TextValue(row.Text, date+" "+clock+suffix)
	}
	if zone {
		return row.TextValue(row.DatetimeTZ, date+"T"+clock+"Z")
	}
	return row.TextValue(row.Datetime, date+"T"+clock)
}

// timeValue returns a time of day, with its offset if it has one. 24:00:00 is
// a time that PostgreSQL knows.
func timeValue(src []byte) (row.Value, error) {
	micros := int64(binary.BigEndian.Uint64(src))
	if micros < 0 || micros > daySeconds*secondMicros {
		return row.Value{}, fmt.Errorf("%w: a time of %d microseconds", errWire, micros)
	}
	text := clockText(micros)
	if len(src) == 12 {
		text += offsetText(-int(int32(binary.BigEndian.Uint32(src[8:]))))
	}
	return row.TextValue(row.Time, text), nil
}

// clockText returns the time of day after so many microseconds, without
// zeros at the end of its fraction.
func clockText(micros int64) string {
	s := micros / secondMicros
	text := fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
	if f := micros % secondMicros; f != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%06d", f), "0")
	}
	return text
}

// offsetText returns an offset from UTC as RFC 3339 writes it. Seconds, which
// it does not know, are added when there are any.
func offsetText(seconds int) string {
	if seconds == 0 {
		return "Z"
	}
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	text := fmt.Sprintf("%c%02d:%02d", sign, seconds/3600, seconds/60%60)
	if s := seconds % 60; s != 0 {
		text += fmt.Sprintf(":%02d", s)
	}
	return text
}

// floorDiv returns the quotient of a and b, rounded down, and the rest.
func floorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}
