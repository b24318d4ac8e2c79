package clicklog

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
)

// chunkSize is how much of a segment is read at once.
const chunkSize = 256 << 10

// scanSize is how much is read at once where a record is looked for. A writer leaves
// less than a page empty at a time, unless something is broken.
const scanSize = 16 << 10

// A Reader reads the records of all streams, each in order. It is used by one
// goroutine at a time; any number of Readers may follow a Log.
type Reader struct {
	l      *Log
	places map[*stream]*place
	order  []*place
	turn   int
}

// A place is where a Reader is in a stream.
type place struct {
	s   *stream
	pos uint64
}

// A Batch is what one Read has found. It and what its records alias belong to
// the caller until the next Read into it.
type Batch struct {
	Records []Record
	Moves   []Move
	chunks  [][]byte
	used    int
}

// A Move says that a Read went from one place of a stream to another.
type Move struct {
	From, To Cursor
	Bad      int // records between them that could not be read
}

// chunk returns a buffer that no record of the batch aliases yet.
func (b *Batch) chunk() []byte {
	if b.used == len(b.chunks) {
		b.chunks = append(b.chunks, make([]byte, chunkSize))
	}
	b.used++
	return b.chunks[b.used-1]
}

// reset empties the batch.
func (b *Batch) reset() { b.Records, b.Moves, b.used = b.Records[:0], b.Moves[:0], 0 }

// NewReader returns a Reader that begins at the cursors; a stream without one is
// read from what the database does not have.
func (l *Log) NewReader(from []Cursor) *Reader {
	r := &Reader{l: l, places: make(map[*stream]*place)}
	r.refresh()
	for _, c := range from {
		r.Seek(c)
	}
	return r
}

// Seek moves the Reader to a place of one stream. A place that the log does not
// have any more, or another directory's, is ignored.
func (r *Reader) Seek(c Cursor) {
	for _, p := range r.order {
		if p.s.node == c.Node && p.s.writer == c.Writer && c.Dir == r.l.id {
			p.pos = c.Seq.bytes()
		}
	}
}

// Places returns where the Reader is.
func (r *Reader) Places() []Cursor {
	list := make([]Cursor, 0, len(r.order))
	for _, p := range r.order {
		list = append(list, r.cursor(p, p.pos))
	}
	return list
}

// cursor returns a place for those outside.
func (r *Reader) cursor(p *place, at uint64) Cursor {
	return Cursor{Node: p.s.node, Writer: p.s.writer, Dir: r.l.id,
		Seq: p.s.prefix() | Seq(at>>3)}
}

// refresh finds the streams.
func (r *Reader) refresh() {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	for _, s := range r.l.streams {
		if r.places[s] == nil {
			p := &place{s: s, pos: s.cursor}
			r.places[s] = p
			r.order = append(r.order, p)
		}
	}
}

// Read fills b with what was committed, at most most records, fairly over the
// streams. It returns how many; 0: there is nothing new. What cannot be read is
// skipped and counted in Move.Bad. An error is the disk's: the records before it
// are in b, and the next Read tries again.
func (r *Reader) Read(b *Batch, most int) (int, error) {
	b.reset()
	var errs []error
	for i := range r.order {
		if len(b.Records) >= most {
			break
		}
		p := r.order[(r.turn+i)%len(r.order)]
		from := p.pos
		bad, err := r.fill(p, b, most)
		if err != nil {
			errs = append(errs, err)
		}
		if p.pos != from {
			b.Moves = append(b.Moves, Move{r.cursor(p, from), r.cursor(p, p.pos), bad})
		}
	}
	r.turn++
	return len(b.Records), errors.Join(errs...)
}

// A stretch is a part of one segment that may be read.
type stretch struct {
	file  io.ReaderAt
	start uint64 // of the segment
	end   uint64
	limit uint64 // what is before may be read
	left  bool   // nothing more will be written: what is behind limit is the next segment
	cut   bool   // and the file is shorter than it was
}

// stretchAt finds what may be read at a place or behind it. It reports false
// when there is nothing yet.
func (l *Log) stretchAt(s *stream, pos uint64) (stretch, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := s.first
	if s.w != nil {
		done = max(done, s.w.done.Load())
	}
	for _, seg := range s.segments {
		if seg.end <= pos {
			continue
		}
		x := stretch{file: seg.file, start: seg.start, end: seg.end, limit: seg.end, left: true}
		if seg.end <= s.first {
			x.limit = seg.start + uint64(seg.size)
			x.cut = seg.size < l.opts.Segment && seg.size > 0 && !seg.warned
			seg.warned = true
			return x, true
		}
		if done < seg.end {
			x.limit, x.left = done, false
		}
		return x, done > max(pos, seg.start)
	}
	return stretch{}, false
}

