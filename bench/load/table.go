package load

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Table is rows of text under named columns. All but the first column hold
// numbers and stand to the right.
type Table struct {
	Columns []string
	Rows    [][]string
}

// Text returns the table with its columns aligned by spaces.
func (t Table) Text() string {
	widths := make([]int, len(t.Columns))
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(cell + pad)
				continue
			}
			line.WriteString("  " + pad + cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// Markdown returns the table as GitHub wants it.
func (t Table) Markdown() string {
	var b strings.Builder
	row := func(cells []string) {
		b.WriteString("|")
		for _, cell := range cells {
			b.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`) + " |")
		}
		b.WriteString("\n")
	}
	row(t.Columns)
	rule := slices.Repeat([]string{"---:"}, len(t.Columns))
	rule[0] = "---"
	row(rule)
	for _, cells := range t.Rows {
		row(cells)
	}
	return b.String()
}

// Results returns the table of some runs. Columns in which all runs are alike
// and say nothing are left out.
func Results(runs []*Result) Table {
	columns := []column{
		{"server", func(r *Result) string { return r.Name }, true},
		{"connections", func(r *Result) string { return Count(float64(r.Connections)) }, true},
		{"pipeline", func(r *Result) string { return notOne(r.Pipeline) }, false},
		{"offered/s", func(r *Result) string { return orDash(r.Offered, Count) }, false},
		{"writes", func(r *Result) string { return orDash(r.WritePercent, percent) }, false},
		{"answers/s", func(r *Result) string { return Count(r.Rate) }, true},
		{"p50 µs", func(r *Result) string { return Count(r.Reads.P50) }, true},
		{"p99 µs", func(r *Result) string { return Count(r.Reads.P99) }, true},
		{"p99.9 µs", func(r *Result) string { return Count(r.Reads.P999) }, true},
		{"max µs", func(r *Result) string { return Count(r.Reads.Max) }, true},
		{"writes p50 µs", func(r *Result) string { return orDash(r.Writes.P50, Count) }, false},
		{"writes p99 µs", func(r *Result) string { return orDash(r.Writes.P99, Count) }, false},
		{"CPU µs/answer", func(r *Result) string { return serverCPU(r, totalCPU) }, false},
		{"user", func(r *Result) string { return serverCPU(r, userCPU) }, false},
		{"RSS MB", func(r *Result) string { return serverCPU(r, peakMB) }, false},
		{"unfinished", func(r *Result) string { return countOrDash(r.Unfinished) }, false},
		{"failed", func(r *Result) string { return countOrDash(r.Failed()) }, false},
	}
	return tabulate(columns, runs)
}

// A column is how a Result is shown in one.
type column struct {
	name   string
	cell   func(*Result) string
	always bool // else only if a cell says something
}

// tabulate fills a table.
func tabulate(columns []column, runs []*Result) Table {
	t := Table{Rows: make([][]string, len(runs))}
	for _, c := range columns {
		cells, some := make([]string, len(runs)), c.always
		for i, r := range runs {
			cells[i] = c.cell(r)
			some = some || cells[i] != dash
		}
		if !some {
			continue
		}
		t.Columns = append(t.Columns, c.name)
		for i := range runs {
			t.Rows[i] = append(t.Rows[i], cells[i])
		}
	}
	return t
}

// dash is a cell that says nothing.
const dash = "-"

// orDash shows a value unless it is zero.
func orDash(v float64, show func(float64) string) string {
	if v == 0 {
		return dash
	}
	return show(v)
}

// countOrDash shows a number unless it is zero.
func countOrDash(n uint64) string { return orDash(float64(n), Count) }

// notOne shows a number other than one.
func notOne(n int) string {
	if n == 1 {
		return dash
	}
	return strconv.Itoa(n)
}

// percent shows a share of a hundred.
func percent(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + "%" }

// serverCPU shows something of the server's CPU time, if it was measured.
func serverCPU(r *Result, show func(*CPU) string) string {
	if r.Server == nil {
		return dash
	}
	return show(r.Server)
}

func totalCPU(c *CPU) string { return fmt.Sprintf("%.2f", c.Total) }
func userCPU(c *CPU) string  { return fmt.Sprintf("%.2f", c.User) }
func peakMB(c *CPU) string   { return Count(float64(c.Peak) / 1e6) }

// Count shows a number without decimals, its thousands apart: 185,575.
func Count(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// JSON returns the runs as an indented array.
func JSON(runs []*Result) ([]byte, error) {
	b, err := json.MarshalIndent(runs, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
