package clicklog

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	metaName = "clicklog"
	metaForm = "hotrow click log 1\nid %s\nsegment %d\n"
	lockName = "lock"
)

// A directory holds the segments, a file that names it and a lock.
type directory struct {
	path string
	id   ID
	lock *os.File
}

// openDirectory locks a directory, makes it if need be, and reads its name. The
// size of its segments is part of what positions mean: an existing one replaces
// that of the options.
func openDirectory(o *Options) (*directory, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(o.Dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d := &directory{path: o.Dir, lock: f}
	size, err := d.readMeta()
	if errors.Is(err, fs.ErrNotExist) {
		size, err = o.Segment, d.writeMeta(o.Segment)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	if size != o.Segment {
		o.Log.Info("the click log keeps the size of segments that it was made with",
			"dir", o.Dir, "bytes", size, "configured", o.Segment)
		o.Segment = size
		o.Keep = max(o.Keep, int64(o.Loops+1)*size)
	}
	return d, nil
}

// close lets the directory go.
func (d *directory) close() { _ = d.lock.Close() }

// readMeta reads the directory's name and returns its size of segments.
func (d *directory) readMeta() (int64, error) {
	name := filepath.Join(d.path, metaName)
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	var id string
	var size int64
	if _, err := fmt.Sscanf(string(text), metaForm, &id, &size); err != nil ||
		size < minSegment || size > maxSegment || size%pageSize != 0 {
		return 0, fmt.Errorf("%s is broken: move the directory away to begin a new log", name)
	}
	if d.id, err = parseID(id); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return size, nil
}

// writeMeta gives the directory a name. A crash leaves it with the whole file or
// with none.
func (d *directory) writeMeta(size int64) error {
	if _, err := rand.Read(d.id[:]); err != nil {
		return err
	}
	name := filepath.Join(d.path, metaName)
	f, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, metaForm, d.id, size)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return err
	}
	return syncDirectory(d.path)
}

// syncDirectory makes names that were made in a directory outlive a loss of
// power. Where a directory cannot be synced there is nothing to do.
func syncDirectory(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = f.Sync()
	return f.Close()
}

// A found segment is one that was there when the log was opened.
type foundSegment struct {
	name         string
	node, writer int
	number       uint64
}

// list returns the segments of the directory by node, writer and number.
func (d *directory) list() ([]foundSegment, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var found []foundSegment
	for _, e := range entries { // sorted by name, which is the order
		node, writer, number, ok := parseSegmentName(e.Name())
		if ok && e.Type().IsRegular() {
			found = append(found, foundSegment{e.Name(), node, writer, number})
		}
	}
	slices.SortFunc(found, func(a, b foundSegment) int {
		if a.node != b.node {
			return a.node - b.node
		}
		if a.writer != b.writer {
			return a.writer - b.writer
		}
		return int(int64(a.number - b.number))
	})
	return found, nil
}
