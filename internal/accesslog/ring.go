package accesslog

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// A Ring carries the records of one producer to the writer. The producer copies
// bytes and stores numbers: no lock, no allocation, no system call. When there
// is no room the record is dropped and counted.
//
// Records are in batches, which share their time and their duration: a loop
// knows how long a wake-up took when it has ended. So the writer sees nothing of
// a batch before Publish.
//
// For each record: Start, then Text or Int for each column that holds a value,
// in order, then End.
type Ring struct {
	log  *Log
	buf  []byte
	mask uint64
	most uint64 // bytes of the longest record
	need uint64 // that must be free for one record, whatever has to go before it

	// The producer's own.
	at    uint64 // where the next byte goes
	item  uint64 // where the open record or batch begins
	batch uint64
	open  bool   // there is a batch
	seen  uint64 // what tail was when it was looked at
	col   int    // of the next value
	skip  int64  // requests until the one that is picked; 0: not known
	seed  uint64

	dropped atomic.Uint64 // written by the producer alone

	_    [64]byte
	head atomic.Uint64 // published up to here; written by the producer
	_    [56]byte
	tail atomic.Uint64 // read up to here; written by the writer
	_    [56]byte
}

// An item of a ring begins with its length and its kind, and its length is a
// multiple of eight.
const (
	itemHead  = 8
	batchSize = itemHead + 16 // and then the time and the duration

	itemWrap   = 1 // nothing; the next item is at the beginning of the buffer
	itemBatch  = 2
	itemRecord = 3
)

// newRing returns a ring for the columns of l.
func newRing(l *Log) *Ring {
	most := uint64(itemHead)
	for i := range l.values {
		if l.values[i].Kind == Text {
			most += 2 + uint64(l.values[i].Max)
		} else {
			most += 8
		}
	}
	most = (most + 7) &^ 7
	// Before a record there may be a wrap, which is shorter than the batch and
	// the record that did not fit.
	need := 2 * (most + batchSize)
	size := uint64(1 << 10)
	for size < uint64(l.cfg.Buffer) || size < 2*need {
		size *= 2
	}
	// The seed decides which requests are in a sample, no more.
	return &Ring{
		log: l, buf: make([]byte, size), mask: size - 1, most: most, need: need,
		seed: rand.Uint64() | 1,
	}
}

// Pick decides whether the next request is logged. weight is how many requests
// a line stands for, 0 when every request has one.
func (r *Ring) Pick() (weight int64, picked bool) {
	every := r.log.every.Load()
	if every <= 1 {
		return 0, every == 1
	}
	if r.skip == 0 || r.skip >= 2*every { // the settings may have changed
		r.skip = r.gap(uint64(every))
	}
	r.skip--
	return every, r.skip == 0
}

// gap returns from which request on the next one is picked: 1 to 2*every-1, of
// which every is the mean. A fixed one might fall in step with what the clients
// do. The numbers are those of xorshift64 (Marsaglia 2003).
func (r *Ring) gap(every uint64) int64 {
	x := r.seed
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	r.seed = x
	return 1 + int64(x%(2*every-1))
}

// Start begins a record, and with the first one a batch that began at at. It
// reports false, and counts, when there is no room.
func (r *Ring) Start(at time.Time) bool {
	size := r.mask + 1
	if r.at+r.need-r.seen > size {
		if r.seen = r.tail.Load(); r.at+r.need-r.seen > size {
			r.dropped.Store(r.dropped.Load() + 1)
			return false
		}
	}
	if rest := size - r.at&r.mask; rest < r.most+batchSize {
		r.put(itemWrap, rest)
		r.at += rest
	}
	if !r.open {
		r.open, r.batch = true, r.at
		r.put(itemBatch, batchSize)
		binary.LittleEndian.PutUint64(r.buf[r.at&r.mask+itemHead:], uint64(at.UnixNano()))
		r.at += batchSize
	}
	r.item, r.col = r.at, 0
	r.at += itemHead
	return true
}

// put writes the head of an item that begins here.
func (r *Ring) put(kind uint32, length uint64) {
	b := r.buf[r.at&r.mask:]
	binary.LittleEndian.PutUint32(b, uint32(length))
	binary.LittleEndian.PutUint32(b[4:], kind)
}

// Text gives the next column, which is a Text, its value. It is copied.
func (r *Ring) Text(s string) {
	n := min(len(s), r.log.values[r.col].Max)
	r.col++
	b := r.buf[r.at&r.mask:]
	length := uint16(n)
	if n < len(s) {
		length |= wasCut
	}
	binary.LittleEndian.PutUint16(b, length)
	r.at += 2 + uint64(copy(b[2:], s[:n]))
}

// Int gives the next column, which is an Int or a Count, its value.
func (r *Ring) Int(n int64) {
	r.col++
	binary.LittleEndian.PutUint64(r.buf[r.at&r.mask:], uint64(n))
	r.at += 8
}

// End ends the record.
func (r *Ring) End() {
	if r.col != len(r.log.values) {
		panic("BUG: accesslog: a record has not one value for each column")
	}
	end := (r.at + 7) &^ 7
	r.at = r.item
	r.put(itemRecord, end-r.item)
	r.at = end
}

// Pending reports whether there are records that were not published.
func (r *Ring) Pending() bool { return r.open }

// Publish ends the batch, if there is one, of which each record took so long.
func (r *Ring) Publish(took time.Duration) {
	if !r.open {
		return
	}
	r.open = false
	at := r.batch&r.mask + itemHead + 8
	binary.LittleEndian.PutUint64(r.buf[at:], uint64(took))
	r.head.Store(r.at)
}
