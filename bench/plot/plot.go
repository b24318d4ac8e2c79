// Package plot draws what runs of package load have measured, as SVG.
package plot

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hotrow/hotrow/bench/load"
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
	Strong bool      // drawn above the others, and thicker
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
	barLeft     = 12
)

// palette is that of Okabe and Ito, which the colour-blind can tell apart.
var palette = []string{
	"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b",
	"#1a1a1a", "#b2df8a", "#6a3d9a", "#b15928",
}

// darkColours are the places in the palette of colours that a dark page hides.
var darkColours = []int{8}

// Panels returns the diagrams of some runs: throughput, the CPU time of an
// answer, p50 and p99, by connections. Both latencies in one diagram would be
// twice as many lines, on top of each other.
func Panels(runs []*load.Result) []Panel {
	panels := []Panel{panelOf(runs, "answers/s", rateOf)}
	if slices.ContainsFunc(runs, func(r *load.Result) bool { return r.Server != nil }) {
		panels = append(panels, panelOf(runs, "server CPU, µs an answer", cpuOf))
	}
	latencies := []Panel{
		panelOf(runs, "p50, µs", p50Of), panelOf(runs, "p99, µs", p99Of),
	}
	for i := range latencies {
		latencies[i].Log = true
	}
	return append(panels, latencies...)
}

func rateOf(r *load.Result) float64 { return r.Rate }
func p50Of(r *load.Result) float64  { return r.Reads.P50 }
func p99Of(r *load.Result) float64  { return r.Reads.P99 }

func cpuOf(r *load.Result) float64 {
	if r.Server == nil {
		return math.NaN()
	}
	return r.Server.Total
}

// panelOf makes one diagram.
func panelOf(runs []*load.Result, title string, f func(*load.Result) float64) Panel {
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
		p.Lines = append(p.Lines, lineOfRuns(runs, name, places, f))
	}
	return p
}

// lineOfRuns makes the line of one server.
func lineOfRuns(runs []*load.Result, name string, places []int, f func(*load.Result) float64) Line {
	l := Line{Name: name, Y: slices.Repeat([]float64{math.NaN()}, len(places))}
	for _, r := range runs {
		if r.Name == name {
			if v := f(r); v > 0 { // 0: not measured, or there was no answer
				l.Y[slices.Index(places, r.Connections)] = v
			}
		}
	}
	return l
}

// SVG draws panels, two in a row, with one legend below. It is readable on a
// light and on a dark page.
func SVG(title string, panels []Panel) []byte {
	d := &drawing{colour: map[string]int{}}
	for _, p := range panels {
		for _, l := range p.Lines {
			if _, seen := d.colour[l.Name]; !seen {
				d.colour[l.Name] = len(d.names) % len(palette)
				d.names = append(d.names, l.Name)
			}
		}
	}
	width := min(max(len(panels), 1), columns) * panelWidth
	legend := d.legend(width)
	bottom := titleHeight
	for i := 0; i < len(panels); i += columns {
		bottom += rowHeight(panels[i:min(i+columns, len(panels))])
	}
	total := bottom + legend.rows*legendRow + 12
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`, width, total, width, total)
	d.printf("<style>%s</style>", style())
	d.printf(`<rect class="page" width="100%%" height="100%%"/>`)
	d.text(12, 22, "start", `font-size="15" font-weight="bold"`, title)
	top := titleHeight
	for i, p := range panels {
		d.printf(`<g transform="translate(%d,%d)">`, i%columns*panelWidth, top)
		d.panel(p)
		d.printf(`</g>`)
		if i%columns == columns-1 {
			top += rowHeight(panels[i-i%columns : i+1])
		}
	}
	for i, name := range d.names {
		x, y := 12+i%legend.columns*legend.width, bottom+i/legend.columns*legendRow
		d.printf(`<rect x="%d" y="%d" width="14" height="10" class="f%d"/>`, x, y, d.colour[name])
		d.text(float64(x+20), float64(y+10), "start", "", name)
	}
	d.printf(`</svg>`)
	return []byte(d.b.String())
}

// columns is how many panels stand side by side: two fit into a page of text.
const columns = 2

// A legend is how the names below the panels are laid out.
type legend struct{ columns, rows, width int }

// legend lays out the names so that the longest fits into its column.
func (d *drawing) legend(width int) legend {
	longest := 0
	for _, name := range d.names {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	l := legend{width: max(30+longest*7, 110)}
	l.columns = max((width-12)/l.width, 1)
	l.rows = (len(d.names) + l.columns - 1) / l.columns
	return l
}

// rowHeight returns how high panels are that stand side by side.
func rowHeight(panels []Panel) int {
	height := 0
	for _, p := range panels {
		if len(p.X) == 1 {
			height = max(height, plotTop+len(p.Lines)*barHeight+14)
		} else {
			height = max(height, panelHeight)
		}
	}
	return height
}

// style returns the colours, of a dark page, too: what is nearly black there
// would not be seen.
func style() string {
	var b strings.Builder
	b.WriteString(".page{fill:#fff}text{fill:#24292f}.axis{fill:#57606a}.grid{stroke:#d8dee4}")
	for i, colour := range palette {
		fmt.Fprintf(&b, ".f%d{fill:%s}.s%d{stroke:%s}", i, colour, i, colour)
	}
	b.WriteString("@media (prefers-color-scheme: dark) {.page{fill:#0d1117}text{fill:#e6edf3}" +
		".axis{fill:#9198a1}.grid{stroke:#30363d}")
	for _, i := range darkColours {
		fmt.Fprintf(&b, ".f%d{fill:#f0f6fc}.s%d{stroke:#f0f6fc}", i, i)
	}
	b.WriteString("}")
	return b.String()
}

// A drawing is an SVG on its way.
type drawing struct {
	b      strings.Builder
	names  []string
	colour map[string]int // place in the palette
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
	scale := newScale(p)
	if len(p.X) == 1 {
		d.text(barLeft, plotTop-18, "start", `font-weight="bold"`, p.Title)
		d.bars(p, scale)
		return
	}
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
	for _, strong := range []bool{false, true} {
		for _, l := range p.Lines {
			if l.Strong == strong {
				d.line(p, l, scale)
			}
		}
	}
}

// axis is the attribute of what stands at an axis.
const axis = `class="axis"`

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
	colour, width := d.colour[l.Name], 1.5
	if l.Strong {
		width = 3.5
	}
	d.printf(`<path d="%s" fill="none" class="s%d" stroke-width="%.1f"/>`, path.String(), colour,
		width)
	d.printf(`<g class="f%d">%s</g>`, colour, dots.String())
}

// bars draws the values at the only place one below the other.
func (d *drawing) bars(p Panel, s scale) {
	for i, l := range p.Lines {
		v := l.Y[0]
		if math.IsNaN(v) {
			continue
		}
		y := plotTop + i*barHeight
		width := s.at(v) * (panelWidth - barLeft - 60)
		d.printf(`<rect x="%d" y="%d" width="%.1f" height="%d" class="f%d"/>`,
			barLeft, y, width, barHeight-4, d.colour[l.Name])
		d.text(barLeft+width+5, float64(y+barHeight-7), "start", "", tickLabel(v))
	}
}
