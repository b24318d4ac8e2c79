package plot

import (
	"math"
	"unicode/utf8"
)

// The measures of bars, in pixels.
const (
	barHeight = 20
	barLeft   = 12
	barValue  = 60 // room for the number behind the longest
)

// labels returns how much room the longest name of a bar takes.
func (p Panel) labels() int {
	longest := 0
	for _, l := range p.Lines {
		longest = max(longest, utf8.RuneCountInString(l.Name))
	}
	return int(letter*float64(longest)) + 10
}

// bars draws the values at the only place one below the other, each with its name.
func (d *drawing) bars(p Panel, width int) {
	d.text(barLeft, plotTop-18, "start", `font-weight="bold"`, p.Title)
	s, left := newScale(p), barLeft+p.labels()
	for i, l := range p.Lines {
		y := plotTop + i*barHeight
		d.text(barLeft, float64(y+barHeight-7), "start", "", l.Name)
		v := l.Y[0]
		if math.IsNaN(v) {
			continue
		}
		length := s.at(v) * float64(width-left-barValue)
		class := map[Maker]string{Other: "f2", Hotrow: "f0", Published: "hollow s1 dashed"}[l.Of]
		d.printf(`<rect x="%d" y="%d" width="%.1f" height="%d" class="%s"/>`, left, y+2, length,
			barHeight-6, class)
		d.text(float64(left)+length+5, float64(y+barHeight-7), "start", "", tickLabel(v))
	}
}
