// Package qr draws the QR code (ISO/IEC 18004) of a short URL as SVG or PNG and
// answers requests for it. A code is drawn for any text that could be one of a
// link's: whether there is such a link is not looked up, so that pictures tell
// nobody which codes are taken.
package qr

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strconv"
	"strings"

	qrcode "github.com/skip2/go-qrcode"
)

// Quiet is the margin that the standard asks for around a symbol, in modules.
const Quiet = 4

// A Symbol is a QR code: a square of dark and light modules.
type Symbol struct {
	modules [][]bool // rows, without a margin; true is dark
}

// New returns the symbol of a text. Its recovery level is M: 15% of it may be
// dirty or torn.
func New(text string) (*Symbol, error) {
	code, err := qrcode.New(text, qrcode.Medium)
	if err != nil {
		return nil, fmt.Errorf("draw a QR code of %d bytes: %w", len(text), err)
	}
	code.DisableBorder = true
	return &Symbol{modules: code.Bitmap()}, nil
}

// Text returns what the symbol of a short URL says. Upper-case letters, digits
// and the characters of a URL have a mode of their own that takes a third less
// room than bytes, so where the case of a code does not matter the whole URL is
// said in upper case; scheme and host never have any.
func Text(baseURL, code string, fold bool) string {
	text := strings.TrimSuffix(baseURL, "/") + "/" + code
	_, rest, _ := strings.Cut(baseURL, "://")
	_, path, _ := strings.Cut(rest, "/")
	if !fold || path != "" || strings.Contains(code, "_") {
		return text // a path before the code may have a case, and _ is not in the mode
	}
	return strings.ToUpper(text)
}

// Size returns how many modules the symbol has in a row, without a margin.
func (s *Symbol) Size() int { return len(s.modules) }

// AppendSVG appends the symbol with a margin of quiet modules, size pixels wide.
// Neighbours in a row are one rectangle of one path.
func (s *Symbol) AppendSVG(dst []byte, size, quiet int) []byte {
	across := strconv.Itoa(len(s.modules) + 2*quiet)
	pixels := strconv.Itoa(size)
	dst = append(dst, `<svg xmlns="http://www.w3.org/2000/svg" width="`+pixels+
		`" height="`+pixels+`" viewBox="0 0 `+across+` `+across+
		`" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h`+across+`v`+across+
		`H0z"/><path d="`...)
	for y, row := range s.modules {
		for x := 0; x < len(row); {
			from := x
			for x < len(row) && row[x] {
				x++
			}
			if x > from {
				dst = appendRun(dst, from+quiet, y+quiet, x-from)
				continue
			}
			x++
		}
	}
	return append(dst, `"/></svg>`...)
}

// appendRun appends a rectangle one module high.
func appendRun(dst []byte, x, y, width int) []byte {
	dst = append(dst, 'M')
	dst = strconv.AppendInt(dst, int64(x), 10)
	dst = append(dst, ' ')
	dst = strconv.AppendInt(dst, int64(y), 10)
	dst = append(dst, 'h')
	dst = strconv.AppendInt(dst, int64(width), 10)
	dst = append(dst, "v1h-"...)
	dst = strconv.AppendInt(dst, int64(width), 10)
	return append(dst, 'z')
}

// PNG returns the symbol as a picture of two colours, size pixels wide. Every
// module has the same whole number of pixels, one at least, for a scanner reads
// uneven ones badly; what is left over widens the margin.
func (s *Symbol) PNG(size, quiet int) ([]byte, error) {
	across := len(s.modules) + 2*quiet
	size = max(size, across)
	scale := size / across
	margin := (size - scale*len(s.modules)) / 2
	img := image.NewPaletted(image.Rect(0, 0, size, size),
		color.Palette{color.White, color.Black})
	for y, row := range s.modules {
		for x, dark := range row {
			if dark {
				fill(img, margin+x*scale, margin+y*scale, scale)
			}
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil, fmt.Errorf("write a QR code as PNG: %w", err)
	}
	return out.Bytes(), nil
}

// fill blackens a square.
func fill(img *image.Paletted, left, top, width int) {
	for y := top; y < top+width; y++ {
		at := img.PixOffset(left, y)
		for x := range width {
			img.Pix[at+x] = 1
		}
	}
}
