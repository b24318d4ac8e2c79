package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hotrow/hotrow/internal/ops"
)

// A topView is how a frame is shown.
type topView struct {
	width, height int // height 0: as long as it gets
	sort          string
	history       []float64 // answers a second, oldest first
	colour        bool
}

// A topLine is a line of the screen, in one style.
type topLine struct {
	text  string
	style string // of ECMA-48, "" for none
}

const (
	topPlain = ""
	topTitle = "\x1b[1m"
	topGood  = "\x1b[1;32m"
	topBad   = "\x1b[1;31m"
)

// renderTop returns the text of a frame, a line for each thing, and the events below it.
func renderTop(f *ops.Frame, events []ops.Event, v topView) string {
	var lines []topLine
	add := func(style, format string, args ...any) {
		lines = append(lines, topLine{fmt.Sprintf(format, args...), style})
	}
	add(topTitle, "hotrow %s  up %s  %s", f.Version,
		time.Duration(f.Uptime).Round(time.Second), sparkline(v.history, 40))
	for _, alarm := range f.Alarms {
		add(topBad, "%s", alarm)
	}
	for i := range f.Sources {
		s := &f.Sources[i]
		style := topBad
		if s.State == "fresh" {
			style = topGood
		}
		add(style, "%s: %s", s.Source, s.Verdict)
		add(topPlain, "  %s", s.Cause)
		add(topPlain, "  feed %s  epoch %d  changes/s %s  gaps %d  unsettled %s  "+
			"connections %d+%d idle, %d wait  loads/s %s, p99 %s", cmp.Or(s.Mode, "none"), s.Epoch,
			amount(s.Changes), s.Gaps, short(time.Duration(s.UnsettledOldest).Seconds()), s.InUse,
			s.Idle, s.Waiting, amount(s.Loads.Rate), short(s.Loads.P99))
	}
	a := f.Answers
	add(topPlain, "answers/s %s: memory %s, disk %s, miss %s, bypass %s, stale %s; failed %s",
		amount(a.All()), amount(a.Memory), amount(a.Disk), amount(a.Miss), amount(a.Bypass),
		amount(a.Stale), amount(a.Failed))
	add(topPlain, "requests  p50 %s  p99 %s   watchers %d", short(f.Requests.P50),
		short(f.Requests.P99), f.Watchers)
	for _, t := range f.Tiers {
		add(topPlain, "%-9s %d documents, %.1f of %.1f MiB, %d evicted", t.Name, t.Entries,
			float64(t.Bytes)/(1<<20), float64(t.MaxBytes)/(1<<20), t.Evictions)
		if r := t.HitRatio; r != nil && t.Evictions > 0 {
			add(topPlain, "          with twice the memory %.0f%% of the requests instead of "+
				"%.0f%%, with half %.0f%%; a copy lives %v", 100*r.Twice, 100*r.Now, 100*r.Half,
				time.Duration(t.EvictionAge).Round(time.Second))
		}
	}
	add(topPlain, "")
	add(topTitle, "%-28s %10s %9s %9s %9s %9s %12s", "resource",
		"answers/s", "memory", "loads/s", "stale/s", "changes/s", "answers")
	for _, r := range sortedResources(f.Resources, v.sort) {
		add(topPlain, "%-28s %10s %8.1f%% %9s %9s %9s %12d", r.Name, amount(r.Rate), 100*r.HitRatio,
			amount(r.Answers.Database()), amount(r.Answers.Stale), amount(r.Changes), r.Total)
	}
	if rest := f.Tables - len(f.Resources); rest > 0 {
		add(topPlain, "... and %d less busy: /-/resources?name=PART", rest)
	}
	lines = append(lines, hottestLines(f.Hottest)...)
	return fit(lines, eventLines(events), v)
}

// shownKeys is how many keys of each kind are shown.
const shownKeys = 5

// hottestLines are the keys that are read most, and those that changes outweigh.
func hottestLines(h *ops.Hottest) (lines []topLine) {
	if h == nil {
		return nil
	}
	add := func(title string, list []ops.HotKey) {
		if len(list) > 0 {
			text := fmt.Sprintf("%-48s %10s %10s", title, "reads/s", "changes/s")
			lines = append(lines, topLine{}, topLine{text: text})
		}
		for _, k := range list[:min(shownKeys, len(list))] {
			text := fmt.Sprintf("%-48s %10s %10s", k.Path, amount(k.Reads), amount(k.Changes))
			lines = append(lines, topLine{text: text})
		}
	}
	add("read most", h.Read)
	add("changed more often than read", h.Changed)
	return lines
}

// eventLines are the newest first.
func eventLines(events []ops.Event) (lines []topLine) {
	for _, e := range slices.Backward(events) {
		line := e.Time.Local().Format("15:04:05") + " " + e.Level + " "
		if e.Kind != "" {
			line += e.Kind + ": "
		}
		line += e.Message
		for _, k := range slices.Sorted(maps.Keys(e.Fields)) {
			line += " " + k + "=" + e.Fields[k]
		}
		lines = append(lines, topLine{text: line})
	}
	return lines
}

// fit cuts what has no room: events first get a third of the height, then resources what
// is left.
func fit(lines, events []topLine, v topView) string {
	if v.height > 0 {
		room := max(0, min(len(events), v.height/3, v.height-8))
		events = events[:room]
		if room > 0 {
			room++ // the empty line before them
		}
		lines = lines[:min(len(lines), max(0, v.height-room))]
	}
	if len(events) > 0 {
		lines = append(append(lines, topLine{}), events...)
	}
	var b strings.Builder
	for _, line := range lines {
		text := cut(line.text, v.width)
		if v.colour && line.style != topPlain {
			text = line.style + text + "\x1b[m"
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// cut returns the first n characters of a text, whose control characters become spaces: names
// and messages may hold anything, and a terminal obeys. A terminal that does not wrap cuts
// what is wider than its characters.
func cut(text string, n int) string {
	runes := []rune(text)
	runes = runes[:min(len(runes), n)]
	for i, r := range runes {
		if unicode.IsControl(r) {
			runes[i] = ' '
		}
	}
	return string(runes)
}

// sortedResources returns the resources in the order that was asked for.
func sortedResources(list []ops.ResourceFrame, by string) []ops.ResourceFrame {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b ops.ResourceFrame) int {
		byName := cmp.Compare(a.Name, b.Name)
		switch by {
		case "name":
			return byName
		case "hits":
			return cmp.Or(cmp.Compare(a.HitRatio, b.HitRatio), byName) // the worst first
		case "changes":
			return cmp.Or(cmp.Compare(b.Changes, a.Changes), byName)
		}
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.Total, a.Total), byName)
	})
	return list
}

// sparkline draws the last n values, the largest as high as there is.
func sparkline(values []float64, n int) string {
	values = values[max(0, len(values)-n):]
	if len(values) == 0 {
		return ""
	}
	bars, top := []rune("▁▂▃▄▅▆▇█"), max(1, slices.Max(values))
	var b strings.Builder
	for _, v := range values {
		b.WriteRune(bars[min(len(bars)-1, int(v/top*float64(len(bars)-1)+0.5))])
	}
	return b.String()
}

// amount is a rate for people.
func amount(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0fk", n/1e3)
	case n >= 100 || n == 0:
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.1f", n)
}

// short is a duration of so many seconds for people; 0 is none.
func short(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d == 0:
		return "-"
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%.1fms", float64(d.Microseconds())/1e3)
	}
	return d.Round(100 * time.Millisecond).String()
}
