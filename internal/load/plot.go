package load

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
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
	Name   string
	Dashed bool
	Y      []float64 // one for each place; NaN: nothing there
}

// The measures of a drawing, in pixels.
const (
	panelWidth  = 400
	panelHeight = 300
	plotLeft    = 62
	plotTop     = 44
	plotWidth   = panelWidth - plotLeft - 18
	plotHeight  = panelHeight - plotTop - 46
	legendRow   = 20
	titleHeight = 34
	barHeight   = 18
)

// palette is that of Okabe and Ito, which the colour-blind can tell apart.
var palette = []string{
	"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b",
	"#1a1a1a", "#b2df8a", "#6a3d9a", "#b15928",
}

// Panels returns the diagrams of some runs: throughput, latency and the CPU
// time of an answer, by connections.
func Panels(runs []*Result) []Panel {
	panels := []Panel{
		panelOf(runs, "answers/s", rateOf, nil),
		panelOf(runs, "latency µs: p50, dashed p99", p50Of, p99Of),
	}
	panels[1].Log = true
	if slices.ContainsFunc(runs, func(r *Result) bool { return r.Server != nil }) {
		panels = append(panels, panelOf(runs, "server CPU, µs an answer", cpuOf, nil))
	}
	return panels
}

func rateOf(r *Result) float64 { return r.Rate }
func p50Of(r *Result) float64  { return r.Reads.P50 }
func p99Of(r *Result) float64  { return r.Reads.P99 }

func cpuOf(r *Result) float64 {
	if r.Server == nil {
		return math.NaN()
	}
	return r.Server.Total
}

// panelOf makes one diagram; dashed, if not nil, gives each server a second
// line.
func panelOf(runs []*Result, title string, solid, dashed func(*Result) float64) Panel {
	p := Panel{Title: title, XTitle: "connections"}
	var places []int
	var names []string
	for _, r := range runs {
		places = append(places, r.Connections)
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(places)
	places = slices.Compact(places)
	for _, x := range places {
		p.X = append(p.X, strconv.Itoa(x))
	}
	for _, name := range names {
		p.Lines = append(p.Lines, lineOfRuns(runs, name, places, solid, false))
		if dashed != nil {
			p.Lines = append(p.Lines, lineOfRuns(runs, name, places, dashed, true))
		}
	}
	return p
}

// lineOfRuns makes the line of one server.
func lineOfRuns(runs []*Result, name string, places []int, f func(*Result) float64, d bool) Line {
	l := Line{Name: name, Dashed: d, Y: slices.Repeat([]float64{math.NaN()}, len(places))}
	for _, r := range runs {
		if r.Name == name {
			l.Y[slices.Index(places, r.Connections)] = f(r)
		}
	}
	return l
}

// SVG draws panels side by side, with one legend below.
func SVG(title string, panels []Panel) []byte {
	d := &drawing{colour: map[string]string{}}
	for _, p := range panels {
		for _, l := range p.Lines {
			if d.colour[l.Name] == "" {
				d.colour[l.Name] = palette[len(d.names)%len(palette)]
				d.names = append(d.names, l.Name)
			}
		}
	}
	height := panelHeight
	for _, p := range panels {
		height = max(height, barsHeight(p))
	}
	width := max(len(panels), 1) * panelWidth
	perRow := max(width/170, 1)
	legend := (len(d.names) + perRow - 1) / perRow * legendRow
	total := titleHeight + height + legend + 12
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`, width, total, width, total)
	d.printf(`<rect width="100%%" height="100%%" fill="#fff"/>`)
	d.text(12, 22, "start", `font-size="15" font-weight="bold"`, title)
	for i, p := range panels {
		d.printf(`<g transform="translate(%d,%d)">`, i*panelWidth, titleHeight)
		d.panel(p)
		d.printf(`</g>`)
	}
	for i, name := range d.names {
		x, y := 12+i%perRow*170, titleHeight+height+i/perRow*legendRow
		d.printf(`<rect x="%d" y="%d" width="14" height="10" fill="%s"/>`, x, y, d.colour[name])
		d.text(float64(x+20), float64(y+10), "start", "", name)
	}
	d.printf(`</svg>`)
	return []byte(d.b.String())
}

// barsHeight returns how high a panel of bars is.
func barsHeight(p Panel) int {
	if len(p.X) != 1 {
		return 0
	}
	return plotTop + len(p.Lines)*barHeight + 30
}

// A drawing is an SVG on its way.
type drawing struct {
	b      strings.Builder
	names  []string
	colour map[string]string
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

// panel draws one panel at the origin.
func (d *drawing) panel(p Panel) {
	d.text(plotLeft, plotTop-18, "start", `font-weight="bold"`, p.Title)
	scale := newScale(p)
	if len(p.X) == 1 {
		d.bars(p, scale)
		return
	}
	for _, tick := range scale.ticks {
		y := plotTop + plotHeight*(1-scale.at(tick))
		d.printf(`<path d="M%d %.1fh%d" stroke="#ddd"/>`, plotLeft, y, plotWidth)
		d.text(plotLeft-6, y+4, "end", `fill="#555"`, tickLabel(tick))
	}
	for i, x := range p.X {
		d.text(place(p, i), plotTop+plotHeight+16, "middle", `fill="#555"`, x)
	}
	d.text(plotLeft+plotWidth/2, plotTop+plotHeight+34, "middle", `fill="#555"`, p.XTitle)
	for _, l := range p.Lines {
		d.line(p, l, scale)
	}
}

// place returns the x of place i.
func place(p Panel, i int) float64 {
	return plotLeft + plotWidth*(float64(i)+0.5)/float64(len(p.X))
}

// line draws a line with a dot at each value.
func (d *drawing) line(p Panel, l Line, s scale) {
	var path, dots strings.Builder
	pen := "M"
	for i, v := range l.Y {
		if math.IsNaN(v) {
			pen = "M"
			continue
		}
		x, y := place(p, i), plotTop+plotHeight*(1-s.at(v))
		fmt.Fprintf(&path, "%s%.1f %.1f", pen, x, y)
		fmt.Fprintf(&dots, `<circle cx="%.1f" cy="%.1f" r="3"/>`, x, y)
		pen = "L"
	}
	dashes := ""
	if l.Dashed {
		dashes = ` stroke-dasharray="5 4"`
	}
	colour := d.colour[l.Name]
	d.printf(`<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, path.String(), colour,
		dashes)
	d.printf(`<g fill="%s">%s</g>`, colour, dots.String())
}

// bars draws the values at the only place one below the other.
func (d *drawing) bars(p Panel, s scale) {
	for i, l := range p.Lines {
		v := l.Y[0]
		if math.IsNaN(v) {
			continue
		}
		y := plotTop + i*barHeight
		width := max(s.at(v), 0) * (plotWidth - 60)
		opacity := 1.0
		if l.Dashed {
			opacity = 0.5
		}
		d.printf(`<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s" opacity="%.1f"/>`,
			plotLeft, y, width, barHeight-4, d.colour[l.Name], opacity)
		d.text(plotLeft+width+5, float64(y+barHeight-7), "start", "", tickLabel(v))
	}
}
