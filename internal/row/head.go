package row

import "strconv"

// The header lines of a document are not stored with it: they follow from its format, its
// coding, its hash and its length, and take 80 bytes beside bodies that may have 200. They are
// made for each answer, around what all answers in a format and coding have in common.

// A frame is what header lines have before an entity tag's digits, and behind them.
type frame struct {
	lines  string // up to the digits
	suffix string // of the tag, with the closing quote
	length string // up to the digits of Content-Length
}

var frames = func() (all [NumFormats][NumCodings]frame) {
	for f := range all {
		for c := range all[f] {
			all[f][c] = frameOf(Format(f), Coding(c))
		}
	}
	return all
}()

func frameOf(f Format, c Coding) frame {
	lines, suffix := "Content-Type: "+f.MediaType(), "-j"
	switch f {
	case FormatMsgPack:
		suffix = "-m"
	case FormatCBOR:
		suffix = "-c"
	}
	if c != Identity {
		lines += "\r\nContent-Encoding: " + c.String()
		suffix += "+" + c.String()
	}
	suffix += `"`
	return frame{lines + "\r\nEtag: \"", suffix, suffix + "\r\nContent-Length: "}
}

// AppendWire appends what every HTTP answer with this document ends with: the header lines
// Content-Type, Content-Encoding (of a copy), Etag and Content-Length, the empty line, and the
// body.
func (d *Document) AppendWire(dst []byte) []byte {
	return append(d.AppendWireHead(dst), d.text[d.key:]...)
}

// AppendWireHead is AppendWire without the body, for HEAD.
func (d *Document) AppendWireHead(dst []byte) []byte {
	f := &frames[d.format][d.coding]
	dst = append(dst, f.lines...)
	dst = appendDigits(dst, d.hash)
	dst = append(dst, f.length...)
	dst = strconv.AppendInt(dst, int64(len(d.text)-int(d.key)), 10)
	return append(dst, "\r\n\r\n"...)
}

// maxETag is the length of the longest entity tag of a document.
const maxETag = len(`"k3f9a1c27e0v4-j+gzip"`)

// ETag returns the entity tag with its quotes, as RFC 9110 8.8.3 has it; "" where there is no
// row. It allocates.
func (d *Document) ETag() string {
	if d.absent {
		return ""
	}
	return string(d.AppendETag(make([]byte, 0, maxETag)))
}

// AppendETag appends ETag to dst.
func (d *Document) AppendETag(dst []byte) []byte {
	if d.absent {
		return dst
	}
	return appendETag(dst, d.hash, d.format, d.coding)
}

// HasETag reports whether tag, which may alias a buffer, is d's. It allocates nothing.
func (d *Document) HasETag(tag string) bool {
	var buf [maxETag]byte
	return !d.absent && string(d.AppendETag(buf[:0])) == tag
}

// appendETag appends the entity tag of a representation: see ETag.
func appendETag(dst []byte, hash uint64, f Format, c Coding) []byte {
	return append(appendDigits(append(dst, '"'), hash), frames[f][c].suffix...)
}

const tagDigits = "0123456789abcdefghijklmnopqrstuv"

// appendDigits appends a number as 13 digits of base32hex in lower case, the last of four
// bits.
func appendDigits(dst []byte, n uint64) []byte {
	return append(dst,
		tagDigits[n>>59], tagDigits[n>>54&31], tagDigits[n>>49&31], tagDigits[n>>44&31],
		tagDigits[n>>39&31], tagDigits[n>>34&31], tagDigits[n>>29&31], tagDigits[n>>24&31],
		tagDigits[n>>19&31], tagDigits[n>>14&31],
		tagDigits[n>>9&31], tagDigits[n>>4&31], tagDigits[n<<1&31])
}
