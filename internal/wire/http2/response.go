package http2

import (
	"strconv"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// AppendHead appends the head of a response of HTTP/1.1 as the frames that begin that of a
// stream. end says that it has no body. What is for a connection of HTTP/1.1 alone is left
// out.
func AppendHead(dst []byte, stream uint32, h *http1.ResponseHead, end bool) []byte {
	flags := uint8(FlagEndHeaders)
	if end {
		flags |= FlagEndStream
	}
	at := len(dst)
	dst = appendFrame(dst, Headers, flags, stream, 0)
	dst = appendStatus(dst, h.Status)
	for i := range h.Fields {
		f := &h.Fields[i]
		switch f.Kind {
		case http1.EndToEnd, http1.FieldContentLength:
			if !h.Nominated(f) {
				dst = appendField(dst, h.Name(f), h.FieldValue(f))
			}
		}
	}
	return cutBlock(dst, at, stream)
}

// cutBlock sets the length of the frame at dst[at:], and makes several of what is too
// much for one.
func cutBlock(dst []byte, at int, stream uint32) []byte {
	length := len(dst) - at - FrameHead
	if length <= MaxPayload {
		dst[at], dst[at+1], dst[at+2] = byte(length>>16), byte(length>>8), byte(length)
		return dst
	}
	block, flags := append([]byte(nil), dst[at+FrameHead:]...), dst[at+4]
	dst = appendFrame(dst[:at], Headers, flags&^FlagEndHeaders, stream, MaxPayload)
	dst, block = append(dst, block[:MaxPayload]...), block[MaxPayload:]
	for len(block) > 0 {
		n, last := min(len(block), MaxPayload), uint8(0)
		if n == len(block) {
			last = FlagEndHeaders
		}
		dst = appendFrame(dst, Continuation, last, stream, n)
		dst, block = append(dst, block[:n]...), block[n:]
	}
	return dst
}

// Header blocks are made of literals that enter no table (RFC 7541 6.2.2), by the names of
// the static table: so they depend on nothing that was sent before, and any of them may be
// made at any time.

// appendStatus appends :status.
func appendStatus(dst []byte, code int) []byte {
	switch code { // RFC 7541, appendix A
	case 200:
		return append(dst, 0x80|8)
	case 204:
		return append(dst, 0x80|9)
	case 206:
		return append(dst, 0x80|10)
	case 304:
		return append(dst, 0x80|11)
	case 400:
		return append(dst, 0x80|12)
	case 404:
		return append(dst, 0x80|13)
	case 500:
		return append(dst, 0x80|14)
	}
	return strconv.AppendInt(append(dst, 8, 3), int64(code), 10)
}

// names are those of the static table that responses have.
var names = map[string]byte{
	"accept-ranges": 18, "access-control-allow-origin": 20, "age": 21, "allow": 22,
	"cache-control": 24, "content-disposition": 25, "content-encoding": 26,
	"content-language": 27, "content-length": 28, "content-location": 29, "content-range": 30,
	"content-type": 31, "date": 33, "etag": 34, "expires": 36, "last-modified": 44, "link": 45,
	"location": 46, "refresh": 52, "retry-after": 53, "server": 54, "set-cookie": 55,
	"strict-transport-security": 56, "vary": 59, "via": 60, "www-authenticate": 61,
}

// appendField appends one field. Names are lower case in HTTP/2.
func appendField(dst, name, value []byte) []byte {
	at := len(dst)
	dst = appendString(append(dst, 0), name)
	from := len(dst) - len(name)
	for i := from; i < len(dst); i++ {
		if c := dst[i]; c >= 'A' && c <= 'Z' {
			dst[i] = c | 0x20
		}
	}
	if index := names[string(dst[from:])]; index > 0 {
		dst = appendInt(dst[:at], 0, 4, int(index))
	}
	return appendString(dst, value)
}

// appendString appends a text as it is, without Huffman's code.
func appendString(dst, s []byte) []byte { return append(appendInt(dst, 0, 7, len(s)), s...) }

// appendInt appends n behind the first bits of a byte (RFC 7541 5.1).
func appendInt(dst []byte, first byte, bits, n int) []byte {
	most := 1<<bits - 1
	if n < most {
		return append(dst, first|byte(n))
	}
	dst = append(dst, first|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}
