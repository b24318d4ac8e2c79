package tier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	bolt "go.etcd.io/bbolt"
)

// A diskFile is the bbolt file of a Disk. Records stand in the order in which
// they came, so that new ones are written to full pages one after the other and
// old ones go page by page; the index says where a slot's record is.
//
//	index     slot -> class 1, number 8, charge 4
//	rows      number -> record
//	absences  number -> record
//	meta      "format", "counts", "source:NAME", "space:ID" -> state
//
// bbolt maps the file into memory and does not check its pages. So every call
// goes through guarded, and every record has a checksum.
type diskFile struct {
	db    *bolt.DB
	path  string
	limit uint64 // bytes of records and index, and of pages in use

	mu   sync.Mutex // guards dead; held while a read begins or ends
	dead bool       // see begin
}

// A class is an order of eviction.
type class uint8

const (
	rowClass class = iota
	absenceClass
	numClasses
)

// diskCounts are what the file holds.
type diskCounts struct {
	of         [numClasses]classCount
	file, free uint64 // bytes of the file, and of its pages not in use
}

type classCount struct{ entries, bytes uint64 }

// commitResult is what a commit leaves.
type commitResult struct {
	counts  diskCounts
	evicted uint64
}

var (
	indexBucket  = []byte("index")
	metaBucket   = []byte("meta")
	classBuckets = [numClasses][]byte{[]byte("rows"), []byte("absences")}

	countsKey = []byte("counts")
)

// placeSize is the length of a value of the index, and entryCharge what an entry
// takes besides its record and its slot in the index: bbolt's heads of the two
// elements and the number that is the record's key.
const (
	placeSize   = 1 + 8 + 4
	entryCharge = placeSize + 2*16 + 8
)

// errBroken is what a file is that bbolt cannot read.
var errBroken = errors.New("the file is broken")

// guarded runs what reads mapped pages. A page that is not there, because the
// file has become shorter or the disk cannot read it, is a fault and not an
// error; a page that is not what bbolt wrote makes it panic.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errBroken, reason(r))
		}
	}()
	return do()
}

// reason says what a panic of reading pages means: what the runtime says of them, such as
// "invalid memory address", is about a program.
func reason(panicked any) any {
	if _, fault := panicked.(interface{ Addr() uintptr }); fault {
		return "a page cannot be read: the file is shorter than it was, or the disk fails"
	}
	if _, of := panicked.(runtime.Error); of {
		return "a page is not what was written there"
	}
	return panicked
}

// begin begins a read. bbolt looks at its first pages while it holds its locks: a
// fault there leaves them taken, and whoever came near them afterwards would wait
// for ever. So the file is dead then.
func (f *diskFile) begin() (*bolt.Tx, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil, fmt.Errorf("%w: a read has ended half-way", errBroken)
	}
	f.dead = true
	tx, err := f.db.Begin(false)
	f.dead = false
	return tx, err
}

// end ends a read. While another one begins, nobody waits for that: it needs a
// lock that a fault may leave taken.
func (f *diskFile) end(tx *bolt.Tx) {
	if !f.mu.TryLock() {
		go func() { _ = tx.Rollback() }() // which fails only when it has ended
		return
	}
	defer f.mu.Unlock()
	if !f.dead {
		_ = tx.Rollback()
	}
}

// view runs see in a transaction that reads.
func (f *diskFile) view(see func(*bolt.Tx) error) error {
	tx, err := f.begin()
	if err != nil {
		return err
	}
	defer f.end(tx)
	return see(tx)
}

// A place is where a record stands, and what it is charged for.
type place struct {
	class  class
	number [8]byte
	charge uint32
}

func (p place) value() []byte {
	v := append(make([]byte, 0, placeSize), byte(p.class))
	return binary.BigEndian.AppendUint32(append(v, p.number[:]...), p.charge)
}

func decodePlace(v []byte) (place, error) {
	if len(v) != placeSize || v[0] >= byte(numClasses) {
		return place{}, fmt.Errorf("%w: a place of %d bytes", errRecord, len(v))
	}
	return place{class(v[0]), [8]byte(v[1:9]), binary.BigEndian.Uint32(v[9:])}, nil
}

