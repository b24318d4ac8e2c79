package clicklog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	pageSize   = 4096
	minSegment = 4 * pageSize
	maxSegment = 1 << 30
)

// A segment is one file of a log. Its place in the log is its number times the
// size of segments. What number it has is changed only while no writer has it.
type segment struct {
	file   *os.File
	number uint64
	start  uint64 // the place of its first byte
	end    uint64
	size   int64  // of the file, which is less when it was truncated
	mem    []byte // nil: not mapped; older processes' are only read
	unmap  func() // of mem

	warned  bool // that it is truncated
	touched uint64
}

// segmentName returns the file's name.
func segmentName(node, writer int, number uint64) string {
	return fmt.Sprintf("%04d-%02d-%010d.seg", node, writer, number)
}

// parseSegmentName is the reverse of segmentName.
func parseSegmentName(name string) (node, writer int, number uint64, ok bool) {
	n, err := fmt.Sscanf(name, "%d-%d-%d.seg", &node, &writer, &number)
	if err != nil || n != 3 || segmentName(node, writer, number) != name {
		return 0, 0, 0, false
	}
	return node, writer, number, node <= maxNode && writer < writers && number > 0
}

// create makes the file of a segment, with its space on the disk, and maps it.
func create(path string, size int64) (*segment, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create a segment: %w", err)
	}
	s := &segment{file: f, size: size}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return s, nil
}

// place gives the segment its number.
func (s *segment) place(number uint64, size int64) {
	s.number, s.start = number, number*uint64(size)
	s.end, s.touched = s.start+uint64(size), s.start
	s.warned = false
}

// sync waits until the bytes between two places of the log are on disk, in
// whole pages.
func (s *segment) sync(from, to uint64) error {
	from, to = max(from, s.start)-s.start, min(to, s.end)-s.start
	if from >= to {
		return nil
	}
	if s.mem == nil {
		return s.file.Sync()
	}
	to = min((to+pageSize-1)&^(pageSize-1), uint64(len(s.mem)))
	return syncRange(s.mem, from&^(pageSize-1), to)
}

// touch makes the pages between two places ready for stores, and returns how far
// it came.
func (s *segment) touch(from, to uint64) (uint64, error) {
	from, to = max(from, s.start), min(to, s.end)
	if s.mem == nil || from >= to {
		return max(from, to), nil
	}
	if err := touchRange(s.mem, (from-s.start)&^(pageSize-1), to-s.start); err != nil {
		return from, err
	}
	return to, nil
}

// provide returns a segment with the next number of a stream: the one that the last
// process has left, one that is to be written over, or a new one. It fails when
// links.log.max or the disk is full. l.mu is held.
func (l *Log) provide(s *stream, number uint64) (*segment, error) {
	for _, seg := range s.segments {
		if seg.number == number {
			return seg, l.goOn(seg)
		}
	}
	name := filepath.Join(l.opts.Dir, segmentName(s.node, s.writer, number))
	if n := len(l.spares); n > 0 {
		seg := l.spares[n-1]
		if err := os.Rename(seg.file.Name(), name); err == nil {
			l.spares = l.spares[:n-1]
			return l.adopt(s, seg, name, number)
		}
	}
	if l.bytes+l.opts.Segment > l.opts.Keep {
		return nil, errKeep
	}
	seg, err := create(name, l.opts.Segment)
	if err != nil {
		return nil, err
	}
	l.bytes += seg.size
	seg.place(number, l.opts.Segment)
	s.segments = append(s.segments, seg)
	return seg, nil
}

// goOn makes ready for stores what another process has begun or only prepared.
func (l *Log) goOn(seg *segment) error {
	was := seg.size
	seg.size = l.opts.Segment
	if err := seg.prepare(); err != nil {
		seg.size = was
		return fmt.Errorf("go on with a segment: %w", err)
	}
	l.bytes += seg.size - was
	return nil
}

// errKeep says that the log holds as much as it may.
var errKeep = errors.New("links.log.max is reached: the database does not take the clicks")

// adopt opens a renamed spare under its new name, which is what a File reports
// and what is removed one day.
func (l *Log) adopt(s *stream, seg *segment, name string, number uint64) (*segment, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0o600)
	if err != nil {
		l.bytes -= seg.size
		l.removable = append(l.removable, seg)
		return nil, fmt.Errorf("reuse a segment: %w", err)
	}
	_ = seg.file.Close() // a reader of what it held finds that it has gone
	seg.file = f
	seg.place(number, l.opts.Segment)
	s.segments = append(s.segments, seg)
	return seg, nil
}

// free takes the segments behind the cursor from a stream: those that can be
// written over become spares, the others are removed. l.mu is held.
func (l *Log) free(s *stream) {
	done := s.first
	if s.w != nil {
		done = max(s.w.done.Load(), s.first)
	}
	kept := s.segments[:0]
	for _, seg := range s.segments {
		if seg.end > s.cursor || seg.end > done {
			kept = append(kept, seg)
			continue
		}
		if seg.mem != nil && len(l.spares) <= len(l.writers) {
			l.spares = append(l.spares, seg)
			continue
		}
		l.bytes -= seg.size
		l.removable = append(l.removable, seg)
	}
	clear(s.segments[len(kept):])
	s.segments = kept
}

// remove unmaps and unlinks segments that nobody writes any more.
func (l *Log) remove(list []*segment) {
	for _, seg := range list {
		if seg.unmap != nil {
			seg.unmap()
		}
		name := seg.file.Name()
		err := errors.Join(os.Remove(name), seg.file.Close())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.log.Warn("cannot remove a segment of the click log", "file", name, "err", err)
		}
	}
}
