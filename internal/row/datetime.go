package row

import (
	"strings"
	"time"
)

// This file reads the dates and times of keys and of bodies: the forms of RFC
// 3339, with a space for the T, and the "infinity" and "-infinity" of PostgreSQL.
// It writes them again in the one form that the kinds of Value have. Years have
// four digits, but for what RFC 3339 cannot say, which is taken as PostgreSQL
// writes it: "0044-03-15 BC". The package time alone would not do: it takes forms
// that RFC 3339 does not know, and has no dates and times without a zone.

// The most digits of a second's fraction. Databases keep six. In a key more are
// refused, because a database that rounds would find the row of another key; in
// a body they are left to the database.
const (
	keyFraction  = 6
	bodyFraction = 9
)

// canonicalDate returns a Date's text. It takes a midnight in UTC too, the form
// that Field.RFC3339 gives a Date.
func canonicalDate(s string) (string, bool) {
	if name, ok := infinite(s); ok {
		return name, true
	}
	if rest, ok := beyondRFC(s); ok && rest == "" {
		return s, true
	}
	if len(s) < 10 || !isDate(s[:10]) {
		return "", false
	}
	if rest := s[10:]; rest != "" {
		var c clock
		if zone, ok := c.scanAfterDate(rest); !ok || zone != "Z" || c != (clock{}) {
			return "", false
		}
	}
	return s[:10], true
}

// canonicalTime returns a Time's text.
func canonicalTime(s string, most int) (string, bool) {
	var c clock
	rest, ok := c.scan(s)
	if !ok || len(c.fraction) > most {
		return "", false
	}
	zone := ""
	if rest != "" {
		if zone, ok = scanZone(rest); !ok {
			return "", false
		}
	}
	return c.text("", s, zone), true
}

// canonicalDatetime returns a Datetime's text. It takes a Z at the end, which is
// what Field.RFC3339 writes, but no other zone: there is none to convert to.
func canonicalDatetime(s string, most int) (string, bool) {
	if name, ok := infinite(s); ok {
		return name, true
	}
	if rest, ok := beyondRFC(s); ok && isOwnTime(rest, "", most) {
		return s, true
	}
	if len(s) < 10 || !isDate(s[:10]) {
		return "", false
	}
	var c clock
	zone, ok := c.scanAfterDate(s[10:])
	if !ok || zone != "" && zone != "Z" || len(c.fraction) > most || c.hour == 24 {
		return "", false
	}
	return c.text(s[:10], s, ""), true
}

// canonicalDatetimeTZ returns a DatetimeTZ's text, which is in UTC.
func canonicalDatetimeTZ(s string, most int) (string, bool) {
	if name, ok := infinite(s); ok {
		return name, true
	}
	if rest, ok := beyondRFC(s); ok && isOwnTime(rest, "+00", most) {
		return s, true
	}
	if len(s) < 10 || !isDate(s[:10]) {
		return "", false
	}
	var c clock
	zone, ok := c.scanAfterDate(s[10:])
	if !ok || zone == "" || len(c.fraction) > most || c.hour == 24 {
		return "", false
	}
	if zone == "Z" {
		return c.text(s[:10], s, "Z"), true
	}
	offset := two(zone[1:])*3600 + two(zone[4:])*60
	if len(zone) > 6 {
		offset += two(zone[7:])
	}
	if zone[0] == '+' {
		offset = -offset
	}
	t, err := time.Parse(time.DateOnly, s[:10])
	if err != nil {
		return "", false
	}
	t = t.Add(time.Duration(c.hour*3600+c.minute*60+c.second+offset) * time.Second)
	if t.Year() < 1 || t.Year() > 9999 {
		return "", false
	}
	c.hour, c.minute, c.second = t.Clock()
	return c.text(t.Format(time.DateOnly), "", "Z"), true
}

// infinite returns PostgreSQL's name for a time before or after all others.
func infinite(s string) (string, bool) {
	switch namedNumber(s) {
	case "Infinity":
		return "infinity", true
	case "-Infinity":
		return "-infinity", true
	}
	return "", false
}

