package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
)

// archived are the files of an archive beside the program, and the directories where they are
// there.
var archived = []struct{ source, in string }{
	{"LICENSE", ""}, {"README.md", ""}, {"CHANGELOG.md", ""}, {"hotrow.example.yaml", ""},
	{"deploy/NOTICES.txt", ""}, {"deploy/systemd/*", "systemd"},
	{"build/release-files/*", "share"},
}

// An entry is a file of an archive.
type entry struct {
	name, source string
	mode         int64
}

// entries returns the files of an archive, the program last.
func (o *options) entries() ([]entry, error) {
	var all []entry
	for _, a := range archived {
		found, err := filepath.Glob(a.source)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, errors.New("there is no " + a.source)
		}
		for _, file := range found {
			all = append(all, entry{path.Join(a.in, filepath.Base(file)), file, 0o644})
		}
	}
	return append(all, entry{filepath.Base(o.binary), o.binary, 0o755}), nil
}

// tar writes an archive for Unix.
func (o *options) tar(f *os.File) error {
	compressed, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	err = o.each(func(e entry, size int64) (io.Writer, error) {
		return archive, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.name,
			Size: size, Mode: e.mode, ModTime: o.time, Uname: "root", Gname: "root"})
	})
	return errors.Join(err, archive.Close(), compressed.Close())
}

// zip writes an archive for Windows.
func (o *options) zip(f *os.File) error {
	archive := zip.NewWriter(f)
	err := o.each(func(e entry, _ int64) (io.Writer, error) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: o.time}
		h.SetMode(os.FileMode(e.mode))
		return archive.CreateHeader(h)
	})
	return errors.Join(err, archive.Close())
}

// each writes every file to what add returns for it.
func (o *options) each(add func(e entry, size int64) (io.Writer, error)) error {
	all, err := o.entries()
	if err != nil {
		return err
	}
	for _, e := range all {
		if err := write(e, add); err != nil {
			return err
		}
	}
	return nil
}

// write writes one file.
func write(e entry, add func(e entry, size int64) (io.Writer, error)) error {
	f, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	to, err := add(e, info.Size())
	if err == nil {
		_, err = io.Copy(to, f)
	}
	return err
}
