package proxy

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"sync/atomic"
	"time"
)

// ids makes request ids as chocon does: 20 characters that sort by time and
// are unique among machines (https://github.com/rs/xid): seconds, machine,
// process, a counter, in base 32.
type ids struct {
	origin  [5]byte // machine and process
	counter atomic.Uint32
}

// init takes the origin. The machine is a random number: its name would tell
// upstreams something.
func (g *ids) init() {
	var seed [7]byte
	_, _ = rand.Read(seed[:]) // it never fails
	copy(g.origin[:3], seed[:])
	binary.BigEndian.PutUint16(g.origin[3:], uint16(os.Getpid()))
	g.counter.Store(binary.BigEndian.Uint32(seed[3:]))
}

// append appends a new id.
func (g *ids) append(dst []byte, t time.Time) []byte {
	const digits = "0123456789abcdefghijklmnopqrstuv"
	var raw [13]byte // a byte more, so that every digit has its two bytes
	binary.BigEndian.PutUint32(raw[:], uint32(t.Unix()))
	copy(raw[4:], g.origin[:])
	n := g.counter.Add(1)
	raw[9], raw[10], raw[11] = byte(n>>16), byte(n>>8), byte(n)
	for bit := 0; bit < 100; bit += 5 {
		pair := binary.BigEndian.Uint16(raw[bit/8:])
		dst = append(dst, digits[pair>>(11-bit%8)&31])
	}
	return dst
}
