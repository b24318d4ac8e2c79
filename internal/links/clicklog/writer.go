package clicklog

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// ahead is how many segments may be prepared for a writer before it needs them.
const ahead = 4

// A Writer appends records to a log of its own. One goroutine at a time may use
// it: an event loop. It takes no lock, makes no system call (where memory can be
// mapped) and allocates nothing; other goroutines provide segments and touch the
// pages ahead of it.
type Writer struct {
	cur    *segment // nil: none has been taken yet
	mem    []byte   // of cur; nil: it cannot be mapped
	base   uint64   // the place of cur's first byte
	end    uint64   // of cur
	pos    uint64   // the next record's place
	prefix Seq
	taken  int  // segments, for the slot of the next one
	begun  bool // a segment has got its runMark
	refuse bool
	always bool
	_      [64]byte

	// done is pos for all others: what is before is committed.
	done    atomic.Uint64
	dropped atomic.Uint64
	refused atomic.Uint64
	_       [64]byte

	// rests says that those who follow the log sleep: the next record wakes them.
	rests atomic.Bool
	kick  chan<- struct{} // wakes the provisioner, which wakes the others

	// floor is where the next record may begin at the earliest: what is before
	// is being synced, and a store to it would wait for the disk.
	floor atomic.Uint64
	next  [ahead]atomic.Pointer[segment]
	_     [64]byte

	committed uint64         // SyncAlways: what is before is on disk
	scratch   [maxRoom]byte  // where memory cannot be mapped
	faults    *atomic.Uint64 // writes and syncs that failed
}

// Append stores a record and sets its Seq. When it returns the record outlives
// the process. ok is false when the request must be refused with 503: the log is
// full and its policy is Refuse. With Drop, ok is true and seq is 0: the click is
// counted and lost.
func (w *Writer) Append(r *Record) (seq Seq, ok bool) {
	agent, ref, path := clip(r.Agent, MaxAgent), clip(r.Referrer, MaxReferrer),
		clip(r.Path, MaxPath)
	size := headSize + len(agent) + len(ref) + len(path)
	room := uint64(size+7) &^ 7
	if w.pos+room+markSize > w.end || w.floor.Load() > w.pos {
		if !w.makeRoom(room) {
			return w.full()
		}
	}
	seq = w.prefix | Seq(w.pos>>3)
	r.Seq = seq
	if w.mem == nil {
		return w.write(r, agent, ref, path, size)
	}

	// Fast path: a copy into memory that is the kernel's as well.
	b := w.mem[w.pos-w.base:]
	encode(b, seq, r, agent, ref, path, size)
	commit(b, uint32(size))
	w.pos += room
	w.stored()
	return seq, true
}

// stored tells the others up to where records are stored.
func (w *Writer) stored() {
	// Fast path: they look by themselves.
	if w.done.Store(w.pos); !w.rests.Load() {
		return
	}

	// Slow path: once after a silence.
	w.rests.Store(false)
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// Commit waits until all that was appended is on disk, if the log's Sync is
// SyncAlways; else it returns at once. A loop calls it before it sends answers.
func (w *Writer) Commit() {
	if !w.always || w.committed >= w.pos || w.cur == nil {
		return
	}
	if err := w.cur.sync(max(w.committed, w.base), w.pos); err != nil {
		w.faults.Add(1)
		return
	}
	w.committed = w.pos
}

// full counts a click for which there is no room.
func (w *Writer) full() (Seq, bool) {
	if w.refuse {
		w.refused.Add(1)
		return 0, false
	}
	w.dropped.Add(1)
	return 0, true
}

// makeRoom moves to a place with room bytes: beyond the floor, or in the next
// segment. It reports false when there is no segment.
//
// Slow path: once a second, and once a segment.
func (w *Writer) makeRoom(room uint64) bool {
	for {
		if floor := w.floor.Load(); floor > w.pos {
			w.pos = min(floor, w.end)
			if w.pos < w.end && w.mem != nil {
				binary.LittleEndian.PutUint64(w.mem[w.pos-w.base:], 0)
			}
		}
		if w.pos+room+markSize <= w.end {
			return true
		}
		if !w.turn() {
			return false
		}
	}
}

// turn closes the segment and takes the next one.
func (w *Writer) turn() bool {
	slot := &w.next[w.taken%ahead]
	seg := slot.Load()
	if seg == nil {
		return false
	}
	if w.always && w.cur != nil {
		w.Commit()
	}
	if w.pos+markSize <= w.end {
		w.mark(endMark)
	}
	w.cur, w.mem, w.base, w.end = seg, seg.mem, seg.start, seg.end
	w.pos = max(w.base, w.pos)
	w.taken++
	slot.Store(nil)
	if w.mem != nil {
		if w.pos == w.base {
			binary.LittleEndian.PutUint64(w.mem[markSize:], 0)
		}
		binary.LittleEndian.PutUint64(w.mem[w.pos-w.base:], 0)
	}
	if !w.begun {
		w.begun = true
		if w.pos == w.base {
			w.mark(runMark)
			w.pos += markSize
		}
	}
	w.done.Store(w.pos)
	return true
}

// mark stores a mark at pos.
func (w *Writer) mark(mark uint32) {
	b := appendMark(w.scratch[:0], mark, w.prefix|Seq(w.pos>>3))
	if w.mem == nil {
		if _, err := w.cur.file.WriteAt(b, int64(w.pos-w.base)); err != nil {
			w.faults.Add(1)
		}
		return
	}
	at := w.mem[w.pos-w.base:]
	copy(at[crcAt:markSize], b[crcAt:])
	commit(at, mark)
}

// write is Append where memory cannot be mapped: a system call for each record.
func (w *Writer) write(r *Record, agent, ref, path []byte, size int) (Seq, bool) {
	b := w.scratch[:]
	encode(b, r.Seq, r, agent, ref, path, size)
	binary.LittleEndian.PutUint32(b, uint32(size))
	room := uint64(size+7) &^ 7
	if _, err := w.cur.file.WriteAt(b[:room+markSize], int64(w.pos-w.base)); err != nil {
		w.faults.Add(1)
		return w.full()
	}
	w.pos += room
	w.stored()
	return r.Seq, true
}

// Shared is a Writer for any number of goroutines.
type Shared struct {
	mu sync.Mutex // guards w
	w  *Writer
}

// Append is Writer.Append, and Writer.Commit behind it.
func (s *Shared) Append(r *Record) (seq Seq, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq, ok = s.w.Append(r)
	s.w.Commit()
	return seq, ok
}
