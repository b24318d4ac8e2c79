package tier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// diskFormat is the version of the file's layout. A file of another version is
// removed: a cache is not worth a conversion.
const diskFormat = "hotrow cache 3"

var formatKey = []byte("format")

// errFormat is a file of another version.
var errFormat = errors.New("the file is of another version")

// openFile opens the file of the options; a broken one is put aside first.
func (d *Disk) openFile() error {
	limit := uint64(max(d.opts.MaxBytes, 0)) - d.pendingLimit()
	f, err := openDiskFile(d.opts.Path, limit)
	if err == nil {
		if err = d.load(f); err != nil {
			err = errors.Join(err, f.db.Close())
		}
	}
	switch {
	case err == nil:
		d.file = f
		return nil
	case errors.Is(err, errFormat):
		d.log.Warn("the cache on disk is of another version and begins anew")
		if err := os.Remove(d.opts.Path); err != nil {
			return err
		}
	case errors.Is(err, errBroken) && CheckDisk(d.opts.Path) != nil:
		return CheckDisk(d.opts.Path)
	case errors.Is(err, errBroken):
		kept, moveErr := quarantine(d.opts.Path)
		if moveErr != nil {
			return errors.Join(err, moveErr)
		}
		d.quarantines.Add(1)
		d.log.Error("the cache on disk is broken and begins anew", "kept", kept, "err", err)
	default:
		return err
	}
	clear(d.sources)
	clear(d.spaces)
	if f, err = openDiskFile(d.opts.Path, limit); err != nil {
		return err
	}
	d.file = f
	return d.load(f)
}

// CheckDisk returns why OpenDisk would leave the file at path alone, which it only looks at.
func CheckDisk(path string) error {
	if isDatabase(path) {
		return fmt.Errorf("%s is a database of SQLite, not a cache of hotrow: give cache.disk.path"+
			" a file of its own", path)
	}
	return nil
}

// isDatabase reports whether a file is one of SQLite, which no damage makes of ours.
func isDatabase(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 16)
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == "SQLite format 3\x00"
}

// openDiskFile opens or makes a file. The error wraps errBroken when the file is
// not what bbolt writes.
func openDiskFile(path string, limit uint64) (*diskFile, error) {
	o := &bolt.Options{Timeout: time.Second, FreelistType: bolt.FreelistMapType}
	if runtime.GOOS != "windows" { // which makes the file as large as its map
		// So that the map is not made anew, which waits for every read.
		o.InitialMmapSize = int(min(limit+limit/4, 1<<40))
	}
	f := &diskFile{path: path, limit: limit}
	err := guarded(func() (err error) {
		if f.db, err = bolt.Open(path, 0o600, o); err != nil {
			return openError(err)
		}
		if err = f.prepare(); err != nil {
			return errors.Join(err, f.db.Close())
		}
		return nil
	})
	return f, err
}

// openError tells a file that is broken from one that cannot be opened.
func openError(err error) error {
	var path *fs.PathError
	var errno syscall.Errno
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return errors.New("another process has it open: give each hotrow a cache.disk.path " +
			"of its own")
	case errors.As(err, &path), errors.As(err, &errno):
		return err
	}
	return fmt.Errorf("%w: %w", errBroken, err)
}

// prepare looks whether an old file has the buckets of ours, and makes those of a
// new one. An old file is not written to: a commit that changes nothing is synced
// twice all the same, and the start would wait for it.
func (f *diskFile) prepare() error {
	old := false
	err := f.db.View(func(tx *bolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		if old = meta != nil; old {
			return checkLayout(tx, meta)
		}
		return nil
	})
	if err != nil || old {
		return err
	}
	return f.db.Update(func(tx *bolt.Tx) error {
		if k, _ := tx.Cursor().First(); k != nil {
			return fmt.Errorf("%w: it is a file of some other program", errBroken)
		}
		for _, name := range append(classBuckets[:], indexBucket, metaBucket) {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(metaBucket)
		none := diskCounts{}
		return errors.Join(meta.Put(formatKey, []byte(diskFormat)),
			meta.Put(countsKey, none.encode()))
	})
}

func checkLayout(tx *bolt.Tx, meta *bolt.Bucket) error {
	if found := string(meta.Get(formatKey)); found != diskFormat {
		return fmt.Errorf("%w: %q", errFormat, found)
	}
	for _, name := range append(classBuckets[:], indexBucket) {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("%w: it has no %s", errBroken, name)
		}
	}
	return nil
}

// load reads what the file says of histories.
func (d *Disk) load(f *diskFile) error {
	return guarded(func() error {
		return f.db.View(func(tx *bolt.Tx) error {
			meta := tx.Bucket(metaBucket)
			if err := d.counts.decode(meta.Get(countsKey)); err != nil {
				return err
			}
			return meta.ForEach(func(k, v []byte) error { return d.loadHistory(string(k), v) })
		})
	})
}

func (d *Disk) loadHistory(key string, v []byte) error {
	name, id, ok := historyOf(key)
	switch {
	case !ok:
		return nil
	case name != "":
		s := &DiskSource{disk: d, name: name}
		d.sources[name] = s
		return s.setState(v)
	case len(v) < 8:
		return fmt.Errorf("%w: a generation of %d bytes", errBroken, len(v))
	}
	d.spaces[id] = &diskSpace{id: id, generation: binary.BigEndian.Uint64(v), of: string(v[8:])}
	return nil
}

// close closes the file, unless that would wait for ever.
func (f *diskFile) close() error {
	f.mu.Lock()
	dead := f.dead
	f.mu.Unlock()
	if dead {
		return nil
	}
	return guarded(f.db.Close)
}

// discard takes the file away. A broken one stays open: closing it would wait for
// transactions that a fault has ended half-way.
func (f *diskFile) discard(broken bool) error {
	if broken {
		_, err := quarantine(f.path)
		return err
	}
	return errors.Join(os.Remove(f.path), f.close())
}

// quarantine renames a file to PATH.broken-TIME and removes those that were
// renamed before: one is enough to look into, and they are large.
func quarantine(path string) (string, error) {
	pattern := path + ".broken-*"
	old, err := filepath.Glob(pattern)
	if err != nil {
		old = nil // the path holds characters of a pattern; then they stay
	}
	kept := path + ".broken-" + time.Now().UTC().Format("20060102T150405.000000000")
	if err := os.Rename(path, kept); err != nil {
		return "", err
	}
	for _, name := range slices.DeleteFunc(old, func(n string) bool { return n == kept }) {
		if err := os.Remove(name); err != nil {
			return kept, fmt.Errorf("remove an older broken file: %w", err)
		}
	}
	return kept, nil
}
