package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
)

// deb writes a package for Debian: an archive of ar with a tar of what dpkg is to know and
// one of the files, see deb(5).
func (o *options) deb(f *os.File) error {
	files, err := o.files("deb")
	if err != nil {
		return err
	}
	control, err := o.control(files)
	if err != nil {
		return err
	}
	for i := range files {
		files[i].path = "." + files[i].path
	}
	data, err := o.tarOf(files)
	if err != nil {
		return err
	}
	if _, err := f.WriteString("!<arch>\n"); err != nil {
		return err
	}
	return errors.Join(o.member(f, "debian-binary", []byte("2.0\n")),
		o.member(f, "control.tar.gz", control), o.member(f, "data.tar.gz", data))
}

// member appends a file to an archive of ar.
func (o *options) member(f *os.File, name string, text []byte) error {
	pad := strings.Repeat("\n", len(text)%2)
	_, err := fmt.Fprintf(f, "%-16s%-12d%-6d%-6d%-8o%-10d`\n%s%s", name, o.time.Unix(), 0, 0,
		0o100644, len(text), text, pad)
	return err
}

// control returns the tar of what dpkg is to know.
func (o *options) control(files []file) ([]byte, error) {
	var size int
	var sums, configs bytes.Buffer
	for _, f := range files {
		size += len(f.text)
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.text), f.path[1:])
		if f.config {
			fmt.Fprintln(&configs, f.path)
		}
	}
	about := fmt.Sprintf("Package: %s\nVersion: %s\nSection: database\nPriority: optional\n"+
		"Architecture: %s\nMaintainer: %s\nInstalled-Size: %d\nHomepage: %s\nDescription: %s\n %s\n",
		name, o.packageVersion(), o.arch, maintainer, size/1024, homepage, summary,
		strings.ReplaceAll(description, "\n", "\n "))
	all := []file{
		{path: "./control", mode: 0o644, text: []byte(about)},
		{path: "./md5sums", mode: 0o644, text: sums.Bytes()},
		{path: "./conffiles", mode: 0o644, text: configs.Bytes()},
	}
	for _, s := range []struct{ as, name string }{
		{"postinst", "postinstall"}, {"prerm", "preremove"}, {"postrm", "postremove"},
	} {
		text, err := script(s.name)
		if err != nil {
			return nil, err
		}
		all = append(all, file{path: "./" + s.as, mode: 0o755, text: text})
	}
	return o.tarOf(all)
}

// tarOf returns files as a compressed tar, each after the directories that it is in.
func (o *options) tarOf(files []file) ([]byte, error) {
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(compressed)
	made := map[string]bool{".": true}
	var dir func(string) error
	dir = func(name string) error {
		if made[name] {
			return nil
		}
		made[name] = true
		return errors.Join(dir(path.Dir(name)), w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir,
			Name: "./" + name + "/", Mode: 0o755, ModTime: o.time, Uname: "root", Gname: "root"}))
	}
	for _, f := range files {
		err := errors.Join(dir(path.Dir(path.Clean(f.path))), w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: f.path, Size: int64(len(f.text)), Mode: f.mode,
			ModTime: o.time, Uname: "root", Gname: "root"}))
		if err == nil {
			_, err = w.Write(f.text)
		}
		if err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), compressed.Close())
	return b.Bytes(), err
}
