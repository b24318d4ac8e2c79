package clicklog

// begin returns where the writer of a stream begins: where the last process has
// stopped, in its segment, so that starts take no room that clicks do not. What is
// before behind is in the database: after a loss of power it may have records that the
// log has lost, and their places are not taken again.
func (l *Log) begin(s *stream, behind uint64) uint64 {
	size := uint64(l.opts.Segment)
	fresh := max(s.first, (behind+size-1)/size*size, size)
	next := fresh
	for i := len(s.segments) - 1; i >= 0 && s.segments[i].end > behind; i-- {
		seg := s.segments[i]
		from := max(seg.start, behind)
		at, what, err := lastRecord(s.prefix(), seg, from)
		switch {
		case err != nil:
			l.log.Warn("a segment of the click log cannot be read: writing goes on in a new one",
				"file", seg.file.Name(), "err", err)
			return fresh
		case what == foundEnd || seg.size < l.opts.Segment && (at > from || what == foundBroken):
			return max(next, seg.end)
		case what == foundBroken || at > from && what != foundEmpty:
			return max(behind, min((at+pageSize)&^(pageSize-1), seg.end))
		case at > seg.start:
			return at
		}
		next = seg.start // it was only prepared
	}
	return next
}

// lastRecord returns where the records of a segment end, from a place on, and what is
// there: foundEnd when no record can follow. Gaps before the end are the reader's.
func lastRecord(prefix Seq, seg *segment, from uint64) (at uint64, what finding, err error) {
	x := stretch{file: seg.file, start: seg.start, end: seg.end,
		limit: min(seg.start+uint64(seg.size), seg.end)}
	buf := make([]byte, chunkSize)
	if at = from; seg.size == 0 {
		return at, foundEmpty, nil
	}
	for at < x.limit {
		b, err := readChunk(&x, at, buf)
		if err != nil {
			return from, foundEmpty, err
		}
		n, what := skim(prefix|Seq(at>>3), b)
		at += uint64(n)
		switch {
		case what == foundEnd:
			return at, what, nil
		case what == foundShort && n > 0:
			continue // with more bytes
		}
		next, err := nextRecord(prefix, &x, at+8)
		if err != nil || next >= x.limit {
			return at, what, err
		}
		at = next
	}
	return at, foundEnd, nil
}

// skim passes over the records at the beginning of b, whose place is given. It returns
// how many bytes they had and what follows.
func skim(place Seq, b []byte) (n int, what finding) {
	var rec Record
	for {
		what, room := parse(b[n:], place+Seq(n>>3), &rec)
		if what != foundRecord && what != foundRun {
			return n, what
		}
		n += room
	}
}
