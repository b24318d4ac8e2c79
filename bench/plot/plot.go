// Package plot draws what runs of package load have measured, as SVG.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
	"unicode/utf8"
)

// A Panel is one diagram: lines over the same few places on the x axis, or,
// if there is one place only, a bar for each line.
type Panel struct {
	Title  string // with its unit
	XTitle string
	X      []string // the places, from left to right
	Log    bool     // the y axis is logarithmic
	Lines  []Line
}

// A Line is one series of a Panel.
type Line struct {
	Name string
	Of   Maker
	Y    []float64 // one for each place; NaN: nothing there, and the line passes by
}

// A Maker says whose a line is, and so how it is drawn.
type Maker int

const (
	Other     Maker = iota // in a muted colour
	Hotrow                 // in the strong colour, above the others
	Published              // not measured with the others: dashed, with hollow marks
)

// The measures of a drawing, in pixels.
const (
	pageWidth   = 800
	panelWidth  = pageWidth / 2
	panelHeight = 300
	plotLeft    = 62
	plotTop     = 44
	plotWidth   = panelWidth - plotLeft - 18
	plotHeight  = panelHeight - plotTop - 46
	legendRow   = 20
	titleHeight = 50
	letter      = 6.2 // on average, of the size of text that is used
)

// SVG draws panels, side by side where there is room, with one legend of all lines
// below. It is readable on a light and on a dark page.
func SVG(title, subtitle string, panels []Panel) []byte {
	d := &drawing{marks: map[string]mark{}}
	for _, p := range panels {
		d.name(p)
	}
	places, bottom := layOut(panels)
	legend := d.legend()
	total := bottom + legend.rows*legendRow + 12
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`, pageWidth, total, pageWidth,
		total)
	d.printf("<style>%s</style>", style())
	d.printf(`<rect class="page" width="100%%" height="100%%"/>`)
	d.text(12, 22, "start", `font-size="15" font-weight="bold"`, title)
	d.text(12, 39, "start", axis, subtitle)
	for i, p := range panels {
		d.printf(`<g transform="translate(%d,%d)">`, places[i].x, places[i].y)
		if p.bars() {
			d.bars(p, places[i].width)
		} else {
			d.lines(p)
		}
		d.printf(`</g>`)
	}
	for i, l := range d.names {
		x, y := 12+i%legend.columns*legend.width, bottom+i/legend.columns*legendRow+5
		d.line(l, fmt.Sprintf("M%d %dh28", x, y), d.marks[l.Name].at(float64(x+14), float64(y)))
		d.text(float64(x+36), float64(y+4), "start", "", l.Name)
	}
	d.printf(`</svg>`)
	return []byte(d.b.String())
}

// A box is where a panel is.
type box struct{ x, y, width int }

// layOut places panels, two in a row, but those of bars with long names, which have a
// row of their own. It also returns where the last row ends.
func layOut(panels []Panel) (places []box, bottom int) {
	x, y, high := 0, titleHeight, 0
	for _, p := range panels {
		b := box{width: panelWidth}
		if p.bars() && (len(panels) == 1 || p.labels() > panelWidth*2/5) {
			b.width = pageWidth
		}
		if x+b.width > pageWidth {
			x, y, high = 0, y+high, 0
		}
		b.x, b.y = x, y
		x, high = x+b.width, max(high, p.height())
		places = append(places, b)
	}
	return places, y + high
}

// bars reports whether the panel has bars.
func (p Panel) bars() bool { return len(p.X) == 1 }

// height returns how high the panel is.
func (p Panel) height() int {
	if p.bars() {
		return plotTop + len(p.Lines)*barHeight + 14
	}
	return panelHeight
}

// A legend is how the names below the panels are laid out.
type legend struct{ columns, rows, width int }

// legend lays out the names so that the longest fits into its column.
func (d *drawing) legend() legend {
	longest := 0
	for _, l := range d.names {
		longest = max(longest, utf8.RuneCountInString(l.Name))
	}
	l := legend{width: 56 + int(letter*float64(longest))}
	l.columns = max((pageWidth-12)/l.width, 1)
	l.rows = (len(d.names) + l.columns - 1) / l.columns
	return l
}

// A drawing is an SVG on its way.
type drawing struct {
	b     strings.Builder
	names []Line // of the legend: each name once
	marks map[string]mark
}

// name gives the lines of a panel that are new their marks: bars have their names beside
// them.
func (d *drawing) name(p Panel) {
	if p.bars() {
		return
	}
	for _, l := range p.Lines {
		if _, seen := d.marks[l.Name]; seen {
			continue
		}
		of := 0
		for _, other := range d.names {
			if other.Of == l.Of {
				of++
			}
		}
		d.marks[l.Name] = markOf(l.Of, of)
		d.names = append(d.names, l)
	}
}

// printf appends one element.
func (d *drawing) printf(format string, args ...any) {
	fmt.Fprintf(&d.b, format, args...)
	d.b.WriteByte('\n')
}

// text appends text at a place.
func (d *drawing) text(x, y float64, anchor, attributes, s string) {
	d.printf(`<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`, x, y, anchor, attributes,
		html.EscapeString(s))
}

// axis is the attribute of what stands at an axis.
const axis = `class="axis"`

// lines draws a panel of lines at the origin.
func (d *drawing) lines(p Panel) {
	scale := newScale(p)
	d.text(plotLeft, plotTop-18, "start", `font-weight="bold"`, p.Title)
	for _, tick := range scale.ticks {
		y := plotTop + plotHeight*(1-scale.at(tick))
		d.printf(`<path d="M%d %.1fh%d" class="grid"/>`, plotLeft, y, plotWidth)
		d.text(plotLeft-6, y+4, "end", axis, tickLabel(tick))
	}
	for i, x := range p.X {
		d.text(place(p, i), plotTop+plotHeight+16, "middle", axis, x)
	}
	d.text(plotLeft+plotWidth/2, plotTop+plotHeight+34, "middle", axis, p.XTitle)
	for _, of := range []Maker{Published, Other, Hotrow} {
		for _, l := range p.Lines {
			if l.Of == of {
				path, marks := d.course(p, l, scale)
				d.line(l, path, marks)
			}
		}
	}
}

// place returns the x of place i.
func place(p Panel, i int) float64 {
	return plotLeft + plotWidth*(float64(i)+0.5)/float64(len(p.X))
}

// course returns the path of a line, and of the marks at its values.
func (d *drawing) course(p Panel, l Line, s scale) (path, marks string) {
	pen := "M"
	for i, v := range l.Y {
		if math.IsNaN(v) {
			continue
		}
		x, y := place(p, i), plotTop+plotHeight*(1-s.at(v))
		path += fmt.Sprintf("%s%.1f %.1f", pen, x, y)
		marks += d.marks[l.Name].at(x, y)
		pen = "L"
	}
	return path, marks
}

// line draws the path of a line and its marks.
func (d *drawing) line(l Line, path, marks string) {
	colour, how, filled := d.marks[l.Name].colour, "", fmt.Sprintf("f%d", d.marks[l.Name].colour)
	switch l.Of {
	case Hotrow:
		how = " strong"
	case Published:
		how, filled = " dashed", "hollow"
	}
	d.printf(`<path d="%s" class="line s%d%s"/>`, path, colour, how)
	d.printf(`<path d="%s" class="%s s%d"/>`, marks, filled, colour)
}