// beyondRFC reads a day before the year 1 or after 9999 from the front of s, and
// returns what follows it without the BC. Only PostgreSQL has such days, from
// November of 4714 BC to the year 5874897, and only its own spelling is taken: "0044-03-15 BC".
func beyondRFC(s string) (rest string, ok bool) {
	rest, before := strings.CutSuffix(s, " BC")
	n := digits(rest)
	if n < 4 || n > 7 || len(rest) < n+6 || rest[n] != '-' || digits(rest[n+1:]) != 2 ||
		rest[n+3] != '-' || digits(rest[n+4:]) != 2 {
		return "", false
	}
	year := 0
	for _, c := range []byte(rest[:n]) {
		year = 10*year + int(c-'0')
	}
	switch {
	case before && n == 4 && year > 0 && year <= 4714:
		year = 1 - year // there is no year 0
	case before || rest[0] == '0' || n == 4 || year > 5874897:
		return "", false
	}
	month, day := two(rest[n+1:]), two(rest[n+4:])
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return rest[n+6:], int(t.Month()) == month && t.Day() == day
}

// isOwnTime reports whether s is a blank, a time of day as PostgreSQL writes it,
// with no more than so many digits of a fraction, and the zone.
func isOwnTime(s, zone string, most int) bool {
	var c clock
	if s == "" || s[0] != ' ' {
		return false
	}
	rest, ok := c.scan(s[1:])
	return ok && rest == zone && c.hour < 24 && len(c.fraction) <= most &&
		c.text("", "", zone) == s[1:]
}

// isDate reports whether s is a day of the calendar: "1981-06-09".
func isDate(s string) bool {
	if len(s) != 10 || digits(s) != 4 || s[4] != '-' || digits(s[5:]) != 2 || s[7] != '-' ||
		digits(s[8:]) != 2 {
		return false
	}
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// A clock is a time of day.
type clock struct {
	hour, minute, second int
	fraction             string // of the second, without zeros at its end
}

// scan reads "15:04:05.999999" from the front of s and returns what follows.
// 24:00:00 is a time of day in PostgreSQL.
func (c *clock) scan(s string) (rest string, ok bool) {
	if len(s) < 8 || s[2] != ':' || s[5] != ':' ||
		digits(s[:2]) != 2 || digits(s[3:5]) != 2 || digits(s[6:8]) != 2 {
		return "", false
	}
	c.hour, c.minute, c.second = two(s), two(s[3:]), two(s[6:])
	s = s[8:]
	if s != "" && s[0] == '.' {
		n := digits(s[1:])
		if n == 0 {
			return "", false
		}
		c.fraction = strings.TrimRight(s[1:1+n], "0")
		s = s[1+n:]
	}
	if c.hour == 24 {
		return s, c.minute == 0 && c.second == 0 && c.fraction == ""
	}
	return s, c.hour < 24 && c.minute < 60 && c.second < 60
}

// scanAfterDate reads a T or a space, a time of day and perhaps a zone, and
// nothing more.
func (c *clock) scanAfterDate(s string) (zone string, ok bool) {
	if s == "" || s[0] != 'T' && s[0] != 't' && s[0] != ' ' {
		return "", false
	}
	rest, ok := c.scan(s[1:])
	if !ok || rest == "" {
		return "", ok
	}
	return scanZone(rest)
}

// scanZone reads "Z", "+02:00", and PostgreSQL's "+02" and "+02:00:30", and returns
// the first, the second or the last form.
func scanZone(s string) (string, bool) {
	switch {
	case s == "Z" || s == "z":
		return "Z", true
	case len(s)%3 != 0 || len(s) > len("+02:00:30") || s[0] != '+' && s[0] != '-' ||
		digits(s[1:]) != 2 || two(s[1:]) > 23:
		return "", false
	}
	for rest := s[3:]; rest != ""; rest = rest[3:] {
		if rest[0] != ':' || digits(rest[1:]) != 2 || two(rest[1:]) > 59 {
			return "", false
		}
	}
	if len(s) == len("+02") {
		s += ":00"
	}
	s = s[:6] + strings.TrimSuffix(s[6:], ":00")
	if s[1:] == "00:00" {
		return "Z", true
	}
	return s, true
}

func two(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }

// text returns the date, a T when there is one, the time and the zone. When that
// is what asked says, it returns asked and allocates nothing.
func (c *clock) text(date, asked, zone string) string {
	var room [64]byte
	b := append(room[:0], date...)
	if date != "" {
		b = append(b, 'T')
	}
	for i, n := range [...]int{c.hour, c.minute, c.second} {
		if i > 0 {
			b = append(b, ':')
		}
		b = append(b, '0'+byte(n/10), '0'+byte(n%10))
	}
	if c.fraction != "" {
		b = append(append(b, '.'), c.fraction...)
	}
	b = append(b, zone...)
	if string(b) == asked {
		return asked
	}
	return string(b)
}
