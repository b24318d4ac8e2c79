package gofast

import (
	"bytes"
	"compress/gzip"
	"compress/lzw"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// packetOf returns a post with that inner part, as hex.
func packetOf(inner []byte) string {
	b := appendHead(appendHead(nil, majorTag, 266), majorBytes, uint64(len(inner)))
	b = append(b, inner...)
	f := appendHead([]byte{0xd9, 0xd9, 0xf7, 0xc6}, majorBytes, uint64(len(b)))
	return hex.EncodeToString(append(f, b...))
}

// lzwOf returns the inner part that decompresses to b.
func lzwOf(b []byte) []byte {
	var z bytes.Buffer
	w := lzw.NewWriter(&z, lzw.LSB, 8)
	_, _ = w.Write(b)
	_ = w.Close()
	return append(appendHead([]byte{0xd8, tagLZW}, majorBytes, uint64(z.Len())), z.Bytes()...)
}

// gzipOf is lzwOf for gzip.
func gzipOf(b []byte) []byte {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write(b)
	_ = w.Close()
	return append(appendHead([]byte{0xd8, tagGzip}, majorBytes, uint64(z.Len())), z.Bytes()...)
}

// plain is an inner part with n bytes of data.
func plain(n int) []byte {
	return appendInner(nil, &Message{ID: 111, Data: bytes.Repeat([]byte("a"), n)})
}

// nested is an inner part that is compressed so many times.
func nested(depth int) []byte {
	b := plain(10)
	for range depth {
		b = gzipOf(b)
	}
	return b
}

// negatives are frames that no peer may send, and what is said of them.
var negatives = []struct {
	name, hex string
	err       error
}{
	{"N1 junk", "6a756e6b6a756e6b6a756e6b", ErrPrefix},
	{"N1 junk, two bytes", "6a75", ErrPrefix},
	{"N1 kind", "d9d9f7c058", ErrKind},
	{"N2 length of eight bytes", "d9d9f7c65b0000000100000000", ErrLength},
	{"N3 length", "d9d9f7c65a00010001da0002710057", ErrFrameSize},
	{"N4 truncated head in the map", "d9d9f7c64ad9010a46d82bbf011900", ErrID},
	{"N4 truncated head of the id", "d9d9f7c64bd9010a47d82bbfd82c1900", ErrHeader},
	{"N5 inner part longer than the packet", "d9d9f7c650d903e84dd82bbfd82c1818d82d4161ff", ErrPacket},
	{"N5 inner part shorter than the packet", "d9d9f7c650d903e84bd82bbfd82c1818d82d4161ff", ErrPacket},
	{"N5 data longer than the inner part", "d9d9f7c650d903e84cd82bbfd82c1818d82d4261ff", ErrHeader},
	{"N7 finish without its end", "d9d9f7c844d903e84000", ErrFinish},
	{"N7 finish with a message", "d9d9f7c845d903e84161ff", ErrFinish},
	{"N8 garbage as gzip", "d9d9f7c64bd9010a47d82e4401020304", ErrCompressed},
	{"N8 garbage as lzw", "d9d9f7c64bd9010a47d82f44ffffffff", ErrCompressed},
	{"N8 unknown compression", "d9d9f7c64bd9010a47d8994401020304", ErrHeader},
	{"N9 data without id", "d9d9f7c64bd903e847d82bbfd82d4161ff", ErrID},
	{"N9 id 0", "d9d9f7c64ed903e84ad82bbfd82c00d82d4161ff", ErrID},
	{"N9 no data", "d9d9f7c64bd903e847d82bbfd82c1818ff", ErrHeader},
	{"N9 data twice", "d9d9f7c653d903e84fd82bbfd82c01d82d4161d82d4161ff", ErrHeader},
	{"N10 lzw bomb", packetOf(lzwOf(plain(1 << 20))), ErrRatio},
	{"N10 gzip bomb", packetOf(gzipOf(plain(1 << 20))), ErrRatio},
	{"N11 length is not a byte string", "d9d9f7c670d903e84cd82bbfd82c1818d82d4161ff", ErrLength},
	{"N11 opaque is not a tag", "d9d9f7c6501903e84cd82bbfd82c1818d82d4161ff", ErrPacket},
	{"N11 inner part is not a byte string", "d9d9f7c650d903e86cd82bbfd82c1818d82d4161ff", ErrPacket},
	{"N11 id is not a number", "d9d9f7c650d903e84cd82bbfd82c3818d82d4161ff", ErrHeader},
	{"N11 data is text", "d9d9f7c650d903e84cd82bbfd82c1818d82d6161ff", ErrHeader},
	{"N11 length is indefinite", "d9d9f7c65fd903e84cd82bbfd82c1818d82d4161ff", ErrLength},
	{"N12 nesting", packetOf(nested(5)), ErrNesting},
	{"no end of the map", "d9d9f7c650d903e84cd82bbfd82c1818d82d416100", ErrHeader},
	{"something behind the map", "d9d9f7c651d903e84dd82bbfd82c1818d82d4161ff00", ErrHeader},
	{"an unknown pair", packetOf(append(plain(1)[:len(plain(1))-1], 0xd8, 52, 0x01, 0xff)), ErrHeader},
	{"pairs out of order", packetOf(append(plain(1)[:len(plain(1))-1], 0xd8, 50, 1, 0xd8, 48, 1, 0xff)), ErrHeader},
	{"gzip that is cut", packetOf(gzipCut()), ErrHeader},
	{"gzip with something behind it", packetOf(gzipBehind()), ErrCompressed},
}

// gzipCut is gzip that ends within the message.
func gzipCut() []byte {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write(plain(300)[:200])
	_ = w.Flush()
	return append(appendHead([]byte{0xd8, tagGzip}, majorBytes, uint64(z.Len())), z.Bytes()...)
}

// gzipBehind is gzip with garbage behind its end.
func gzipBehind() []byte {
	b := gzipOf(plain(10))[2:]
	size, h := readHead(b, majorBytes)
	b = append(bytes.Clone(b[h:]), "behind"...)
	return append(appendHead([]byte{0xd8, tagGzip}, majorBytes, size+6), b...)
}

// TestNegative_EndsOneConnection: what breaks the protocol is an error, at the
// decoder and through the session, whole and byte by byte.
func TestNegative_EndsOneConnection(t *testing.T) {
	codecs := NewCodecs()
	for _, v := range negatives {
		t.Run(v.name, func(t *testing.T) {
			b := unhex(t, v.hex)
			d := NewDecoder(Limits{Tags: Gzip | LZW, Inflated: 1 << 15}, codecs)
			var f Frame
			if n, err := d.Next(b, &f); n != 0 || !errors.Is(err, v.err) {
				t.Errorf("consumed %d, %v, want %v", n, err, v.err)
			}
			p := ready(t, Config{}, Config{Tags: Gzip | LZW, Codecs: codecs})
			for _, c := range b {
				if p.server.err == nil {
					p.server.in = append(p.server.in, c)
					p.server.step()
				}
			}
			if p.server.err == nil || !isProtocol(p.server.err) {
				t.Errorf("session: %v", p.server.err)
			}
		})
	}
}

// TestNegative_Whoami is N6, and what else a whoami can do wrong.
func TestNegative_Whoami(t *testing.T) {
	good := AppendWhoami(nil, &Whoami{Name: "w", Version: 1, Buffer: 512})
	ext := func(b ...byte) string { return string(append(bytes.Clone(good), b...)) }
	tests := []struct {
		name, data string
		err        error
	}{
		{"good", string(good), nil},
		{"nothing", "", ErrWhoami},
		{"name beyond the data", "\xffabc", ErrWhoami},
		{"version is text", strings.Replace(string(good), "\x01w\x01", "\x01w\x61", 1), ErrWhoami},
		{"cut", string(good[:len(good)-1]), ErrWhoami},
		{"tags beyond the data", string(good[:len(good)-1]) + "\x09gzip", ErrWhoami},
		{"buffer of nothing", string(AppendWhoami(nil, &Whoami{Name: "w"})), ErrWhoami},
		{"three bytes behind", ext(1, 2, 3), nil},
		{"a map that is none of ours", ext(0xa1, 0x61, 'x', 0x01), nil},
		{"a map of another version", ext(0xa1, 0x18, 99, 0x01), nil},
		{"a map that is cut", ext(0xa4, 0x00, 0x01, 0x01), ErrExtension},
		{"a map of four billion pairs", ext(0xba, 0xff, 0xff, 0xff, 0xff), ErrExtension},
		{"an endless map", ext(0xbf, 0x00, 0x01, 0xff), ErrExtension},
		{"one key twice", ext(0xa2, 0x00, 0x01, 0x00, 0x01), ErrExtension},
		{"deep", ext(append([]byte{0xa1, 0x18, 99}, bytes.Repeat([]byte{0x81}, 1000)...)...), ErrExtension},
		{"a range upside down", ext(0xa2, 0x00, 0x01, 0x05, 0x82, 0x02, 0x01), ErrExtension},
	}
	for _, tt := range tests {
		if _, err := ParseWhoami([]byte(tt.data)); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
	}
}
