package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// count writes a number with a comma between thousands.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	var out strings.Builder
	out.WriteString(sign)
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(c)
	}
	return out.String()
}

// plural returns what n things are called: link, links.
func plural(n int64, one string) string {
	if n == 1 {
		return one
	}
	return one + "s"
}

// short writes a number for an axis: 950, 1.2k, 34k, 5M.
func short(n int64) string {
	for _, unit := range []struct {
		of   int64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.of {
			text := strconv.FormatFloat(float64(n)/float64(unit.of), 'f', 1, 64)
			if n >= 10*unit.of {
				text = strconv.FormatInt(n/unit.of, 10)
			}
			return strings.TrimSuffix(text, ".0") + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// ago writes how long ago a moment was.
func ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	case d < 30*24*time.Hour:
		return fmt.Sprintf("%d d ago", int(d.Hours()/24))
	}
	return day(t)
}

// until writes when something ends: a date, or how soon.
func until(now, t time.Time) string {
	d := t.Sub(now)
	switch {
	case d <= 0:
		return "expired"
	case d < time.Hour:
		return fmt.Sprintf("in %d min", int(d.Minutes())+1)
	case d < 48*time.Hour:
		return fmt.Sprintf("in %d h", int(d.Hours()))
	case t.UTC().Year() == now.UTC().Year():
		return t.UTC().Format("2 Jan")
	}
	return day(t)
}

// day writes a date.
func day(t time.Time) string { return t.UTC().Format("2 Jan 2006") }

// stamp writes a moment as machines read it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// kindName says what a click's kind is to people.
func kindName(kind any) string {
	switch fmt.Sprint(kind) {
	case "1", "bot":
		return "bot"
	case "2", "prefetch":
		return "prefetch"
	case "3", "head":
		return "head"
	}
	return ""
}

// regionName writes a country: its code, or what stands for none.
func regionName(code string) string {
	if code == "" || code == "??" {
		return "unknown"
	}
	return code
}
