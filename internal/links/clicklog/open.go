package clicklog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// setUp reads what the directory holds and gives each writer its number.
func (l *Log) setUp() error {
	if err := l.openStreams(); err != nil {
		return err
	}
	l.dropForeign()
	if err := l.assign(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.streams {
		l.free(s)
	}
	for _, s := range l.streams {
		if s.w != nil {
			_ = l.fill(s, leastReady) // it is in short, too
		}
	}
	if err := l.short(); err != nil {
		l.log.Warn("the click log has no room", "err", err)
	}
	return nil
}

// openStreams opens the segments of the processes before this one, to be read.
func (l *Log) openStreams() error {
	found, err := l.dir.list()
	if err != nil {
		return err
	}
	for _, f := range found {
		seg, err := l.openSegment(f)
		if err != nil {
			return err
		}
		s := l.find(f.node, f.writer)
		if s == nil {
			s = &stream{node: f.node, writer: f.writer}
			l.streams = append(l.streams, s)
		}
		s.segments = append(s.segments, seg)
		s.first = seg.end
		l.bytes += seg.size
	}
	for _, s := range l.streams {
		s.cursor = s.segments[0].start
	}
	return nil
}

// openSegment opens a segment to read it. One that was truncated is shorter.
func (l *Log) openSegment(f foundSegment) (*segment, error) {
	file, err := os.OpenFile(filepath.Join(l.dir.path, f.name), os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	seg := &segment{file: file}
	seg.place(f.number, l.opts.Segment)
	seg.size = min(info.Size(), l.opts.Segment)
	return seg, nil
}

// dropForeign takes the database's cursors over, and puts away the segments
// whose number the database knows from another directory: their records would be
// taken for that one's.
func (l *Log) dropForeign() {
	for _, c := range l.opts.Cursors {
		s := l.find(c.Node, c.Writer)
		if s == nil {
			continue
		}
		if c.Dir == l.id {
			s.cursor = max(s.cursor, c.Seq.bytes())
			continue
		}
		for _, seg := range s.segments {
			name := seg.file.Name()
			_ = seg.file.Close()
			if err := os.Rename(name, name+".aside"); err != nil {
				l.log.Warn("cannot put a segment aside", "file", name, "err", err)
			}
			l.bytes -= seg.size
			l.aside++
		}
		l.log.Error("segments of the click log have a number that the database knows from "+
			"another log: they are put aside (*.aside) and their clicks are not counted",
			"node", c.Node, "writer", c.Writer, "segments", len(s.segments), "other", c.Dir)
		l.streams = slices.DeleteFunc(l.streams, func(o *stream) bool { return o == s })
	}
}

// assign makes the writers and gives each the lowest number that it may have.
func (l *Log) assign() error {
	taken := l.refusedNumbers()
	number := -1
	streams := make([]*stream, l.opts.Loops+1)
	for i := range streams {
		for number++; taken[number]; {
			number++
		}
		if number >= 1<<writerBits {
			return fmt.Errorf("node %d: %w: give this process another node number",
				l.opts.Node, ErrWriters)
		}
		streams[i] = l.newStream(number)
	}
	l.writers = make([]*Writer, len(streams))
	var reading sync.WaitGroup // a segment takes some 40 ms
	for i, s := range streams {
		reading.Go(func() { l.writers[i] = l.newWriter(s) })
	}
	reading.Wait()
	l.shared.w = l.writers[l.opts.Loops]
	return nil
}

// refusedNumbers returns the numbers of this node that no writer may take.
func (l *Log) refusedNumbers() map[int]bool {
	refused := make(map[int]bool)
	for _, c := range l.opts.Cursors {
		if c.Node != l.opts.Node {
			continue
		}
		if c.Dir != l.id {
			refused[c.Writer] = true
			l.log.Warn("a writer number of the click log belongs to another directory: "+
				"another one is taken", "node", c.Node, "writer", c.Writer, "other", c.Dir)
			continue
		}
		s := l.find(c.Node, c.Writer)
		if s != nil && c.Seq.bytes() > s.first {
			refused[c.Writer] = true
			l.log.Warn("the database is ahead of the click log, which has lost its end: "+
				"another writer number is taken", "node", c.Node, "writer", c.Writer)
		}
	}
	return refused
}

// newStream returns the stream of a number of this node.
func (l *Log) newStream(number int) *stream {
	s := l.find(l.opts.Node, number)
	if s == nil {
		s = &stream{node: l.opts.Node, writer: number}
		l.streams = append(l.streams, s)
	}
	return s
}

// newWriter makes the writer of a stream. It begins behind all that was written and
// behind what the database has.
func (l *Log) newWriter(s *stream) *Writer {
	s.cursor = l.reached(l.opts.Cursors, s, s.cursor)
	first := l.begin(s, l.reached(l.opts.Rows, s, s.cursor))
	s.first, s.next = first, first/uint64(l.opts.Segment)
	if len(s.segments) == 0 {
		s.cursor = max(s.cursor, first)
	}
	w := &Writer{
		prefix: makeSeq(s.node, s.writer, 0), base: first, end: first, pos: first,
		refuse: l.opts.OnFull == Refuse, always: l.opts.Sync == SyncAlways,
		committed: first, faults: &l.faults, kick: l.kick,
	}
	w.done.Store(first)
	s.w = w
	return w
}

// reached returns the place of a stream's cursor in a list, or at if that is greater.
func (l *Log) reached(list []Cursor, s *stream, at uint64) uint64 {
	for _, c := range list {
		if c.Node == s.node && c.Writer == s.writer && c.Dir == l.id {
			at = max(at, c.Seq.bytes())
		}
	}
	return at
}
