package plot

import (
	"fmt"
	"strings"
)

// palette is the strong colour, that of what is published, and muted ones, on a light
// page and on a dark one. Muted colours are between both pages in lightness, and have marks
// of several shapes: nobody has to tell them apart by the colour alone.
var palette = [][2]string{
	{"#d1440c", "#ff8a4c"}, {"#24292f", "#e6edf3"},
	{"#64748b", "#8494ab"}, {"#5f8a6b", "#78a886"}, {"#8a6f96", "#a88cb5"}, {"#8f8049", "#aa9a60"},
	{"#4f8a8b", "#68a7a8"}, {"#6f7fb0", "#8b9acb"}, {"#a0706f", "#bd8d8c"}, {"#7f8a94", "#98a3ad"},
}

// muted is the first of the muted colours.
const muted = 2

// style returns the colours of a light page, and of a dark one.
func style() string {
	var b strings.Builder
	colours := func(page, text, axis, grid string, of int) {
		fmt.Fprintf(&b, ".page{fill:%s}text{fill:%s}.axis{fill:%s}.grid{stroke:%s}"+
			".hollow{fill:%s}", page, text, axis, grid, page)
		for i, colour := range palette {
			fmt.Fprintf(&b, ".f%d{fill:%s}.s%d{stroke:%s}", i, colour[of], i, colour[of])
		}
	}
	b.WriteString(".line,.hollow{stroke-width:1.5}.strong{stroke-width:3}" +
		".dashed{stroke-dasharray:5 4}.line{fill:none}")
	colours("#fff", "#24292f", "#57606a", "#d8dee4", 0)
	b.WriteString("@media (prefers-color-scheme: dark) {")
	colours("#0d1117", "#e6edf3", "#9198a1", "#30363d", 1)
	b.WriteString("}")
	return b.String()
}

// A mark is how a line is told from others: its place in the palette, and the shape of
// what stands at its values.
type mark struct{ colour, shape int }

// markOf returns the mark of a maker's line, of which this one is number i.
func markOf(of Maker, i int) mark {
	m := mark{shape: i % len(shapes)}
	switch of {
	case Published:
		m.colour = 1
	case Other:
		m.colour = muted + i%(len(palette)-muted)
	}
	return m
}

// shapes are paths around a point.
var shapes = []string{
	"m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z",            // a circle
	"m-2.8 -2.8h5.6v5.6h-5.6z",                                     // a square
	"m0 -3.8l3.6 6.4h-7.2z",                                        // a triangle
	"m0 -4.2l4.2 4.2l-4.2 4.2l-4.2 -4.2z",                          // a diamond
	"m0 3.8l3.6 -6.4h-7.2z",                                        // a triangle on its point
	"m-1.3 -3.9h2.6v2.6h2.6v2.6h-2.6v2.6h-2.6v-2.6h-2.6v-2.6h2.6z", // a cross
}

// at returns the path of the mark at a point.
func (m mark) at(x, y float64) string {
	return fmt.Sprintf("M%.1f %.1f", x, y) + shapes[m.shape]
}
