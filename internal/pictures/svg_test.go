package pictures

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// The film's size in units of its own, which are pixels in README, and its length in seconds.
const (
	width, height = 800, 372
	length        = 16.0
)

// A film is what is seen when. What is there at its end is also what somebody sees who
// wants no motion.
type film struct {
	shapes, frames bytes.Buffer
	spans          map[[2]float64]int
}

// at returns the attributes of what is seen from one second to another.
func (f *film) at(from, to float64, classes string) string {
	if from <= 0 && to >= length {
		return fmt.Sprintf(`class="%s"`, classes)
	}
	n, ok := f.spans[[2]float64{from, to}]
	if !ok {
		n = len(f.spans)
		f.spans[[2]float64{from, to}] = n
		fade := 0.2
		if strings.HasPrefix(classes, "big") { // a counter goes from one number to the next
			fade = 0.01
		}
		percent := func(s float64) string { return strconv.FormatFloat(100*s/length, 'f', 2, 64) + "%" }
		fmt.Fprintf(&f.frames, "@keyframes k%d{0%%,%s{opacity:0}%s", n, percent(from), percent(from+fade))
		if to < length {
			fmt.Fprintf(&f.frames, ",%s{opacity:1}%s,100%%{opacity:0}}\n", percent(to), percent(to+0.01))
		} else {
			fmt.Fprintf(&f.frames, ",%s{opacity:1}100%%{opacity:0}}\n", percent(length-0.4))
		}
		fmt.Fprintf(&f.frames, ".k%d{animation-name:k%d}\n", n, n)
	}
	if to < length {
		classes += " gone"
	}
	return fmt.Sprintf(`class="m k%d %s"`, n, classes)
}

// line shows a line of text.
func (f *film) line(x, y int, from, to float64, classes, text string) {
	fmt.Fprintf(&f.shapes, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, f.at(from, to, classes), escaped(text))
}

// escaped returns text as XML has it.
func escaped(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // no error into memory
	return b.String()
}

// panel draws a frame with a title.
func (f *film) panel(x, y, w, h int, title string) {
	fmt.Fprintf(&f.shapes, `<rect class="panel" x="%d" y="%d" width="%d" height="%d" rx="8"/>`+"\n", x, y, w, h)
	if title != "" {
		f.line(x+16, y+24, 0, length, "quiet", title)
	}
}

// svg returns the film as a file.
func (f *film) svg() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" `+
		`role="img" aria-labelledby="t d">
<title id="t">psql writes, a program reads through hotrow, and PostgreSQL's counter of queries stands still</title>
<desc id="d">A program of SQL reads a row %d times, from memory. psql changes the row. The next read gets the
new row, by one query, and so do %[3]d more from memory. Made by make pictures from a real run.</desc>
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1f2328;white-space:pre}
.quiet{fill:#59636e}
.big{font-size:30px;font-weight:600}
.new{fill:#116329;font-weight:700}
.one{fill:#9a6700}
.panel{fill:#f6f8fa;stroke:#d1d9e0}
.end{text-anchor:end}
.m{animation:%gs linear infinite}
.gone{opacity:0}
@media (prefers-color-scheme: dark){
text{fill:#e6edf3}.quiet{fill:#9198a1}.new{fill:#56d364}.one{fill:#d29922}.panel{fill:#151b23;stroke:#3d444d}
}
@media (prefers-reduced-motion: reduce){.m{animation:none}}
%s</style>
%s</svg>
`, width, height, readers, length, f.frames.Bytes(), f.shapes.Bytes())
	return b.Bytes()
}

// Where the panels are.
const (
	left, middle = 8, 340 // of the writer's and the reader's
	bottom       = 244    // of the counters
)

// The seconds at which each part begins, and how long an answer and a part of the many take.
const (
	reading, writing, again = 0.6, 5.4, 8.4
	answering, many, step   = 0.7, 2.0, 0.22
)

// script returns the film of a run: what is typed, what it prints, and the counters.
func script(run take) *film {
	f := &film{spans: make(map[[2]float64]int)}
	f.panel(left, 8, middle-left-10, bottom-18, "any program writes")
	f.panel(middle, 8, width-middle-8, bottom-18, "an unchanged program reads, at hotrow's port")
	f.panel(left, bottom, width-16, height-bottom-8, "")

	f.reader(56, reading, run.before, "")
	f.line(left+16, 96, writing, length, "", `$ psql shop -c "`)
	f.line(left+16, 116, writing+0.5, length, "", "    UPDATE product SET price = 28")
	f.line(left+16, 136, writing+1, length, "", `    WHERE id = 1"`)
	f.reader(156, again, run.after, fmt.Sprintf("%d ms after the write", run.late.Milliseconds()))

	f.line(left+16, bottom+28, 0, length, "quiet", "answers to the program")
	f.line(middle+16, bottom+28, 0, length, "quiet", "SELECTs that PostgreSQL ran for it")
	f.counters(run)
	return f
}

// reader shows a query, its answer and the many that follow, from a second on. note stands
// beside the answer to the one after the write.
func (f *film) reader(y int, begin float64, s side, note string) {
	x, class := middle+16, ""
	if note != "" {
		class = "new"
		f.line(width-24, y+40, begin+answering, length, "quiet end", note)
	}
	f.line(x, y, begin, length, "", "shop=> "+strings.TrimSuffix(query, " WHERE id = 1"))
	f.line(x, y+20, begin, length, "", "shop->   WHERE id = 1;")
	f.line(x, y+40, begin+answering, length, class, s.row)
	f.line(x, y+60, begin+many, length, "quiet",
		fmt.Sprintf("%s more answers, from memory, in %.1f s", thousands(readers), s.took.Seconds()))
}

// counters shows each state of the two counters until the next.
func (f *film) counters(run take) {
	seen, from := []count{{}}, []float64{0}
	for i, s := range []side{run.before, run.after} {
		begin := []float64{reading, again}[i]
		for n, c := range s.counts {
			at := begin + answering
			if n > 0 {
				at = begin + many + step*float64(n)
			}
			seen, from = append(seen, c), append(from, at)
		}
	}
	from = append(from, length)
	queries := 0 // the first of those that are equal
	for i, c := range seen {
		f.line(left+16, bottom+66, from[i], from[i+1], "big", thousands(c.answers))
		if i+1 == len(seen) || seen[i+1].queries != c.queries {
			f.line(middle+16, bottom+66, from[queries], from[i+1], "big", thousands(c.queries))
			queries = i + 1
		}
	}
	f.line(left+16, bottom+98, 0, length, "quiet", "one after another")
	f.line(middle+16, bottom+98, again+many, length, "quiet",
		"one for each state of the row: the counter stands still")
}

// thousands returns a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