// fill reads one stream. It returns how many records could not be read.
func (r *Reader) fill(p *place, b *Batch, most int) (bad int, err error) {
	for len(b.Records) < most {
		x, ok := r.l.stretchAt(p.s, p.pos)
		if !ok {
			return bad, nil
		}
		p.pos = max(p.pos, x.start)
		if x.cut {
			bad++
			r.l.log.Warn("a segment of the click log was truncated", "node", p.s.node,
				"writer", p.s.writer, "position", x.start)
		}
		n, err := r.readStretch(p, &x, b, most)
		bad += n
		if errors.Is(err, fs.ErrClosed) {
			return bad, nil // it has been released: the next Read finds what is left
		}
		if err != nil {
			return bad, err
		}
	}
	return bad, nil
}

// readStretch reads records of a stretch, and moves the place behind them.
func (r *Reader) readStretch(p *place, x *stretch, b *Batch, most int) (bad int, err error) {
	for p.pos < x.limit && len(b.Records) < most {
		buf, err := readChunk(x, p.pos, b.chunk())
		if err != nil {
			return bad, err
		}
		n, what := r.parseChunk(p, buf, b, most)
		p.pos += uint64(n)
		switch {
		case len(b.Records) >= most || what == foundShort && n > 0:
			continue // go on from here, with more bytes
		case what == foundEnd:
			p.pos = x.end
			return bad, nil
		}
		at, lost, err := r.search(p, x, buf[n:], what)
		if err != nil {
			return bad, err
		}
		bad += lost
		p.pos = at
	}
	if x.left && p.pos >= x.limit {
		p.pos = x.end
	}
	return bad, nil
}

// parseChunk takes records from the beginning of buf until there is something
// else, which it names. n is how many bytes they had.
func (r *Reader) parseChunk(p *place, buf []byte, b *Batch, most int) (n int, what finding) {
	for len(b.Records) < most {
		var rec Record
		what, room := parse(buf[n:], p.s.prefix()|Seq((p.pos+uint64(n))>>3), &rec)
		if what == foundRecord {
			b.Records = append(b.Records, rec)
		} else if what != foundRun {
			return n, what
		}
		n += room
	}
	return n, foundRecord
}

// readChunk reads from a place up to the limit, as much as buf holds.
func readChunk(x *stretch, pos uint64, buf []byte) ([]byte, error) {
	buf = buf[:min(uint64(len(buf)), x.limit-pos)]
	n, err := x.file.ReadAt(buf, int64(pos-x.start))
	if errors.Is(err, io.EOF) { // truncated under us: zeros, which are no records
		clear(buf[n:])
		err = nil
	}
	return buf, err
}

// search finds the next record behind a place that has none: one whose seq says
// that it is where it is, and whose checksum holds. It returns where it is, or
// the end of the stretch, and how many records are known to be lost: one for a
// gap, however many it held. No loss are the rest of a page that was left for
// the syncer, and the torn or missing end of what a killed process wrote.
func (r *Reader) search(p *place, x *stretch, here []byte, what finding) (uint64, int, error) {
	at, err := nextRecord(p.s.prefix(), x, p.pos+8)
	if err != nil {
		return p.pos, 0, err
	}
	page := (p.pos + pageSize - 1) &^ (pageSize - 1)
	switch {
	case at >= x.limit && x.left && what != foundBroken:
		lost, err := r.endLost(p, x)
		return x.limit, lost, err
	case what == foundEmpty && at == page:
		return at, 0, nil
	}
	return min(at, x.limit), 1, nil
}

// endLost returns 1 when the process that wrote a segment without an end has gone
// on to the next one: what is missing there was on no disk when the power went.
func (r *Reader) endLost(p *place, x *stretch) (int, error) {
	next, ok := r.l.stretchAt(p.s, x.end)
	if x.cut || !ok || next.start != x.end {
		return 0, nil
	}
	b, err := readChunk(&next, next.start, make([]byte, maxRoom))
	if err != nil {
		return 0, err
	}
	var rec Record
	if what, _ := parse(b, p.s.prefix()|Seq(next.start>>3), &rec); what == foundRecord {
		return 1, nil
	}
	return 0, nil
}

// nextRecord returns the place of the first record or mark at pos or behind it,
// or the limit of the stretch.
func nextRecord(prefix Seq, x *stretch, pos uint64) (uint64, error) {
	buf := make([]byte, scanSize)
	for pos+markSize <= x.limit {
		chunk, err := readChunk(x, pos, buf)
		if err != nil {
			return 0, err
		}
		n, found := scanChunk(prefix, chunk, pos, pos+uint64(len(chunk)) >= x.limit)
		pos += uint64(n)
		if found {
			return pos, nil
		}
	}
	return x.limit, nil
}

// scanChunk looks for a record or mark at each 8 bytes of a chunk. Without one, n
// is how many bytes need not be looked at again; last: no more bytes follow.
func scanChunk(prefix Seq, chunk []byte, pos uint64, last bool) (n int, found bool) {
	var rec Record
	for ; n+markSize <= len(chunk); n += 8 {
		word := binary.LittleEndian.Uint32(chunk[n:])
		if word == 0 || word > maxRecord && word < runMark {
			continue
		}
		switch what, _ := parse(chunk[n:], prefix|Seq((pos+uint64(n))>>3), &rec); what {
		case foundRecord, foundEnd:
			return n, true
		case foundShort:
			if !last && n > 0 {
				return n, false
			}
		}
	}
	return n, false
}
