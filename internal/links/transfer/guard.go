package transfer

import (
	"strings"
	"unicode"
)

// starters begin a formula in some spreadsheet: those of Excel and LibreOffice, and
// the wide, small, raised and lowered forms, which input in East Asian locales and
// compatibility normalization turn into them.
const starters = "=+-@＝＋－＠﹦﹢﹣﹫⁼⁺⁻₌₊₋−"

// Guard puts an apostrophe in front of a cell that a spreadsheet might take for a
// formula, and run (CWE-1236). What import reads has it taken away again.
func Guard(cell string) string {
	if isFormula(cell) {
		return "'" + cell
	}
	return cell
}

// unguard takes the apostrophe away that Guard and other exporters put in front.
func unguard(cell string) string {
	if rest, ok := strings.CutPrefix(cell, "'"); ok && isFormula(rest) {
		return rest
	}
	return cell
}

// isFormula reports whether a cell might be taken for a formula: behind blanks,
// what cannot be seen, and quotes, for all of these are dropped by some program. A
// tab or the end of a line in front may begin a cell of its own.
func isFormula(cell string) bool {
	if cell == "" {
		return false
	}
	if strings.IndexByte("\t\r\n", cell[0]) >= 0 {
		return true
	}
	rest := strings.TrimLeftFunc(cell, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) ||
			r == '\'' || r == '"'
	})
	return rest != "" && strings.ContainsRune(starters, []rune(rest)[0])
}
