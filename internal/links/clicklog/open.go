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
		if seg.end >= streamBytes {
			return errors.Join(seg.file.Close(), fmt.Errorf("%s is behind the %d bytes that a "+
				"writer of the click log may have: move the directory away to begin a new log",
				f.name, uint64(streamBytes)))
		}
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
// taken for that one's. Those that were only prepared are no loss: another process
// has had the number first.
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
		aside := 0
		for _, seg := range s.segments {
			aside += l.putAway(s, seg)
		}
		l.aside += aside
		if aside > 0 {
			l.log.Error("segments of the click log have a number that the database knows from "+
				"another log: they are put aside (*.aside) and their clicks are not counted",
				"node", c.Node, "writer", c.Writer, "segments", aside, "other", c.Dir)
		}
		l.streams = slices.DeleteFunc(l.streams, func(o *stream) bool { return o == s })
	}
}

// putAway takes a segment out of the log, and removes it when nobody has ever written
// to it. It returns how many it has put aside.
func (l *Log) putAway(s *stream, seg *segment) int {
	name := seg.file.Name()
	at, what, err := lastRecord(s.prefix(), seg, seg.start)
	unused := err == nil && what == foundEmpty && at == seg.start
	_ = seg.file.Close()
	l.bytes -= seg.size
	if unused {
		if err := os.Remove(name); err != nil {
			l.log.Warn("cannot remove a segment of the click log", "file", name, "err", err)
		}
		return 0
	}
	if err := os.Rename(name, name+".aside"); err != nil {
		l.log.Warn("cannot put a segment aside", "file", name, "err", err)
	}
	return 1
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
		if number >= writers {
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

// refusedNumbers returns the numbers of this node that no writer may take. One that
// is another directory's stays so for ever: nothing tells what that one has not sent
// to the database yet, under this very number.
func (l *Log) refusedNumbers() map[int]bool {
	refused := make(map[int]bool)
	others, one := 0, ID{}
	for _, c := range l.opts.Cursors {
		if c.Node != l.opts.Node {
			continue
		}
		if c.Dir != l.id || c.strays() {
			refused[c.Writer], refused[c.Seq.Writer()] = true, true
			others, one = others+1, c.Dir
			continue
		}
		s := l.find(c.Node, c.Writer)
		if s != nil && c.Seq.bytes() > s.first {
			refused[c.Writer] = true
			l.log.Warn("the database is ahead of the click log, which has lost its end: "+
				"another writer number is taken", "node", c.Node, "writer", c.Writer)
		}
		refused[c.Writer] = refused[c.Writer] || c.Seq.bytes() > streamBytes/2
	}
	for _, c := range l.opts.Rows {
		if c.Node == l.opts.Node && (c.Dir != l.id || c.strays()) {
			refused[c.Writer], refused[c.Seq.Writer()] = true, true
		}
	}
	for _, s := range l.streams { // there is time enough to begin anew
		if s.node == l.opts.Node && s.first > streamBytes/2 {
			refused[s.writer] = true
		}
	}
	ours := slices.ContainsFunc(l.streams, func(s *stream) bool { return s.node == l.opts.Node })
	if others > 0 && !ours { // a directory that stays keeps its numbers
		l.log.Warn("writer numbers of the click log belong to another directory: others are "+
			"taken", "node", l.opts.Node, "numbers", others, "of", writers, "other", one)
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
