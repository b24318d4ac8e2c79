package clicklog

// Stats is a snapshot of a log.
type Stats struct {
	Bytes   int64  // of all segments
	Undone  uint64 // bytes that the database does not have yet
	Dropped uint64 // clicks for which there was no room
	Refused uint64
	Faults  uint64 // writes and syncs that failed
	Aside   int    // segments that were put aside when the log was opened
	Full    string // why there is no room for another segment; "": there is
}

// Stats returns a snapshot. The counts of clicks are exact for writers that are
// not appending at this moment.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := Stats{Bytes: l.bytes, Faults: l.faults.Load(), Aside: l.aside}
	if err := l.short(); err != nil {
		st.Full = err.Error()
	}
	for _, s := range l.streams {
		end := s.first
		if s.w != nil {
			st.Dropped += s.w.dropped.Load()
			st.Refused += s.w.refused.Load()
			end = max(end, s.w.done.Load())
		}
		if end > s.cursor {
			st.Undone += end - s.cursor
		}
	}
	return st
}