// read calls see with the record of slot, if there is one; it is good during the
// call. The error wraps errRecord or errBroken.
func (f *diskFile) read(slot []byte, see func(*record)) error {
	return guarded(func() error {
		return f.view(func(tx *bolt.Tx) error {
			v := tx.Bucket(indexBucket).Get(slot)
			if v == nil {
				return nil
			}
			p, err := decodePlace(v)
			if err != nil {
				return err
			}
			r, err := decodeRecord(tx.Bucket(classBuckets[p.class]).Get(p.number[:]))
			if err != nil {
				return err
			}
			if string(r.slot) != string(slot) {
				return fmt.Errorf("%w: it is another key's", errRecord)
			}
			see(&r)
			return nil
		})
	})
}

// commit takes a batch to disk, evicts what is too much, and syncs.
func (f *diskFile) commit(b *batch, run uint64) (commitResult, error) {
	var w writer
	err := guarded(func() error {
		return f.db.Update(func(tx *bolt.Tx) error {
			if err := w.begin(tx); err != nil {
				return err
			}
			// In the order of the index, whose pages are then visited once.
			for _, slot := range slices.Sorted(maps.Keys(b.ops)) {
				if err := w.apply([]byte(slot), b.ops[slot], run); err != nil {
					return err
				}
			}
			if err := w.evict(f.limit, f.inUse(tx)); err != nil {
				return err
			}
			return w.end(b.histories)
		})
	})
	if err != nil {
		return commitResult{}, err
	}
	w.counts.file, w.counts.free = f.sizes()
	return commitResult{w.counts, w.evicted}, nil
}

// inUse returns the bytes of the pages that held something after the commit
// before this.
func (f *diskFile) inUse(tx *bolt.Tx) uint64 {
	s := f.db.Stats()
	free := uint64(s.FreePageN+s.PendingPageN) * uint64(f.db.Info().PageSize)
	return uint64(tx.Size()) - min(free, uint64(tx.Size()))
}

// sizes returns the size of the file and of what is free in it.
func (f *diskFile) sizes() (file, free uint64) {
	s := f.db.Stats()
	err := f.view(func(tx *bolt.Tx) error {
		file = uint64(max(tx.Size(), 0))
		return nil
	})
	if err != nil {
		return 0, 0
	}
	return file, uint64(s.FreePageN+s.PendingPageN) * uint64(f.db.Info().PageSize)
}

// A writer is one commit under way.
type writer struct {
	index, meta *bolt.Bucket
	docs        [numClasses]*bolt.Bucket
	counts      diskCounts
	evicted     uint64
}

func (w *writer) begin(tx *bolt.Tx) error {
	w.index, w.meta = tx.Bucket(indexBucket), tx.Bucket(metaBucket)
	for c := range w.docs {
		w.docs[c] = tx.Bucket(classBuckets[c])
		w.docs[c].FillPercent = 1 // records are appended, pages need no room
	}
	return w.counts.decode(w.meta.Get(countsKey))
}

// apply does one put or drop.
func (w *writer) apply(slot []byte, op diskOp, run uint64) error {
	if len(slot) > maxSlot {
		return nil
	}
	if err := w.remove(slot); err != nil || op.doc == nil {
		return err
	}
	r := newRecord(slot, op.doc, op.token, run)
	p := place{class: rowClass}
	if r.absent {
		p.class = absenceClass
	}
	n, err := w.docs[p.class].NextSequence()
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint64(p.number[:], n)
	value := r.append(make([]byte, 0, recordHead+len(slot)+len(r.body)))
	p.charge = uint32(len(value) + len(slot) + entryCharge)
	if err := w.docs[p.class].Put(p.number[:], value); err != nil {
		return err
	}
	w.counts.of[p.class].entries++
	w.counts.of[p.class].bytes += uint64(p.charge)
	return w.index.Put(slot, p.value())
}

// remove takes a slot out of the file, if it is there.
func (w *writer) remove(slot []byte) error {
	v := w.index.Get(slot)
	if v == nil {
		return nil
	}
	p, err := decodePlace(v)
	if err == nil {
		err = w.docs[p.class].Delete(p.number[:])
		w.counts.sub(p)
	} else if errors.Is(err, errRecord) {
		err = nil // it is found by nobody any more, and evicted in its turn
	}
	return errors.Join(err, w.index.Delete(slot))
}

// evict removes the oldest until what is left fits into limit. inUse are the
// bytes of pages: what they are over the limit by goes too.
func (w *writer) evict(limit, inUse uint64) error {
	absences := limit / negativeShare
	rows := limit - absences
	if held := w.counts.of[rowClass].bytes; inUse > limit {
		rows = min(rows, held-min(held, inUse-limit))
	}
	return errors.Join(w.evictClass(absenceClass, absences), w.evictClass(rowClass, rows))
}

func (w *writer) evictClass(c class, limit uint64) error {
	held := w.counts.of[c].bytes
	if held <= limit {
		return nil
	}
	// First they are listed and then removed: a cursor does not go over pages
	// that change.
	type victim struct{ number, slot []byte }
	var victims []victim
	cursor := w.docs[c].Cursor()
	for k, v := cursor.First(); k != nil && held > limit; k, v = cursor.Next() {
		next := victim{number: slices.Clone(k), slot: slices.Clone(slotOf(v))}
		victims = append(victims, next)
		held -= min(held, uint64(len(v)+len(next.slot)+entryCharge))
	}
	astray := false // the index does not lead to all of them
	for _, v := range victims {
		if err := w.docs[c].Delete(v.number); err != nil {
			return err
		}
		// What a broken record says is its slot is, if the index leads from there to it.
		at, err := decodePlace(w.index.Get(v.slot))
		if err == nil && at.class == c && string(at.number[:]) == string(v.number) {
			w.counts.sub(at)
			if err := w.index.Delete(v.slot); err != nil {
				return err
			}
		} else {
			astray = true
		}
		w.evicted++
	}
	if astray {
		return w.recount()
	}
	return nil
}

// recount takes out of the index what leads to no record, and counts what is left.
// It looks at all of it: a record whose slot is broken does not say who leads there.
func (w *writer) recount() error {
	var counts diskCounts
	counts.file, counts.free = w.counts.file, w.counts.free
	var lost [][]byte
	cursor := w.index.Cursor()
	for slot, v := cursor.First(); slot != nil; slot, v = cursor.Next() {
		at, err := decodePlace(v)
		if err != nil || w.docs[at.class].Get(at.number[:]) == nil {
			lost = append(lost, slices.Clone(slot))
			continue
		}
		counts.of[at.class].entries++
		counts.of[at.class].bytes += uint64(at.charge)
	}
	for _, slot := range lost {
		if err := w.index.Delete(slot); err != nil {
			return err
		}
	}
	w.counts = counts
	return nil
}

// end writes what is not documents.
func (w *writer) end(histories map[string][]byte) error {
	for _, k := range slices.Sorted(maps.Keys(histories)) {
		if err := w.meta.Put([]byte(k), histories[k]); err != nil {
			return err
		}
	}
	return w.meta.Put(countsKey, w.counts.encode())
}

// sub takes one entry away.
func (c *diskCounts) sub(p place) {
	of := &c.of[p.class]
	of.entries -= min(of.entries, 1)
	of.bytes -= min(of.bytes, uint64(p.charge))
}

func (c *diskCounts) encode() []byte {
	var b []byte
	for _, of := range c.of {
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, of.entries), of.bytes)
	}
	return b
}

func (c *diskCounts) decode(b []byte) error {
	if len(b) != 16*int(numClasses) {
		return fmt.Errorf("%w: its counts have %d bytes", errBroken, len(b))
	}
	for i := range c.of {
		c.of[i].entries = binary.BigEndian.Uint64(b[16*i:])
		c.of[i].bytes = binary.BigEndian.Uint64(b[16*i+8:])
	}
	return nil
}

// The keys of histories in the meta bucket.
const sourceKey, spacePrefix = "source:", "space:"

func spaceKey(id uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(spacePrefix), id))
}

// historyOf tells whose state a key of the meta bucket is.
func historyOf(key string) (source string, space uint64, ok bool) {
	if name, is := strings.CutPrefix(key, sourceKey); is {
		return name, 0, true
	}
	if id, is := strings.CutPrefix(key, spacePrefix); is && len(id) == 8 {
		return "", binary.BigEndian.Uint64([]byte(id)), true
	}
	return "", 0, false
}
